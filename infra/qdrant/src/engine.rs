//! Collections of a folder. Changes run one at a time and are on disk before they are acknowledged.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use qdrant_edge::{EdgeConfig, EdgeShard, UpdateOperation, WalOptions};

use crate::folder;
use crate::refusal::Refusal;

/// Size of a log segment in bytes. Small, because the log is not replayed.
const LOG_SEGMENT_BYTES: usize = 4 << 20;

/// A collection.
pub(crate) struct Collection {
    shard: EdgeShard,
    /// True if it refuses filters by keys without an index.
    pub(crate) is_strict: bool,
}

impl Deref for Collection {
    type Target = EdgeShard;

    fn deref(&self) -> &EdgeShard {
        &self.shard
    }
}

/// None after deletion.
type Shared = Arc<RwLock<Option<Collection>>>;

/// Every collection of one folder.
pub(crate) struct Engine {
    root: PathBuf,
    collections: RwLock<BTreeMap<String, Shared>>,
}

impl Engine {
    /// Opens the collections of a folder, creating it if missing.
    pub(crate) fn open(root: PathBuf) -> Result<Self, Refusal> {
        fs::create_dir_all(&root)?;
        let mut collections = BTreeMap::new();
        for (name, path) in folder::collections(&root)? {
            folder::remove_old_log(&path)?;
            let is_strict = folder::is_strict(&path);
            collections.insert(name, shared(EdgeShard::load(&path, None)?, is_strict));
        }
        Ok(Self { root, collections: RwLock::new(collections) })
    }

    /// Returns the names, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        read(&self.collections).keys().cloned().collect()
    }

    /// True if the collection exists.
    pub(crate) fn has(&self, name: &str) -> bool {
        read(&self.collections).contains_key(name)
    }

    /// Creates a collection, in strict mode if `is_strict`.
    pub(crate) fn create(&self, name: &str, config: EdgeConfig, is_strict: bool) -> Result<(), Refusal> {
        let path = folder::collection_folder(&self.root, name)?;
        let mut collections = write(&self.collections);
        if collections.contains_key(name) {
            return Err(Refusal::CollectionExists(name.to_owned()));
        }
        fs::create_dir_all(&path)?;
        let config = EdgeConfig {
            wal_options: Some(WalOptions { segment_capacity: LOG_SEGMENT_BYTES, ..WalOptions::default() }),
            ..config
        };
        let shard = EdgeShard::new(&path, config)?;
        if is_strict {
            folder::mark_strict(&path)?;
        }
        collections.insert(name.to_owned(), shared(shard, is_strict));
        Ok(())
    }

    /// Deletes a collection. Returns false if there is none.
    pub(crate) fn delete(&self, name: &str) -> Result<bool, Refusal> {
        let Some(collection) = write(&self.collections).remove(name) else {
            return Ok(false);
        };
        // Waits for readers. Dropped before its folder is removed, because it writes on drop.
        drop(write(&collection).take());
        fs::remove_dir_all(folder::collection_folder(&self.root, name)?)?;
        Ok(true)
    }

    /// Reads a collection, concurrently with other readers.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        ask: impl FnOnce(&Collection) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let collection = self.collection(name)?;
        let shard = read(&collection);
        ask(shard.as_ref().ok_or_else(|| Refusal::NoCollection(name.to_owned()))?)
    }

    /// Changes a collection exclusively. On return, the change survives a kill.
    pub(crate) fn change(&self, name: &str, operation: UpdateOperation) -> Result<(), Refusal> {
        let collection = self.collection(name)?;
        // Exclusive, because a flush panics if it can't take its locks.
        let shard = write(&collection);
        let shard = shard.as_ref().ok_or_else(|| Refusal::NoCollection(name.to_owned()))?;
        shard.update(operation)?;
        shard.flush();
        Ok(())
    }

    fn collection(&self, name: &str) -> Result<Shared, Refusal> {
        let found = read(&self.collections).get(name).cloned();
        found.ok_or_else(|| Refusal::NoCollection(name.to_owned()))
    }
}

fn shared(shard: EdgeShard, is_strict: bool) -> Shared {
    Arc::new(RwLock::new(Some(Collection { shard, is_strict })))
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
