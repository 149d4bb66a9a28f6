//! The budgets of orgs, the meters that count against them, and the usage that finalizations have added.

use std::future::Future;

use contracts::{
    Day,
    id::{OrgId, UserId},
    request::Budgets,
};
use protocol::{
    budget::{self, MeterChange, MeterKey, MeterReading},
    id::TurnKey,
    usage::{UsageAmounts, UsageKey},
};

use super::{
    errors::{Unavailable, WriteError},
    store::Page,
};

/// Budgets as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredBudgets {
    /// Number of the last change; 0 before the first.
    pub revision: u64,
    /// The budgets, without their entity tag.
    pub budgets: Budgets,
}

/// Reads budgets, meters and usage.
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
    /// Returns the usage of one day, of an org or of one of its users. A key may occur several times, and its amounts
    /// then add up. Reads may be slightly stale.
    fn usage(
        &self,
        org: &OrgId,
        day: Day,
        user: Option<&UserId>,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<(UsageKey, UsageAmounts)>, Unavailable>> + Send;
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
