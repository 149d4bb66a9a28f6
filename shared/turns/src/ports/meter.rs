//! The meters that count against the budgets of orgs, and the usage that finalizations have added.

use std::future::Future;

use contracts::{
    Day,
    id::{OrgId, UserId},
};
use protocol::{
    budget::{self, MeterChange, MeterKey, MeterReading},
    id::TurnKey,
    usage::{UsageAmounts, UsageKey},
};

use super::{
    errors::{Unavailable, WriteError},
    records::Page,
};

/// Reads meters and usage.
pub trait MeterReads: Send + Sync {
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

/// Writes meters.
pub trait Meter: MeterReads {
    /// Changes a turn's entry under its condition, and the sums by the difference. Returns the meter after the change.
    fn write_meter(
        &self,
        change: &MeterChange,
    ) -> impl Future<Output = Result<budget::Meter, WriteError>> + Send;
}
