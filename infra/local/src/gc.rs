//! `aptix gc`: finds objects that no item refers to, and optionally deletes them.
//!
//! Objects that a refused or crashed function could not clean up stay in the bucket: requests of starts that lost,
//! outcomes of fenced attempts, tool rounds that a turn has left behind. The scan holds one page of the bucket and
//! one turn's head at a time.

use std::time::Duration;

use protocol::{id::TurnKey, turn::Turn};
use storage::{ObjectEntry, Table, key};
use turns::{
    ports::{Host, Payloads, Reads, Unavailable},
    system::System,
};

use crate::stores::Stores;

/// A failure of garbage collection.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The table or the bucket does not respond.
    #[error("Can't reach {place}")]
    Unavailable {
        /// The deployment.
        place: String,
        /// The cause.
        #[source]
        source: Unavailable,
    },
    /// The table refers to no object of the bucket.
    #[error(
        "Nothing was deleted: no item refers to any of the {objects} objects. Check that {place} belong together."
    )]
    Unrelated {
        /// The deployment.
        place: String,
        /// Number of objects.
        objects: u64,
    },
}

/// Result of a scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Objects scanned.
    pub objects: u64,
    /// Objects that an item refers to.
    pub referenced: u64,
    /// Objects that no item refers to.
    pub unreferenced: u64,
    /// Total size of the unreferenced objects, in bytes.
    pub bytes: u64,
    /// Objects skipped because they are younger than the minimum age.
    pub recent: u64,
    /// Objects with an unrecognized key. They are left alone.
    pub foreign: u64,
}

/// Checks that the table refers to some object of the bucket, if the bucket has any. With the table of another deployment,
/// every object would be unreferenced.
///
/// # Errors
/// Fails if no object is referenced, or if table or bucket do not respond.
pub async fn check_pair(stores: &Stores, min_age: Duration) -> Result<(), Error> {
    let report = run(stores, min_age, false, |_| ()).await?;
    if report.unreferenced > 0 && report.referenced == 0 {
        return Err(Error::Unrelated { place: stores.place.clone(), objects: report.unreferenced });
    }
    Ok(())
}

/// Scans every object of the bucket. Reports the keys of unreferenced objects that are at least
/// `min_age` old, and deletes them if `remove` is set.
///
/// An object that a running function has just written is not referenced yet. While the cloud is in use, `min_age`
/// must not be shorter than a function's timeout.
///
/// # Errors
/// Fails if the table or the bucket does not respond.
pub async fn run(
    stores: &Stores,
    min_age: Duration,
    remove: bool,
    mut on_unreferenced: impl FnMut(&str),
) -> Result<Report, Error> {
    let Stores { table, objects, place, .. } = stores;
    let unavailable = |source| Error::Unavailable { place: place.clone(), source };
    let now = System::new().now();
    let (mut report, mut head, mut after) = (Report::default(), None, None);
    loop {
        let page = objects.page(after).await.map_err(unavailable)?;
        for ObjectEntry { key, bytes, modified } in page.items {
            report.objects += 1;
            let Some(payload) = key::parse_object(&key) else {
                report.foreign += 1;
                continue;
            };
            if modified.after(min_age) > now {
                report.recent += 1;
                continue;
            }
            let head = head_of(table, &payload.turn, &mut head).await.map_err(unavailable)?;
            if head.is_some_and(|turn| turn.references(&payload.kind)) {
                report.referenced += 1;
                continue;
            }
            report.unreferenced += 1;
            report.bytes += bytes;
            on_unreferenced(&key);
            if remove {
                objects.remove(&payload).await.map_err(unavailable)?;
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(report);
        }
    }
}

/// Returns the head of a turn. The objects of one turn are listed together, so the last head is cached.
async fn head_of<'a>(
    table: &Table,
    turn: &TurnKey,
    last: &'a mut Option<(TurnKey, Option<Turn>)>,
) -> Result<Option<&'a Turn>, Unavailable> {
    if last.as_ref().is_none_or(|(key, _)| key != turn) {
        *last = Some((turn.clone(), table.turn(turn).await?));
    }
    Ok(last.as_ref().and_then(|(_, head)| head.as_ref()))
}
