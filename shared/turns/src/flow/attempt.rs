//! An attempt: the owner of a running turn works towards its outcome while it keeps the lease.

use contracts::error::causes;
use std::{
    convert::Infallible,
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use agent::outcome::Response;
use futures::future::{Either, join, select};
use protocol::{id::TurnKey, timing::Timing, transition::renew::renew, turn::Turn};

use super::{
    Executor, Term,
    work::Work,
    write::{self, Written},
};
use crate::{
    ports::{AgentDeps, Clock, Deps, Reads, Store, Timer},
    refusal::Refusal,
    stream::{CHECKPOINT_EVERY, Writer},
};

/// A turn that this process owns.
pub(super) struct OwnedTurn {
    /// Its head, as this attempt wrote it.
    pub(super) turn: Turn,
    /// The lease on it.
    pub(super) lease: Lease,
    /// How long this process may work on it.
    pub(super) term: Term,
}

impl<D: AgentDeps> Executor<D> {
    /// Works on a turn while its lease is kept, and answers with whatever the turn came to.
    pub(super) async fn attempt(
        &self,
        owned: &OwnedTurn,
        work: Work<'_>,
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        tracing::Span::current().record("attempt", owned.turn.attempt.as_str());
        stream.begin(&owned.turn);
        let done = {
            let work = pin!(async {
                let answer = self.work(owned, work, stream).await;
                let beside = answer.beside;
                let settled = self.settle(owned, answer.outcome, &answer.files, stream);
                join(settled, self.keep(&beside)).await.0
            });
            let lease = pin!(keep_lease(&self.deps, owned));
            let checkpoints = pin!(keep_checkpoints(&self.deps, &owned.turn.key, stream));
            let keep = select(lease, checkpoints);
            // The lease is looked at before the work each time, so that no model call begins under a
            // lease that is over: not the first either, when the write that won the turn took that long.
            match select(keep, work).await {
                Either::Right((answer, _)) => Some(answer),
                Either::Left(_) => None,
            }
        };
        match done {
            Some(answer) => answer,
            // The lease is lost. The work was dropped with the block above, before anything is waited for:
            // that ends the model call, so nobody pays for it any longer.
            None => {
                let stored = self.deps.store().turn(&owned.turn.key).await?;
                self.what_stands(stored.ok_or(Refusal::TurnNotFound)?, stream).await
            }
        }
    }
}

/// A lease as its holder sees it: by its own clock, which never jumps, and a little shorter than
/// everybody else's view of it.
#[derive(Debug)]
pub(super) struct Lease {
    /// On [`Timer::monotonic`], in milliseconds.
    ends: AtomicU64,
    stop_early: Duration,
}

impl Lease {
    /// A lease whose write began at `requested`, so it can't be over earlier than we think.
    pub(super) fn held_since(requested: Duration, timing: &Timing) -> Self {
        let lease = Self { ends: AtomicU64::new(0), stop_early: timing.stop_early };
        lease.extend(requested, timing.lease);
        lease
    }

    /// How much longer the holder may act.
    pub(super) fn left(&self, timer: &impl Timer) -> Duration {
        Duration::from_millis(self.ends.load(Ordering::Relaxed))
            .saturating_sub(self.stop_early)
            .saturating_sub(timer.monotonic())
    }

    fn extend(&self, requested: Duration, by: Duration) {
        let ends = requested.saturating_add(by).as_millis();
        self.ends.store(u64::try_from(ends).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// Renews the lease until it is lost: taken, settled by someone else, or over because the table could
/// not be reached. Never past the moment when the function itself is about to be stopped.
async fn keep_lease(deps: &impl Deps, owned: &OwnedTurn) {
    let OwnedTurn { turn, lease, term } = owned;
    let (host, timing) = (deps.host(), deps.timing());
    loop {
        let left = lease.left(host);
        if left.is_zero() {
            return;
        }
        host.sleep(timing.renew_every().min(left)).await;
        let requested = host.monotonic();
        let by = timing.lease.min(term.ends.saturating_sub(requested));
        if lease.left(host).is_zero() || by.is_zero() {
            return;
        }
        let Ok(change) = renew(turn, host.now().after(by)) else {
            return;
        };
        // Every try of the write may hang as long as the adapter lets it, so the lease ends it: a holder
        // that waited for an unreachable table would work on, and pay, under a lease that is over.
        let renewal = pin!(write::turn(deps, &change));
        let over = pin!(host.sleep(lease.left(host)));
        match select(renewal, over).await {
            Either::Left((Ok(Written::Applied), _)) => lease.extend(requested, by),
            Either::Left((Ok(Written::Stands(_)), _)) | Either::Right(_) => return,
            // The table can't be reached: the lease still runs, so try again while it does.
            Either::Left((Err(_), _)) => {}
        }
    }
}

/// Writes a checkpoint a second while the model writes. One that can't be written is part of the next.
async fn keep_checkpoints(deps: &impl Deps, turn: &TurnKey, stream: &Writer) -> Infallible {
    if !stream.is_streamed() {
        return std::future::pending().await;
    }
    let mut saved = None;
    loop {
        deps.host().sleep(CHECKPOINT_EVERY).await;
        let Some(checkpoint) = stream.checkpoint(turn, saved, deps.host().now()) else {
            continue;
        };
        match deps.store().put_checkpoint(&checkpoint).await {
            Ok(()) => saved = Some(checkpoint.ends),
            Err(error) => tracing::warn!(error = %causes(&error), "a checkpoint could not be stored"),
        }
    }
}
