//! Budgets and their meters.

use contracts::{id::OrgId, request::Budgets};
use protocol::{
    budget::{self, Entry, MeterChange, MeterKey},
    id::TurnKey,
};
use turns::ports::{Meter, MeterReads, Unavailable, WriteError};

use super::Table;

impl MeterReads for Table {
    async fn budgets(&self, org: &OrgId) -> Result<Budgets, Unavailable> {
        self.stored_budgets(org).await
    }

    async fn stored_budgets(&self, org: &OrgId) -> Result<Budgets, Unavailable> {
        Ok(self.contents().budgets.get(org).cloned().unwrap_or_default())
    }

    async fn meter(&self, meter: &MeterKey, turn: &TurnKey) -> Result<budget::Meter, Unavailable> {
        let contents = self.contents();
        let Some((sums, entries)) = contents.meters.get(meter) else { return Ok(budget::Meter::default()) };
        Ok(budget::Meter { entry: entries.get(turn).copied(), ..*sums })
    }

    async fn meter_entries(&self, meter: &MeterKey) -> Result<Vec<(TurnKey, Entry)>, Unavailable> {
        let contents = self.contents();
        let entries = contents.meters.get(meter).map(|(_, entries)| entries.clone()).unwrap_or_default();
        Ok(entries.into_iter().collect())
    }
}

impl Meter for Table {
    async fn put_budgets(&self, org: &OrgId, budgets: &Budgets) -> Result<(), Unavailable> {
        self.contents().budgets.insert(org.clone(), budgets.clone());
        Ok(())
    }

    async fn write_meter(&self, change: &MeterChange) -> Result<budget::Meter, WriteError> {
        let mut contents = self.contents();
        let (sums, entries) = contents.meters.entry(change.meter.clone()).or_default();
        let stored = budget::Meter { entry: entries.get(&change.turn).copied(), ..*sums };
        let after = stored.apply(change).ok_or(WriteError::ConditionFailed)?;
        match after.entry {
            Some(entry) => entries.insert(change.turn.clone(), entry),
            None => entries.remove(&change.turn),
        };
        *sums = budget::Meter { entry: None, ..after };
        Ok(after)
    }
}
