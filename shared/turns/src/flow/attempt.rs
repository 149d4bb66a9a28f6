//! An attempt: the owner of a running turn works towards its outcome, stores it, and settles.

use std::{pin::pin, time::Duration};

use contracts::{
    AgentExecuteResponse, Error, ErrorCode,
    queue::FinalizeMessage,
    request::UserTurn,
    response::{Final, Metadata},
};
use futures::future::{Either, join, select};

use crate::{
    detail::Report,
    flow::{
        Executor, Refusal,
        lease::{self, Lease},
        outcome, replay, salvage,
        write::{self, Written},
    },
    mode,
    model::{self, Model},
    outcome::{Outcome, Response},
    ports::{Announcements, Payloads, Store, Unavailable, World},
    summary::summarize,
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
            let outcome = self.think(held, request, stop_at, deltas).await;
            self.settle(held, outcome).await
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
    ) -> Outcome {
        let turn = &held.turn;
        let mut chain = turn.previous_response_id.clone();
        let mut warnings = Vec::new();
        loop {
            let deadline =
                stop_at.saturating_sub(self.timing.settle_reserve).saturating_sub(self.world.monotonic());
            let call = self.model_request(turn, request, chain.as_deref());
            match self.model.reply(&call, deadline, deltas).await {
                Ok(reply) => return self.answered(turn, reply, warnings),
                Err(model::Error::ChainLost) if chain.is_some() => {
                    chain = None;
                    warnings.push(CHAIN_LOST.to_owned());
                }
                Err(error) => {
                    tracing::warn!(%error, "the model call failed");
                    let report = Report { received: Some(self.world.now()), warnings, ..self.report() };
                    return Outcome::failed(failure(&error), report);
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

    fn report(&self) -> Report {
        Report { model: Some(self.defaults.model.clone()), ..Report::default() }
    }

    fn answered(&self, turn: &Turn, reply: model::Reply, warnings: Vec<String>) -> Outcome {
        let received = self.world.now();
        let report = Report {
            answer_summary: Some(summarize(&reply.text)),
            response_id: Some(reply.response_id),
            received: Some(received),
            chain_expires: Some(received.after(self.timing.chain_life)),
            usage: reply.usage,
            warnings: warnings.clone(),
            ..self.report()
        };
        if !reply.calls.is_empty() {
            // No tools were offered, so a call can't be answered and the chain can't go on from it.
            return Outcome::failed(
                failure(&model::Error::Malformed),
                Report { response_id: None, ..report },
            );
        }
        let answer = AgentExecuteResponse::Final(Final {
            metadata: Metadata {
                session_id: turn.key.session.session.clone(),
                turn_id: turn.key.turn.clone(),
                mode_display_name: mode::display_name(&turn.mode),
            },
            primary_output_text: reply.text,
            files: Vec::new(),
            tool_results: Vec::new(),
            user_warnings: warnings,
            usage: reply.usage,
        });
        Outcome::completed(answer, report, None)
    }

    /// Makes the outcome durable, then decides the turn by it, announcing it beside.
    async fn settle(&self, held: &Held, outcome: Outcome) -> Result<Response, Refusal> {
        let turn = &held.turn;
        let (change, response) = match self.store_outcome(held, &outcome).await {
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

    /// Stores the outcome object, as often as the lease allows.
    async fn store_outcome(&self, held: &Held, outcome: &Outcome) -> Result<(), Unavailable> {
        loop {
            let stored = outcome::store(&self.payloads, &held.turn, outcome).await;
            let pause = self.world.jitter(Duration::from_secs(1));
            match stored {
                Err(_) if held.lease.left(&self.world) > pause => self.world.sleep(pause).await,
                stored => return stored,
            }
        }
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

/// What the user is told about a model that gave no answer. Never the provider's words (I14).
fn failure(error: &model::Error) -> Error {
    let (code, message) = match error {
        model::Error::RateLimited { .. } => (
            ErrorCode::ModelRateLimited,
            "The model provider is limiting requests. Wait a little and send the instruction again with a new TurnId.",
        ),
        model::Error::QuotaExceeded => (
            ErrorCode::ModelQuotaExceeded,
            "The model provider's quota is used up. Ask your operator to raise it.",
        ),
        model::Error::ContextTooLong => (
            ErrorCode::ModelContextTooLong,
            "The conversation is too long for the model. Send fewer or smaller files, or start a new session.",
        ),
        model::Error::ContentFiltered => (
            ErrorCode::ModelContentFiltered,
            "The model provider's content filter refused this turn. Rephrase the instruction.",
        ),
        model::Error::Unauthenticated | model::Error::ModelNotFound => (
            ErrorCode::ModelMisconfigured,
            "The model provider refused the service's credentials or model. Ask your operator to check them.",
        ),
        model::Error::ChainLost | model::Error::Rejected { .. } => (
            ErrorCode::ModelRejected,
            "The model provider rejected the request. Send the instruction again with a new TurnId.",
        ),
        model::Error::Unavailable => (
            ErrorCode::ModelUnavailable,
            "The model provider is unavailable. Send the instruction again with a new TurnId.",
        ),
        model::Error::TimedOut => (
            ErrorCode::ModelTimedOut,
            "The model did not answer in time. Send the instruction again with a new TurnId.",
        ),
        model::Error::Malformed => (
            ErrorCode::ModelReplyMalformed,
            "The model provider's reply broke off or was malformed. Send the instruction again with a new TurnId.",
        ),
        model::Error::Incomplete => (
            ErrorCode::ModelReplyIncomplete,
            "The model stopped before its answer was complete. Ask for a shorter answer with a new TurnId.",
        ),
    };
    Error::new(code, message)
}
