//! Budgets and their meters with bugs.

use contracts::{id::OrgId, request::Budgets};
use protocol::{
    budget::{self, MeterChange, MeterKey, MeterReading},
    id::TurnKey,
};
use turns::ports::{Meter, MeterReads, StoredBudgets, Unavailable, WriteError};

use super::{Bug, Buggy};
use crate::memory::Table;

impl MeterReads for Buggy<Table> {
    async fn budgets(&self, org: &OrgId) -> Result<Budgets, Unavailable> {
        self.faulty.budgets(org).await
    }

    async fn stored_budgets(&self, org: &OrgId) -> Result<StoredBudgets, Unavailable> {
        self.faulty.stored_budgets(org).await
    }

    async fn meter(&self, meter: &MeterKey, turn: &TurnKey) -> Result<budget::Meter, Unavailable> {
        self.faulty.meter(meter, turn).await
    }

    async fn meter_reading(&self, meter: &MeterKey) -> Result<MeterReading, Unavailable> {
        self.faulty.meter_reading(meter).await
    }
}

impl Meter for Buggy<Table> {
    async fn replace_budgets(&self, org: &OrgId, after: &StoredBudgets) -> Result<(), WriteError> {
        self.faulty.replace_budgets(org, after).await
    }

    async fn write_meter(&self, change: &MeterChange) -> Result<budget::Meter, WriteError> {
        if self.has(Bug::MeterEntryIgnored) {
            let stored = self.bare.meter(&change.meter, &change.turn).await;
            let before = stored.map_err(|error| WriteError::Unknown(error.into()))?.entry;
            return self.faulty.write_meter(&MeterChange { before, ..change.clone() }).await;
        }
        self.faulty.write_meter(change).await
    }
}
