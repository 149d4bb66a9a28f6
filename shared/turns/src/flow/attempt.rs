//! An attempt: the owner of a running turn works towards its outcome while it keeps the lease.

use std::{convert::Infallible, pin::pin};

use agent::outcome::Response;
use contracts::error::causes;
use futures::future::{Either, join, select};
use protocol::id::TurnKey;

use super::{
    executor::Executor,
    owned_turn::{OwnedTurn, keep_lease},
    watch::watch,
    work::{Stopped, Work},
};
use crate::checkpoint::CHECKPOINT_EVERY;
use crate::{
    ports::{AgentDeps, Clock, Deps, Payloads, Reads, Store, Timer},
    refusal::Refusal,
    stream::Writer,
};

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
                let answer = {
                    // Until the work has come to something: from then on its own write decides.
                    let lost = pin!(watch(&self.deps, owned));
                    let work = pin!(while_files_are_kept(&self.deps, stream, self.work(owned, work, stream)));
                    match select(work, lost).await {
                        Either::Left((answer, _)) => answer?,
                        Either::Right((lost, _)) => return Err(Stopped::from(lost)),
                    }
                };
                let beside = answer.beside;
                let settled = self.settle(owned, answer.outcome, &answer.files, stream);
                Ok(join(settled, self.keep(&beside)).await.0)
            });
            let lease = pin!(keep_lease(&self.deps, owned));
            let checkpoints = pin!(keep_checkpoints(&self.deps, &owned.turn.key, stream));
            let keep = select(lease, checkpoints);
            // The lease is looked at before the work each time, so that no model call begins under a
            // lease that is over: not the first either, when the write that won the turn took that long.
            match select(keep, work).await {
                Either::Right((answer, _)) => answer,
                Either::Left(_) => Err(Stopped::Lost),
            }
        };
        match done {
            Ok(answer) => answer,
            // Nothing was decided: the turn stays as it is, and the same request goes on with it.
            Err(Stopped::Unavailable(error)) => Err(error.into()),
            // The turn is lost. The work was dropped with the block above, before anything is waited for:
            // that ends the model call, so nobody pays for it any longer.
            Err(Stopped::Lost) => {
                let stored = self.deps.store().turn(&owned.turn.key).await?;
                self.what_stands(stored.ok_or(Refusal::TurnNotFound)?, stream).await
            }
        }
    }
}

/// Beside the work, stores the files that the streamed text links to. Their text is held back until then,
/// so one that can't be stored is shown with the settled answer, if at all.
async fn while_files_are_kept<T>(deps: &impl Deps, stream: &Writer, work: impl Future<Output = T>) -> T {
    let keep = pin!(async {
        loop {
            let (number, file) = stream.unstored().await;
            match deps.payloads().put_file(&file).await {
                Ok(()) => stream.stored(number),
                Err(error) => {
                    tracing::warn!(error = %causes(&error), "a file of the stream could not be stored");
                    deps.host().sleep(CHECKPOINT_EVERY).await;
                }
            }
        }
    });
    match select(pin!(work), keep).await {
        Either::Left((done, _)) => done,
        Either::Right((never, _)) => never,
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
