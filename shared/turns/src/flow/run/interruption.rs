//! Interruptions of an attempt.

use crate::flow::run::watch::OwnershipLost;
use crate::ports::Unavailable;

/// A reason for which an attempt ended without an outcome of its own.
#[derive(Debug)]
pub(super) enum Interruption {
    /// Another attempt owns the turn, or it is settled.
    OwnershipLost,
    /// Required parts of the prompt can't be read.
    Unavailable(Unavailable),
}

impl From<OwnershipLost> for Interruption {
    fn from(_: OwnershipLost) -> Self {
        Self::OwnershipLost
    }
}

impl From<Unavailable> for Interruption {
    fn from(error: Unavailable) -> Self {
        Self::Unavailable(error)
    }
}
