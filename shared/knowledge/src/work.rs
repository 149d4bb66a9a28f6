//! The flows of an indexer: it takes the lease of a record, keeps it while it works, and ends with an outcome.

use std::time::Duration;

use contracts::{Timestamp, id::OrgId};
use turns::ports::Unavailable;

use crate::{
    ports::Records,
    record::{Claim, DocumentId, End, Outcome, Record},
    update::{Change, update},
};

/// The attempt of an indexer to make the index match a record.
#[derive(Debug)]
pub struct Attempt<'a, R> {
    /// The table.
    pub records: &'a R,
    /// The tenant.
    pub org: &'a OrgId,
    /// The document.
    pub id: &'a DocumentId,
    /// The attempt's id.
    pub attempt: String,
    /// The duration of its lease.
    pub lease: Duration,
}

/// The end of an attempt's work on a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The record has its new state.
    Written,
    /// The record changed meanwhile: claim it and work again.
    Again,
    /// Another attempt has the lease.
    Lost,
}

impl<R: Records> Attempt<'_, R> {
    /// Takes the lease, if the record needs work and no other attempt has it. A missing record needs none.
    ///
    /// # Errors
    /// If the table can't be reached.
    pub async fn claim(&self, now: Timestamp) -> Result<Claim, Unavailable> {
        update(self.records, self.org, self.id, |before| {
            let claim = before.map_or(Claim::Nothing, |record| record.claim(&self.attempt, now, self.lease));
            Ok(match &claim {
                Claim::Work(record) => Change::Put(record.clone(), claim),
                Claim::Nothing | Claim::Busy => Change::Nothing(claim),
            })
        })
        .await
    }

    /// Extends the lease. False if the attempt doesn't have it any more.
    ///
    /// # Errors
    /// If the table can't be reached.
    pub async fn renew(&self, now: Timestamp) -> Result<bool, Unavailable> {
        update(self.records, self.org, self.id, |before| {
            let renewed = before.and_then(|record| record.renew(&self.attempt, now, self.lease));
            Ok(match renewed {
                Some(record) => Change::Put(Box::new(record), true),
                None => Change::Nothing(false),
            })
        })
        .await
    }

    /// Ends the work on the record that the claim returned.
    ///
    /// # Errors
    /// If the table can't be reached.
    pub async fn end(&self, begun: &Record, outcome: &Outcome, now: Timestamp) -> Result<Ended, Unavailable> {
        // The own removal or release may have been applied although its reply was lost.
        let mut tried = false;
        update(self.records, self.org, self.id, |before| {
            let end =
                before.map_or(End::Lost, |record| record.end(&self.attempt, begun, outcome.clone(), now));
            let was_tried = std::mem::replace(&mut tried, true);
            Ok(match end {
                End::Put(record) => Change::Put(record, Ended::Written),
                End::Remove => Change::Remove(Ended::Written),
                End::Again => Change::Nothing(Ended::Again),
                End::Lost if was_tried => Change::Nothing(Ended::Written),
                End::Lost => Change::Nothing(Ended::Lost),
            })
        })
        .await
    }
}
