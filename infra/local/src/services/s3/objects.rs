//! Storage of the objects: one row each, in a SQLite file.
//!
//! A file per object would have to be named after its key. S3 keys have up to 1,024 bytes of any content; most file
//! systems limit names to 255 bytes.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

const TABLES: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA secure_delete = ON;
    CREATE TABLE IF NOT EXISTS buckets (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS objects (
        bucket TEXT NOT NULL,
        key TEXT NOT NULL,
        tag TEXT NOT NULL,
        content_type TEXT,
        modified INTEGER NOT NULL,
        size INTEGER NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (bucket, key)
    );
    CREATE TABLE IF NOT EXISTS versions (
        bucket TEXT NOT NULL,
        key TEXT NOT NULL,
        version TEXT NOT NULL,
        is_marker INTEGER NOT NULL,
        modified INTEGER NOT NULL,
        size INTEGER NOT NULL,
        PRIMARY KEY (bucket, key, version)
    );
";

/// Every bucket and its objects.
#[derive(Debug)]
pub(super) struct Objects(Mutex<Connection>);

/// Metadata of an object.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) key: String,
    pub(super) tag: String,
    pub(super) content_type: Option<String>,
    pub(super) modified: SystemTime,
    pub(super) size: i64,
}

/// A version of an object: the current object, a deleted one, or a delete marker. Of a deleted object only this
/// metadata is kept, since nothing restores it here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) key: String,
    pub(super) version: String,
    pub(super) is_marker: bool,
    pub(super) modified: SystemTime,
    pub(super) size: i64,
}

/// SQL expression for the version id of the current object.
const CURRENT: &str = "rowid || '-' || modified";

impl Objects {
    /// Opens the file, or creates it.
    pub(super) fn open(file: &Path) -> Result<Self> {
        let connection = Connection::open(file)?;
        connection.execute_batch(TABLES)?;
        Ok(Self(Mutex::new(connection)))
    }

    pub(super) fn create_bucket(&self, bucket: &str) -> Result<()> {
        self.lock().execute("INSERT OR IGNORE INTO buckets VALUES (?1)", [bucket]).map(|_| ())
    }

    pub(super) fn has_bucket(&self, bucket: &str) -> Result<bool> {
        let found = self.lock().query_row("SELECT 1 FROM buckets WHERE name = ?1", [bucket], |_| Ok(()));
        found.optional().map(|found| found.is_some())
    }

    /// Stores an object. Returns false, and changes nothing, if it `must_be_new` but already exists.
    pub(super) fn put(&self, bucket: &str, head: &Head, body: &[u8], must_be_new: bool) -> Result<bool> {
        let conflict = if must_be_new { "IGNORE" } else { "REPLACE" };
        let modified = head.modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let stored = self.lock().execute(
            &format!("INSERT OR {conflict} INTO objects VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"),
            params![
                bucket,
                head.key,
                head.tag,
                head.content_type,
                i64::try_from(modified).unwrap_or(i64::MAX),
                head.size,
                body
            ],
        );
        stored.map(|rows| rows > 0)
    }

    pub(super) fn get(&self, bucket: &str, key: &str) -> Result<Option<(Head, Bytes)>> {
        let query =
            "SELECT key, tag, content_type, modified, size, body FROM objects WHERE bucket = ?1 AND key = ?2";
        let connection = self.lock();
        let found = connection
            .query_row(query, [bucket, key], |row| Ok((head(row)?, Bytes::from(row.get::<_, Vec<u8>>(5)?))));
        found.optional()
    }

    pub(super) fn head(&self, bucket: &str, key: &str) -> Result<Option<Head>> {
        let query =
            "SELECT key, tag, content_type, modified, size FROM objects WHERE bucket = ?1 AND key = ?2";
        self.lock().query_row(query, [bucket, key], head).optional()
    }

    /// Marks an object as deleted. The deleted object becomes an old version.
    pub(super) fn delete(&self, bucket: &str, key: &str) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (marker, modified) = (format!("marker-{}", now.as_nanos()), now.as_millis());
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        let keep = format!(
            "INSERT OR REPLACE INTO versions SELECT bucket, key, {CURRENT}, 0, modified, size FROM objects \
             WHERE bucket = ?1 AND key = ?2"
        );
        transaction.execute(&keep, [bucket, key])?;
        transaction.execute("DELETE FROM objects WHERE bucket = ?1 AND key = ?2", [bucket, key])?;
        transaction.execute(
            "INSERT OR REPLACE INTO versions VALUES (?1, ?2, ?3, 1, ?4, 0)",
            params![bucket, key, marker, i64::try_from(modified).unwrap_or(i64::MAX)],
        )?;
        transaction.commit()
    }

    /// Removes a version permanently.
    pub(super) fn delete_version(&self, bucket: &str, key: &str, version: &str) -> Result<()> {
        let connection = self.lock();
        let current = format!("DELETE FROM objects WHERE bucket = ?1 AND key = ?2 AND {CURRENT} = ?3");
        connection.execute(&current, [bucket, key, version])?;
        let old = "DELETE FROM versions WHERE bucket = ?1 AND key = ?2 AND version = ?3";
        connection.execute(old, [bucket, key, version]).map(|_| ())
    }

    /// Returns the first versions of the objects with this key prefix, ordered by key, newest first.
    pub(super) fn versions(&self, bucket: &str, prefix: &str, limit: i64) -> Result<Vec<Version>> {
        let query = format!(
            "SELECT key, version, is_marker, modified, size FROM ( \
             SELECT bucket, key, {CURRENT} AS version, 0 AS is_marker, modified, size, 1 AS now FROM objects \
             UNION ALL SELECT bucket, key, version, is_marker, modified, size, 0 AS now FROM versions) \
             WHERE bucket = ?1 AND substr(key, 1, length(?2)) = ?2 \
             ORDER BY key, now DESC, modified DESC, version DESC LIMIT ?3"
        );
        let connection = self.lock();
        let mut statement = connection.prepare(&query)?;
        let rows = statement.query_map(params![bucket, prefix, limit], |row| {
            let modified = Duration::from_millis(u64::try_from(row.get::<_, i64>(3)?).unwrap_or_default());
            Ok(Version {
                key: row.get(0)?,
                version: row.get(1)?,
                is_marker: row.get(2)?,
                modified: UNIX_EPOCH + modified,
                size: row.get(4)?,
            })
        })?;
        rows.collect()
    }

    /// Returns the objects with a key prefix that come after a key, in byte order.
    pub(super) fn list(&self, bucket: &str, prefix: &str, after: &str, limit: i64) -> Result<Vec<Head>> {
        // Keys with the prefix are contiguous, and the prefix itself is the smallest of them.
        let query = "SELECT key, tag, content_type, modified, size FROM objects
            WHERE bucket = ?1 AND key >= ?2 AND key > ?3 AND substr(key, 1, length(?2)) = ?2
            ORDER BY key LIMIT ?4";
        let connection = self.lock();
        let mut query = connection.prepare_cached(query)?;
        query.query_map(params![bucket, prefix, after, limit], head)?.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn head(row: &Row<'_>) -> Result<Head> {
    let modified = Duration::from_millis(u64::try_from(row.get::<_, i64>(3)?).unwrap_or_default());
    Ok(Head {
        key: row.get(0)?,
        tag: row.get(1)?,
        content_type: row.get(2)?,
        modified: UNIX_EPOCH + modified,
        size: row.get(4)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(objects: &Objects, key: &str, body: &str, must_be_new: bool) -> bool {
        let size = i64::try_from(body.len()).unwrap();
        let (tag, modified) = (format!("tag of {body}"), UNIX_EPOCH);
        let head = Head { key: key.to_owned(), tag, content_type: None, modified, size };
        objects.put("b", &head, body.as_bytes(), must_be_new).unwrap()
    }

    #[test]
    fn conditional_put_never_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&folder.path().join("objects")).unwrap();
        assert!(put(&objects, "k", "one", true) && !put(&objects, "k", "two", true));
        assert_eq!(objects.get("b", "k").unwrap().unwrap().1, "one");
        assert!(put(&objects, "k", "two", false));
        assert_eq!(objects.get("b", "k").unwrap().unwrap().1, "two");
        objects.delete("b", "k").unwrap();
        assert!(objects.head("b", "k").unwrap().is_none() && objects.get("c", "k").unwrap().is_none());
    }

    #[test]
    fn deleted_object_stays_as_version_until_removed() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&folder.path().join("objects")).unwrap();
        for key in ["a/1", "a/2", "b"] {
            put(&objects, key, "body", true);
        }
        objects.delete("b", "a/1").unwrap();
        let versions = objects.versions("b", "a/", 10).unwrap();
        let entries: Vec<_> =
            versions.iter().map(|version| (version.key.as_str(), version.is_marker)).collect();
        assert_eq!(entries, [("a/1", true), ("a/1", false), ("a/2", false)]);
        assert!(put(&objects, "a/1", "again", true), "it is not there any more");
        for version in objects.versions("b", "a/", 10).unwrap() {
            objects.delete_version("b", &version.key, &version.version).unwrap();
        }
        assert_eq!(objects.versions("b", "a/", 10).unwrap(), []);
        assert!(objects.head("b", "a/2").unwrap().is_none() && objects.head("b", "b").unwrap().is_some());
    }

    #[test]
    fn list_is_in_byte_order_and_matches_prefix() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&folder.path().join("objects")).unwrap();
        for key in ["a/1", "a/2", "a/é", "a%", "A/1", "b", "a"] {
            put(&objects, key, "", true);
        }
        let keys = |prefix, after, limit| -> Vec<String> {
            objects.list("b", prefix, after, limit).unwrap().into_iter().map(|head| head.key).collect()
        };
        assert_eq!(keys("", "", 100), ["A/1", "a", "a%", "a/1", "a/2", "a/é", "b"]);
        assert_eq!(keys("a/", "", 2), ["a/1", "a/2"]);
        assert_eq!(keys("a/", "a/2", 2), ["a/é"]);
    }
}
