//! The wait of an end from outside for the attempt that still works on the turn.

use protocol::turn::{Phase, Turn};

use crate::ports::{Deps, Timer};

/// Waits until the running attempt can no longer rely on its last ownership check.
pub(super) async fn wait_until_noticed(deps: &impl Deps, turn: &Turn) {
    if turn.state.phase() == Phase::Running {
        deps.host().sleep(deps.timing().ownership_check_ttl).await;
    }
}
