//! Settle: an outcome becomes durable, decides the turn, and is announced.

use std::time::Duration;

use agent::{
    answer::File,
    outcome::{Ending, Outcome, Response},
};
use contracts::error::causes;
use futures::future::{join, join_all, try_join_all};
use protocol::{
    announcement::FinalizeMessage,
    change::{Left, TurnChange},
    correlation::CorrelationId,
    id::AttemptId,
    transition::{Illegal, settle::settle, suspend::suspend},
    turn::{Reason, Turn, Verdict},
};

use super::{
    executor::Executor,
    outcomes,
    owned_turn::OwnedTurn,
    write::{self, Written},
};
use crate::{
    ports::{AgentDeps, Clock, Deps, FinalizeQueue, Payloads, Random, Timer, Unavailable},
    refusal::Refusal,
    stream::Writer,
};

impl<D: AgentDeps> Executor<D> {
    /// Makes the outcome durable, then decides the turn by it, announcing it beside. Answers with what the
    /// turn came to, whoever decided it.
    pub(super) async fn settle(
        &self,
        owned: &OwnedTurn,
        outcome: Outcome,
        files: &[File],
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        let turn = &owned.turn;
        let (change, response) = match self.store_outcome(owned, &outcome, files).await {
            Ok(()) => (decision(&self.deps, turn, turn.attempt.clone(), &outcome), outcome.response),
            Err(error) => {
                tracing::error!(error = %causes(&error), "the outcome could not be stored");
                let now = self.deps.host().now();
                let verdict = Verdict::Ended(Reason::StorageUnavailable);
                (
                    settle(turn, verdict, now, now, self.deps.timing())
                        .map(|change| change.knowing(Left { recorded: owned.recorded(), shown: None })),
                    Response::ended(Reason::StorageUnavailable),
                )
            }
        };
        let Ok(change) = change else {
            return self.what_stands(turn.clone(), stream).await;
        };
        let announced = self.announce(turn, owned.term.correlation.as_ref());
        let (written, ()) = join(write::turn(&self.deps, &change), announced).await;
        match written? {
            Written::Applied => Ok(response),
            // Rule 6: whoever loses answers with what is stored, never with its own text.
            Written::Stands(Some(other)) => self.what_stands(*other, stream).await,
            Written::Stands(None) => Err(Refusal::TurnNotFound),
        }
    }

    /// Stores the answer's files, then the outcome object that refers to them (I10), as often as the lease allows.
    async fn store_outcome(
        &self,
        owned: &OwnedTurn,
        outcome: &Outcome,
        files: &[File],
    ) -> Result<(), Unavailable> {
        let (payloads, host) = (self.deps.payloads(), self.deps.host());
        loop {
            let stored = async {
                try_join_all(files.iter().map(|file| payloads.put_file(file))).await?;
                outcomes::store(payloads, &owned.turn, outcome).await
            };
            let stored = stored.await;
            let pause = host.jitter(Duration::from_secs(1));
            match stored {
                Err(_) if owned.lease.left(host) > pause => host.sleep(pause).await,
                stored => return stored,
            }
        }
    }

    /// Stores what nothing refers to: a failure is logged, no more.
    pub(super) async fn keep(&self, files: &[File]) {
        let puts = files.iter().map(|file| self.deps.payloads().put_file(file));
        for stored in join_all(puts).await {
            if let Err(error) = stored {
                tracing::warn!(error = %causes(&error), "a raw payload could not be kept");
            }
        }
    }

    /// Says that a turn is settled, so that it is finalized at once.
    pub(super) async fn announce(&self, turn: &Turn, correlation: Option<&CorrelationId>) {
        let message = FinalizeMessage::TurnSettled {
            org: turn.key.session.org.clone(),
            session: turn.key.session.session.clone(),
            turn: turn.key.turn.clone(),
            correlation: correlation.cloned(),
        };
        if let Err(error) = self.deps.queue().send(&message).await {
            // The sweep finds the turn all the same; only latency is lost.
            tracing::warn!(error = %causes(&error), "the settled turn could not be announced");
        }
    }
}

/// The transition that an outcome object calls for: settle, or suspend.
pub(super) fn decision(
    deps: &impl Deps,
    turn: &Turn,
    writer: AttemptId,
    outcome: &Outcome,
) -> Result<TurnChange, Illegal> {
    let (now, timing) = (deps.host().now(), deps.timing());
    let seconds = match &outcome.ending {
        Ending::Suspended { step } => step.plan.tool_deadline_seconds,
        Ending::Completed { .. } | Ending::Failed { .. } => 0,
    };
    match outcome.verdict(writer.clone()) {
        Some(verdict) => settle(turn, verdict, outcome.report.received.unwrap_or(now), now, timing),
        None => {
            let wait = Duration::from_secs(seconds).min(timing.longest_tool_wait);
            suspend(turn, writer, now.after(wait))
        }
    }
}
