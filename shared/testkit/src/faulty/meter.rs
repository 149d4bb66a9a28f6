//! Budgets and their meters with faults.

use contracts::{id::OrgId, request::Budgets};
use protocol::{
    budget::{self, Entry, MeterChange, MeterKey},
    id::TurnKey,
};
use turns::ports::{Meter, MeterReads, Unavailable, WriteError};

use super::Faulty;
use crate::fault::Effect;

impl<S: MeterReads> MeterReads for Faulty<S> {
    // Cached, so nearly always without a call.
    async fn budgets(&self, org: &OrgId) -> Result<Budgets, Unavailable> {
        self.inner.budgets(org).await
    }

    async fn stored_budgets(&self, org: &OrgId) -> Result<Budgets, Unavailable> {
        self.read(Effect::ReadMeter, self.inner.stored_budgets(org)).await
    }

    async fn meter(&self, meter: &MeterKey, turn: &TurnKey) -> Result<budget::Meter, Unavailable> {
        self.read(Effect::ReadMeter, self.inner.meter(meter, turn)).await
    }

    async fn meter_entries(&self, meter: &MeterKey) -> Result<Vec<(TurnKey, Entry)>, Unavailable> {
        self.read(Effect::ReadMeter, self.inner.meter_entries(meter)).await
    }
}

impl<S: Meter + Clone + 'static> Meter for Faulty<S> {
    async fn put_budgets(&self, org: &OrgId, budgets: &Budgets) -> Result<(), Unavailable> {
        let (inner, org, budgets) = (self.inner.clone(), org.clone(), budgets.clone());
        self.put(Effect::WriteMeter, async move { inner.put_budgets(&org, &budgets).await }).await
    }

    async fn write_meter(&self, change: &MeterChange) -> Result<budget::Meter, WriteError> {
        let (inner, change) = (self.inner.clone(), change.clone());
        self.write(Effect::WriteMeter, async move { inner.write_meter(&change).await }).await
    }
}
