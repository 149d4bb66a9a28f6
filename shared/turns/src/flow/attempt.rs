//! An attempt: the owner of a running turn works towards its outcome, stores it, and settles.

use std::{pin::pin, time::Duration};

use contracts::{queue::FinalizeMessage, request::UserTurn};
use futures::future::{Either, join, select, try_join_all};

use crate::{
    flow::{
        Executor, Refusal,
        answer::{self, Answer, File},
        lease::{self, Lease},
        outcome, replay, salvage,
        write::{self, Written},
    },
    model::{self, Model},
    outcome::{Outcome, Response},
    ports::{Announcements, Payloads, Store, Unavailable, World},
    transition::settle::settle,
    turn::{Reason, Turn, Verdict},
};

/// Shown when the provider no longer has the conversation that the turn was to continue.
const CHAIN_LOST: &str = "The model provider no longer has the earlier part of this conversation; this answer was written without it.";

/// A turn that this process owns.
pub(super) struct Held {
    pub(super) turn: Turn,
    pub(super) lease: Lease,
}

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// Works on a turn while its lease is kept, and answers with whatever the turn came to.
    pub(super) async fn attempt(
        &self,
        held: &Held,
        request: &UserTurn,
        stop_at: Duration,
        deltas: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Response, Refusal> {
        let work = pin!(async {
            let answer = self.think(held, request, stop_at, deltas).await;
            self.settle(held, answer).await
        });
        let keep =
            pin!(lease::keep(&self.store, &self.world, &self.timing, &held.turn, &held.lease, stop_at));
        match select(work, keep).await {
            Either::Left((answer, _)) => answer,
            // The lease is lost. Dropping the work ends the model call too, so nobody pays for it.
            Either::Right(((), _)) => self.what_stands(held.turn.clone()).await,
        }
    }

    /// Asks the model until there is an answer or an error.
    async fn think(
        &self,
        held: &Held,
        request: &UserTurn,
        stop_at: Duration,
        deltas: &mut (dyn FnMut(&str) + Send),
    ) -> Answer {
        let turn = &held.turn;
        let mut chain = turn.previous_response_id.clone();
        let mut warnings = Vec::new();
        loop {
            if held.lease.left(&self.world).is_zero() {
                // Nobody may pay for a turn that is about to be somebody else's: whoever keeps the lease
                // ends this.
                return std::future::pending().await;
            }
            let deadline =
                stop_at.saturating_sub(self.timing.settle_reserve).saturating_sub(self.world.monotonic());
            let call = self.model_request(turn, request, chain.as_deref());
            match self.model.reply(&call, deadline, deltas).await {
                Ok(reply) => {
                    return answer::answered(
                        turn,
                        reply,
                        warnings,
                        self.asked_of(),
                        self.world.now(),
                        &self.timing,
                    );
                }
                Err(model::Error::ChainLost) if chain.is_some() => {
                    chain = None;
                    warnings.push(CHAIN_LOST.to_owned());
                }
                Err(error) => {
                    tracing::warn!(%error, "the model call failed");
                    return answer::failed(&error, warnings, self.asked_of(), self.world.now());
                }
            }
        }
    }

    fn model_request(&self, turn: &Turn, request: &UserTurn, chain: Option<&str>) -> model::Request {
        model::Request {
            model: self.defaults.model.clone(),
            temperature: None,
            max_output_tokens: None,
            chain: match chain {
                Some(id) => model::Chain::Continues { previous_response_id: id.to_owned(), update: None },
                None => model::Chain::Initial { system: self.defaults.system.clone(), parts: Vec::new() },
            },
            mode: turn.mode.clone(),
            instruction: match &request.instruction {
                Some(text) => model::Instruction::User(text.clone()),
                None => model::Instruction::FilesAlone,
            },
            context_block: None,
            tools: Vec::new(),
            tool_choice: None,
            tool_outputs: Vec::new(),
        }
    }

    /// Makes the outcome durable, then decides the turn by it, announcing it beside.
    async fn settle(&self, held: &Held, answer: Answer) -> Result<Response, Refusal> {
        let turn = &held.turn;
        let Answer { outcome, files } = answer;
        let (change, response) = match self.store(held, &outcome, &files).await {
            Ok(()) => (
                salvage::from_outcome(turn, turn.owner.clone(), &outcome, &self.world, &self.timing),
                outcome.response,
            ),
            Err(error) => {
                tracing::error!(%error, source = ?error.source, "the outcome could not be stored");
                let now = self.world.now();
                let verdict = Verdict::Ended(Reason::StorageUnavailable);
                (settle(turn, verdict, now, now, &self.timing), Response::ended(Reason::StorageUnavailable))
            }
        };
        let Ok(change) = change else {
            return self.what_stands(turn.clone()).await;
        };
        let (written, ()) = join(write::turn(&self.store, &self.world, &change), self.announce(turn)).await;
        match written? {
            Written::Applied => Ok(response),
            // LIFECYCLE rule 6: whoever loses answers with what is stored, never with its own text.
            Written::Stands(Some(other)) => self.what_stands(*other).await,
            Written::Stands(None) => Err(Refusal::TurnNotFound),
        }
    }

    /// Stores the answer's files, then the outcome object that refers to them (I10), as often as the
    /// lease allows.
    async fn store(&self, held: &Held, outcome: &Outcome, files: &[File]) -> Result<(), Unavailable> {
        loop {
            let stored = async {
                let puts = files.iter().map(|file| self.payloads.put(&file.payload, file.bytes.clone()));
                try_join_all(puts).await?;
                outcome::store(&self.payloads, &held.turn, outcome).await
            };
            let stored = stored.await;
            let pause = self.world.jitter(Duration::from_secs(1));
            match stored {
                Err(_) if held.lease.left(&self.world) > pause => self.world.sleep(pause).await,
                stored => return stored,
            }
        }
    }

    /// The model that the turn is sent to.
    fn asked_of(&self) -> &str {
        &self.defaults.model
    }

    pub(super) async fn announce(&self, turn: &Turn) {
        let message = FinalizeMessage::TurnSettled {
            org: turn.key.session.org.clone(),
            session: turn.key.session.session.clone(),
            turn: turn.key.turn.clone(),
            correlation: None,
        };
        if let Err(error) = self.announcements.announce(&message).await {
            // The sweep finds the turn all the same; only latency is lost.
            tracing::warn!(%error, source = ?error.source, "the settled turn could not be announced");
        }
    }

    /// The answer of a turn that somebody else moved on.
    pub(super) async fn what_stands(&self, turn: Turn) -> Result<Response, Refusal> {
        match replay::wait(&self.store, &self.world, &self.timing, turn).await? {
            replay::Waited::Ready(turn) => self.replay(&turn).await,
            replay::Waited::Dead => {
                Err(Refusal::TurnInProgress { retry_after: replay::retry_after(Duration::ZERO) })
            }
            replay::Waited::Running { retry_after } => Err(Refusal::TurnInProgress { retry_after }),
        }
    }
}
