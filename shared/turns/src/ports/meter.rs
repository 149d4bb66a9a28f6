//! The budgets of orgs, and the meters that count against them.

use std::future::Future;

use contracts::{id::OrgId, request::Budgets};
use protocol::{
    budget::{self, Entry, MeterChange, MeterKey},
    id::TurnKey,
};

use super::errors::{Unavailable, WriteError};

/// Reads budgets and meters.
pub trait MeterReads: Send + Sync {
    /// Returns the budgets of an org as they were a few seconds ago or later. An org without any has an empty list.
    fn budgets(&self, org: &OrgId) -> impl Future<Output = Result<Budgets, Unavailable>> + Send;
    /// Returns the budgets of an org. Reads consistently.
    fn stored_budgets(&self, org: &OrgId) -> impl Future<Output = Result<Budgets, Unavailable>> + Send;
    /// Returns a meter with the entry of a turn. Reads consistently.
    fn meter(
        &self,
        meter: &MeterKey,
        turn: &TurnKey,
    ) -> impl Future<Output = Result<budget::Meter, Unavailable>> + Send;
    /// Returns the entries of a meter, in any order. Reads consistently.
    fn meter_entries(
        &self,
        meter: &MeterKey,
    ) -> impl Future<Output = Result<Vec<(TurnKey, Entry)>, Unavailable>> + Send;
}

/// Writes budgets and meters.
pub trait Meter: MeterReads {
    /// Replaces the budgets of an org.
    fn put_budgets(
        &self,
        org: &OrgId,
        budgets: &Budgets,
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Changes a turn's entry under its condition, and the sums by the difference. Returns the meter after the change.
    fn write_meter(
        &self,
        change: &MeterChange,
    ) -> impl Future<Output = Result<budget::Meter, WriteError>> + Send;
}
