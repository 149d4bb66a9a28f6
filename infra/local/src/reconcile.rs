//! `reconcile`: finds the objects that no item refers to, and removes them where that is asked for.
//!
//! What a refused or dying function could not take back stays in the bucket: requests of starts that lost,
//! outcomes of fenced attempts, rounds that a turn has left behind. One page of the bucket and one turn's
//! head are held at a time.

use std::{path::Path, time::Duration};

use protocol::{id::TurnKey, turn::Turn};
use storage::{Listed, Objects, Table, key};
use turns::{
    ports::{Clock, Payloads, Reads, Unavailable},
    system::System,
};

use crate::{
    running::{self, NotRunning},
    services::provision::{BUCKET, TABLE},
};

/// Why a bucket could not be reconciled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No local cloud uses this folder.
    #[error(transparent)]
    NotRunning(#[from] NotRunning),
    /// It does not answer.
    #[error("the local cloud on the data folder {folder} does not answer; start it first")]
    Unavailable {
        /// The folder.
        folder: String,
        /// Why.
        #[source]
        source: Unavailable,
    },
}

/// What was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// Objects that were looked at.
    pub objects: u64,
    /// Those of them that no item refers to.
    pub unneeded: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that are too young to tell.
    pub young: u64,
    /// Objects whose keys are none of ours: they are left alone.
    pub foreign: u64,
}

/// Looks at every object of the local cloud on `folder`; tells the keys of those that no item refers to and
/// that are at least so old, and removes them if `remove`.
///
/// An object that a running function has just written is not referred to yet: nothing younger than a
/// function's longest time may be removed while the cloud is in use.
///
/// # Errors
/// When no local cloud runs on the folder, or it does not answer.
pub async fn reconcile(
    folder: &Path,
    at_least: Duration,
    remove: bool,
    mut tell: impl FnMut(&str),
) -> Result<Found, Error> {
    let clients = running::clients(folder)?;
    let objects = Objects::new(clients.s3, BUCKET.to_owned());
    let table = Table::new(clients.dynamodb, TABLE.to_owned());
    let unavailable = |source| Error::Unavailable { folder: folder.display().to_string(), source };
    let now = System::new().now();
    let (mut found, mut head, mut after) = (Found::default(), None, None);
    loop {
        let page = objects.page(after).await.map_err(unavailable)?;
        for Listed { key, bytes, modified } in page.items {
            found.objects += 1;
            let Some(payload) = key::parse_object(&key) else {
                found.foreign += 1;
                continue;
            };
            if modified.after(at_least) > now {
                found.young += 1;
                continue;
            }
            let head = head_of(&table, &payload.turn, &mut head).await.map_err(unavailable)?;
            if head.is_some_and(|turn| turn.needs(&payload.kind)) {
                continue;
            }
            found.unneeded += 1;
            found.bytes += bytes;
            tell(&key);
            if remove {
                objects.remove(&payload).await.map_err(unavailable)?;
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(found);
        }
    }
}

/// The head of a turn; the objects of one turn lie side by side, so the last one is kept.
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
