//! `aptix gc`: finds objects that no item refers to, and optionally deletes them.
//!
//! Objects that a refused or crashed function could not clean up stay in the bucket: requests of starts that lost,
//! outcomes of fenced attempts, tool rounds that a turn has left behind. The scan holds one page of the bucket and
//! one turn's head at a time.

use std::{path::Path, time::Duration};

use protocol::{id::TurnKey, turn::Turn};
use storage::{ObjectEntry, Objects, Table, key};
use turns::{
    ports::{Clock, Payloads, Reads, Unavailable},
    system::System,
};

use crate::{
    discovery::{self, NotRunning},
    services::provision::{BUCKET, TABLE},
};

/// A failure of garbage collection.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No local cloud is running on this folder.
    #[error(transparent)]
    NotRunning(#[from] NotRunning),
    /// The local cloud does not respond.
    #[error("Can't reach the local cloud on the data folder {folder} (is it running?)")]
    Unavailable {
        /// The folder.
        folder: String,
        /// The cause.
        #[source]
        source: Unavailable,
    },
}

/// Result of a scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Objects scanned.
    pub objects: u64,
    /// Objects that no item refers to.
    pub unreferenced: u64,
    /// Total size of the unreferenced objects, in bytes.
    pub bytes: u64,
    /// Objects skipped because they are younger than the minimum age.
    pub recent: u64,
    /// Objects with an unrecognized key. They are left alone.
    pub foreign: u64,
}

/// Scans every object of the local cloud on `folder`. Reports the keys of unreferenced objects that are at least
/// `min_age` old, and deletes them if `remove` is set.
///
/// An object that a running function has just written is not referenced yet. While the cloud is in use, `min_age`
/// must not be shorter than a function's timeout.
///
/// # Errors
/// Fails if no local cloud is running on the folder, or if it does not respond.
pub async fn run(
    folder: &Path,
    min_age: Duration,
    remove: bool,
    mut on_unreferenced: impl FnMut(&str),
) -> Result<Report, Error> {
    let clients = discovery::clients(folder)?;
    let objects = Objects::new(clients.s3, BUCKET.to_owned());
    let table = Table::new(clients.dynamodb, TABLE.to_owned());
    let unavailable = |source| Error::Unavailable { folder: folder.display().to_string(), source };
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
            let head = head_of(&table, &payload.turn, &mut head).await.map_err(unavailable)?;
            if head.is_some_and(|turn| turn.references(&payload.kind)) {
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
