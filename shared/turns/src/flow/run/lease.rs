//! The ownership of a turn while this process works on it: renews the lease, and watches for an end from outside, so that the
//! attempt stops before it pays for more.
//!
//! A cancel changes the head but not the lease, so the lease alone can't show it. Before a model call and before a tool's
//! effects, the attempt confirms that it owned the turn a moment ago. While a model or tool runs, it checks once a second. A
//! failed check proves nothing; the lease decides then.

use std::pin::pin;

use contracts::error::causes;
use futures::future::{Either, select};
use protocol::{change::Condition, transition::renew::renew};

use crate::{
    flow::{
        owned_turn::OwnedTurn,
        write::{self, Contended, WriteOutcome},
    },
    ports::{Deps, Host, Reads, Timer, Unavailable},
};

/// Renews the lease until it is lost: taken over, settled by someone else, or expired because the table is
/// unreachable. Runs in the same task as the work. Never extends the lease past the moment at which the function is
/// stopped.
///
/// It is polled before the work each time, and the work computes for a bounded time between two polls: the model
/// client yields after each millisecond of reading, and answers are filtered in steps. So the work can't starve it,
/// dropping the attempt drops it, and simulations need no extra tasks.
pub(super) async fn keep_lease(deps: &impl Deps, owned: &OwnedTurn) {
    let OwnedTurn { turn, lease, scope, spending, .. } = owned;
    let (host, timing) = (deps.host(), deps.timing());
    // The head of a turn that was taken over doesn't count this attempt's call yet.
    let mut pause = match turn.takeovers {
        0 => timing.renewal_interval(),
        _ => timing.ownership_check_interval.min(timing.renewal_interval()),
    };
    loop {
        let left = lease.remaining(host);
        if left.is_zero() {
            return;
        }
        host.sleep(pause.min(left)).await;
        pause = timing.renewal_interval();
        let requested = host.monotonic();
        let by = timing.lease.min(scope.deadline.saturating_sub(requested));
        if lease.remaining(host).is_zero() || by.is_zero() {
            return;
        }
        let Ok(change) = renew(turn, host.now().after(by)) else {
            return;
        };
        let change = change.with_spent(spending.if_killed());
        // The lease bounds the write, because each try may hang for as long as the adapter allows. Otherwise a holder
        // that waits for an unreachable table would continue, and pay, under an expired lease.
        let renewal = pin!(write::turn(deps, &change));
        let over = pin!(host.sleep(lease.remaining(host)));
        match select(renewal, over).await {
            Either::Left((Ok(WriteOutcome::Applied), _)) => lease.extend(requested, by),
            Either::Left((Ok(WriteOutcome::Superseded(_)), _)) | Either::Right(_) => return,
            // The table is unreachable. The lease still holds, so try again until it ends.
            Either::Left((Err(_), _)) => {}
        }
    }
}

/// The attempt no longer owns its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnershipLost;

impl From<OwnershipLost> for Interruption {
    fn from(_: OwnershipLost) -> Self {
        Self::OwnershipLost
    }
}

/// A reason for which an attempt ended without an outcome of its own.
#[derive(Debug)]
pub(super) enum Interruption {
    /// Another attempt owns the turn, or it is settled.
    OwnershipLost,
    /// Required parts of the prompt, or of the ledger of effects, can't be read or written.
    Unavailable(Unavailable),
}

impl From<Unavailable> for Interruption {
    fn from(error: Unavailable) -> Self {
        Self::Unavailable(error)
    }
}

impl From<Contended> for Interruption {
    fn from(contended: Contended) -> Self {
        Self::Unavailable(contended.into())
    }
}

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
    match owned.is_lost() || owned.lease.remaining(host).is_zero() {
        true => Err(OwnershipLost),
        false => Ok(()),
    }
}

/// True if a remote call may be sent now: ownership was confirmed a moment ago, and the lease lasts long enough that nobody
/// takes the turn over while the request is on its way.
pub(super) fn may_send(deps: &impl Deps, owned: &OwnedTurn) -> bool {
    let (host, lasts) = (deps.host(), deps.timing().ownership_check_ttl);
    let is_confirmed = host.monotonic().saturating_sub(owned.lease.last_confirmed()) < lasts;
    !owned.is_lost() && is_confirmed && owned.lease.remaining(host) >= deps.timing().renewal_interval()
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
        Ok(head) => {
            if head.is_some_and(|head| head.settlement().is_some()) {
                owned.end();
            }
            Err(OwnershipLost)
        }
        Err(error) => {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::SNAPSHOT_FAILED);
            Ok(())
        }
    }
}
