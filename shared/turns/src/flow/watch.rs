//! Watch: an attempt whose turn was decided from outside learns it before it pays for more.
//!
//! A cancel changes the head and leaves the lease alone, so the lease does not tell. Before a model call
//! and before a tool's effects the attempt knows that the turn was its own a moment ago; while a model or
//! a tool is at work, it looks once a second. A look that fails proves nothing: then the lease decides.

use std::pin::pin;

use contracts::error::causes;
use futures::future::{Either, select};
use protocol::change::Condition;

use super::owned_turn::OwnedTurn;
use crate::ports::{Deps, Reads, Timer};

/// The turn is no longer the attempt's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost;

/// Whether the attempt may go on to a model call or a tool's effects. It costs nothing where the turn was
/// seen to be its own less than [`Timing::look_lasts`](protocol::timing::Timing::look_lasts) ago, and
/// never more than that.
///
/// A cancel holds its answer back for as long. So nothing begins after that answer: what looked before the
/// cancel's write has begun by then, and what looks afterwards sees it.
pub(super) async fn still_owns(deps: &impl Deps, owned: &OwnedTurn) -> Result<(), Lost> {
    let (host, lasts) = (deps.host(), deps.timing().look_lasts);
    if host.monotonic().saturating_sub(owned.lease.seen()) >= lasts {
        look_for_a_moment(deps, owned).await?;
    }
    match owned.lease.left(host).is_zero() {
        true => Err(Lost),
        false => Ok(()),
    }
}

/// One look, beside something else that has to be done. A table that does not answer at once is not
/// waited for.
pub(super) async fn look_for_a_moment(deps: &impl Deps, owned: &OwnedTurn) -> Result<(), Lost> {
    let looked = pin!(look(deps, owned));
    let over = pin!(deps.host().sleep(deps.timing().look_lasts));
    match select(looked, over).await {
        Either::Left((seen, _)) => seen,
        Either::Right(((), _)) => Ok(()),
    }
}

/// Runs until the turn is no longer the attempt's.
pub(super) async fn watch(deps: &impl Deps, owned: &OwnedTurn) -> Lost {
    loop {
        deps.host().sleep(deps.timing().look_every).await;
        if let Err(lost) = look(deps, owned).await {
            return lost;
        }
    }
}

async fn look(deps: &impl Deps, owned: &OwnedTurn) -> Result<(), Lost> {
    let began = deps.host().monotonic();
    match deps.store().turn(&owned.turn.key).await {
        Ok(head) if Condition::of_attempt(&owned.turn).holds(head.as_ref()) => {
            owned.lease.was_seen(began);
            Ok(())
        }
        Ok(_) => Err(Lost),
        Err(error) => {
            tracing::warn!(error = %causes(&error), "the turn could not be looked at");
            Ok(())
        }
    }
}
