//! The usage of orgs.

use std::future::Future;

use contracts::{
    Day,
    id::{OrgId, UserId},
};
use protocol::usage::{UsageAmounts, UsageKey};

use super::{errors::Unavailable, store::Page};

/// Reads the usage that finalizations have added.
pub trait UsageReads: Send + Sync {
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
