//! Conditional writes of a record: read, decide, write, and start over if another writer was faster.

use std::time::Duration;

use contracts::id::OrgId;
use turns::ports::{Source, Unavailable, WriteError};

use crate::{
    ports::{Records, Stored},
    record::{DocumentId, Record},
};

/// The most tries of a decision.
const MAX_TRIES: u32 = 8;
/// The pause before the second try. Each further one is longer by the same.
const PAUSE: Duration = Duration::from_millis(30);

/// The write that a decision leads to, with its result.
pub(crate) enum Change<T> {
    /// The record is put.
    Put(Box<Record>, T),
    /// The record is removed.
    Remove(T),
    /// Nothing is written.
    Nothing(T),
}

/// Decides on the stored record and writes the change, until no other writer interferes. A repeated decision must find
/// its own write harmless, since the reply to a write may be lost.
///
/// # Errors
/// If `decide` fails, or the table can't be reached.
pub(crate) async fn update<T, E: From<Unavailable>>(
    records: &impl Records,
    org: &OrgId,
    id: &DocumentId,
    mut decide: impl FnMut(Option<&Record>) -> Result<Change<T>, E>,
) -> Result<T, E> {
    let mut failure: Source = "it stayed contended".into();
    for tried in 0..MAX_TRIES {
        if tried > 0 {
            tokio::time::sleep(PAUSE * tried).await;
        }
        let stored = records.record(org, id).await?;
        let before = stored.as_ref().map(|Stored { revision, .. }| *revision);
        let (written, result) = match decide(stored.as_ref().map(|stored| &stored.record))? {
            Change::Nothing(result) => return Ok(result),
            Change::Put(record, result) => (records.put_record(org, id, &record, before).await, result),
            Change::Remove(result) => match before {
                Some(before) => (records.remove_record(org, id, before).await, result),
                None => return Ok(result),
            },
        };
        match written {
            Ok(()) => return Ok(result),
            Err(WriteError::ConditionFailed | WriteError::Contended) => {}
            Err(WriteError::Unknown(source)) => failure = source,
        }
    }
    Err(Unavailable { what: "the table", source: failure }.into())
}
