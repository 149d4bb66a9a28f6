//! Settles a turn: stores its outcome, decides the turn by it, and announces it.

use std::time::Duration;

use agent::outcome::{Ending, Outcome, Response, answer::File};
use contracts::error::causes;
use futures::future::{join, join_all, try_join_all};
use protocol::{
    change::{PartialWork, TurnChange},
    id::AttemptId,
    transition::{IllegalTransition, settle::settle, suspend::suspend},
    turn::{EndReason, Turn, Verdict},
};

use crate::flow::{
    executor::Executor,
    finish::{announcement, outcomes},
    owned_turn::OwnedTurn,
    write::{self, WriteOutcome},
};
use crate::{
    ports::{AgentDeps, Clock, Deps, Payloads, Random, Timer, Unavailable},
    refusal::Refusal,
    stream::Writer,
};

impl<D: AgentDeps> Executor<D> {
    /// Stores the outcome, then decides the turn by it and announces it concurrently. Returns the turn's final
    /// response, whoever decided it.
    pub(crate) async fn settle(
        &self,
        owned: &OwnedTurn,
        outcome: Outcome,
        files: &[File],
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        let turn = &owned.turn;
        let (change, response) = match self.store_outcome(owned, &outcome, files).await {
            Ok(()) => (transition_for(&self.deps, turn, turn.attempt.clone(), &outcome), outcome.response),
            Err(error) => {
                tracing::error!(error = %causes(&error), "{}", contracts::log::OUTCOME_NOT_STORED);
                let now = self.deps.host().now();
                let verdict = Verdict::Ended(EndReason::StorageUnavailable);
                (
                    settle(turn, verdict, now, now, self.deps.timing()).map(|change| {
                        change
                            .with_partial_work(PartialWork { last_step: owned.recorded(), checkpoint: None })
                    }),
                    Response::from_end_reason(EndReason::StorageUnavailable),
                )
            }
        };
        let Ok(change) = change else {
            return self.replay_stored(turn.clone(), stream).await;
        };
        let announced = announcement::announce(&self.deps, turn, owned.scope.correlation.as_ref());
        let (written, ()) = join(write::turn(&self.deps, &change), announced).await;
        match written? {
            WriteOutcome::Applied => Ok(response),
            // Rule 6: an attempt that loses the write responds with the stored outcome, never with its own text.
            WriteOutcome::Superseded(Some(other)) => self.replay_stored(*other, stream).await,
            WriteOutcome::Superseded(None) => Err(Refusal::TurnNotFound),
        }
    }

    /// Stores the answer's files, then the outcome object that refers to them (I10). Retries while the lease allows.
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
                Err(_) if owned.lease.remaining(host) > pause => host.sleep(pause).await,
                stored => return stored,
            }
        }
    }

    /// Stores files that nothing refers to. A failure is only logged.
    pub(crate) async fn store_best_effort(&self, files: &[File]) {
        let puts = files.iter().map(|file| self.deps.payloads().put_file(file));
        for stored in join_all(puts).await {
            if let Err(error) = stored {
                tracing::warn!(error = %causes(&error), "{}", contracts::log::RAW_PAYLOAD_NOT_STORED);
            }
        }
    }
}

/// Returns the transition that an outcome object calls for: settle or suspend.
pub(crate) fn transition_for(
    deps: &impl Deps,
    turn: &Turn,
    writer: AttemptId,
    outcome: &Outcome,
) -> Result<TurnChange, IllegalTransition> {
    let (now, timing) = (deps.host().now(), deps.timing());
    let seconds = match &outcome.ending {
        Ending::Suspended { recovery_point } => recovery_point.spec.tool_deadline_seconds,
        Ending::Completed { .. } | Ending::Failed { .. } => 0,
    };
    match outcome.verdict(writer.clone()) {
        Some(verdict) => settle(turn, verdict, outcome.report.received_at.unwrap_or(now), now, timing),
        None => {
            let wait = Duration::from_secs(seconds).min(timing.max_tool_wait);
            suspend(turn, writer, now.after(wait))
        }
    }
}
