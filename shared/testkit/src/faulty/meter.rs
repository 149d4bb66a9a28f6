//! Budgets and their meters with faults.

use contracts::{id::OrgId, request::Budgets};
use protocol::{
    budget::{self, MeterChange, MeterKey, MeterReading},
    id::TurnKey,
};
use turns::ports::{Meter, MeterReads, StoredBudgets, Unavailable, WriteError};

use super::Faulty;
use crate::fault::Effect;

impl<S: MeterReads> MeterReads for Faulty<S> {
    // Cached, so nearly always without a call.
    async fn budgets(&self, org: &OrgId) -> Result<Budgets, Unavailable> {
        self.inner.budgets(org).await
    }

    async fn stored_budgets(&self, org: &OrgId) -> Result<StoredBudgets, Unavailable> {
        self.read(Effect::ReadMeter, self.inner.stored_budgets(org)).await
    }

    async fn meter(&self, meter: &MeterKey, turn: &TurnKey) -> Result<budget::Meter, Unavailable> {
        self.read(Effect::ReadMeter, self.inner.meter(meter, turn)).await
    }

    async fn meter_reading(&self, meter: &MeterKey) -> Result<MeterReading, Unavailable> {
        self.read(Effect::ReadMeter, self.inner.meter_reading(meter)).await
    }
}

impl<S: Meter + Clone + 'static> Meter for Faulty<S> {
    async fn replace_budgets(&self, org: &OrgId, after: &StoredBudgets) -> Result<(), WriteError> {
        let (inner, org, after) = (self.inner.clone(), org.clone(), after.clone());
        self.write(Effect::WriteMeter, async move { inner.replace_budgets(&org, &after).await }).await
    }

    async fn write_meter(&self, change: &MeterChange) -> Result<budget::Meter, WriteError> {
        let (inner, change) = (self.inner.clone(), change.clone());
        self.write(Effect::WriteMeter, async move { inner.write_meter(&change).await }).await
    }
}
