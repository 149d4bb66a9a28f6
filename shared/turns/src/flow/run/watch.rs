//! Watches ownership, so that an attempt whose turn was ended from outside stops before it pays for more.
//!
//! A cancel changes the head but not the lease, so the lease alone can't show it. Before a model call and before a
//! tool's effects, the attempt confirms that it owned the turn a moment ago. While a model or tool runs, it checks
//! once a second. A failed check proves nothing; the lease decides then.

use std::pin::pin;

use contracts::error::causes;
use futures::future::{Either, select};
use protocol::change::Condition;

use crate::flow::owned_turn::OwnedTurn;
use crate::ports::{Deps, Reads, Timer};

/// The attempt no longer owns its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnershipLost;

/// Succeeds if the attempt may continue with a model call or a tool's effects. It costs nothing if ownership was
/// confirmed within [`Timing::ownership_check_ttl`](protocol::timing::Timing::ownership_check_ttl), and waits at most
/// that long otherwise.
///
/// A cancel delays its response by the same time, so nothing starts after that response: checks before the cancel's
/// write have led to their action by then, and later checks see the cancel.
pub(crate) async fn ensure_owned(deps: &impl Deps, owned: &OwnedTurn) -> Result<(), OwnershipLost> {
    let (host, lasts) = (deps.host(), deps.timing().ownership_check_ttl);
    if host.monotonic().saturating_sub(owned.lease.last_confirmed()) >= lasts {
        check_briefly(deps, owned).await?;
    }
    match owned.lease.remaining(host).is_zero() {
        true => Err(OwnershipLost),
        false => Ok(()),
    }
}

/// Checks once, concurrently with other work. A table that doesn't respond in time isn't waited for.
pub(crate) async fn check_briefly(deps: &impl Deps, owned: &OwnedTurn) -> Result<(), OwnershipLost> {
    let check = pin!(check_ownership(deps, owned));
    let timeout = pin!(deps.host().sleep(deps.timing().ownership_check_ttl));
    match select(check, timeout).await {
        Either::Left((result, _)) => result,
        Either::Right(((), _)) => Ok(()),
    }
}

/// Checks periodically, and returns once ownership is lost.
pub(crate) async fn watch(deps: &impl Deps, owned: &OwnedTurn) -> OwnershipLost {
    loop {
        deps.host().sleep(deps.timing().ownership_check_interval).await;
        if let Err(lost) = check_ownership(deps, owned).await {
            return lost;
        }
    }
}

async fn check_ownership(deps: &impl Deps, owned: &OwnedTurn) -> Result<(), OwnershipLost> {
    let started = deps.host().monotonic();
    match deps.store().turn(&owned.turn.key).await {
        Ok(head) if Condition::same_owner(&owned.turn).holds(head.as_ref()) => {
            owned.lease.confirm(started);
            Ok(())
        }
        Ok(_) => Err(OwnershipLost),
        Err(error) => {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::SNAPSHOT_FAILED);
            Ok(())
        }
    }
}
