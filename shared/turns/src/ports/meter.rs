//! The budgets of orgs, and the meters that count against them.

use std::future::Future;

use contracts::{id::OrgId, request::Budgets};
use protocol::{
    budget::{self, MeterChange, MeterKey, MeterReading},
    id::TurnKey,
};

use super::errors::{Unavailable, WriteError};

/// Budgets as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredBudgets {
    /// Number of the last change; 0 before the first.
    pub revision: u64,
    /// The budgets, without their entity tag.
    pub budgets: Budgets,
}

/// Reads budgets and meters.
pub trait MeterReads: Send + Sync {
    /// Returns the budgets of an org as they were a few seconds ago or later. An org without any has an empty list.
    fn budgets(&self, org: &OrgId) -> impl Future<Output = Result<Budgets, Unavailable>> + Send;
    /// Returns the budgets of an org. Reads consistently.
    fn stored_budgets(&self, org: &OrgId) -> impl Future<Output = Result<StoredBudgets, Unavailable>> + Send;
    /// Returns a meter with the entry of a turn. Reads consistently.
    fn meter(
        &self,
        meter: &MeterKey,
        turn: &TurnKey,
    ) -> impl Future<Output = Result<budget::Meter, Unavailable>> + Send;
    /// Returns a meter with its open entries. Reads consistently.
    fn meter_reading(
        &self,
        meter: &MeterKey,
    ) -> impl Future<Output = Result<MeterReading, Unavailable>> + Send;
}

/// Writes budgets and meters.
pub trait Meter: MeterReads {
    /// Replaces the budgets of an org if their revision is the one before.
    fn replace_budgets(
        &self,
        org: &OrgId,
        after: &StoredBudgets,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Changes a turn's entry under its condition, and the sums by the difference. Returns the meter after the change.
    fn write_meter(
        &self,
        change: &MeterChange,
    ) -> impl Future<Output = Result<budget::Meter, WriteError>> + Send;
}
