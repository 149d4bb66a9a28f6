//! The agent loop: model → server tools → model …, until there is an answer, an error, or calls for the client.
//!
//! The loop is resumable at every step: the results of a step are recorded while the next model call runs, and a
//! takeover continues from there. After a crash, built-in tools can run twice, under different call ids. Their effects
//! are pure, staged, or addressed by content (rule 8). Remote calls with effects are in the ledger (rule 14): a takeover
//! enters the loop at their round.

use std::ops::ControlFlow::{self, Break, Continue};

use agent::{
    attempt::{AttemptState, RecoveryPoint, ReplyInfo, TurnSpec, prompt_state::PromptState},
    model::{Error, Reply, Request},
    outcome::answer::{self, Answer, File, embedded_link},
    output_filter::{AnswerFormat, Blob, FilteredText, filter_in_chunks},
    prompt::{compose::ComposedRequest, conversation::Conversation},
    tool::rounds::{AssistantMessage, ModelCallInfo},
};
use bytes::Bytes;
use contracts::{
    ErrorCode,
    error::causes,
    request::UserTurn,
    response::TOKEN_LIMIT_REACHED,
    stream::{Phase, ResetReason},
};
use futures::future::{join, join_all};
use protocol::{
    budget::Amounts,
    payload::{Kind, Payload},
    turn::{StepRef, Turn},
};

use crate::{
    flow::{
        meter::ExceededBudget,
        owned_turn::OwnedTurn,
        run::{
            budget_check,
            compose::{compact, compose},
            lease::{self, Interruption, OwnershipLost},
            model_call::ModelCall,
            models::{FailedCall, Models, try_recover},
            tools,
        },
    },
    ports::{AgentDeps, Deps, Host, Payloads},
    stream::Writer,
};

/// The starting point of an attempt.
pub(crate) struct AttemptStart<'a> {
    /// The user's request, if the attempt starts with it.
    pub(crate) request: Option<&'a UserTurn>,
    /// The resolved settings, and the progress of earlier attempts.
    pub(crate) recovery_point: RecoveryPoint,
}

/// The loop of an attempt.
pub(super) struct AgentLoop<'a, D> {
    deps: &'a D,
    models: Models<'a>,
    owned: &'a OwnedTurn,
    stream: &'a Writer,
    spec: TurnSpec,
    state: AttemptState,
    conversation: Conversation,
    /// The number of recovery points that earlier attempts recorded.
    already_recorded: u32,
    /// The amounts that the turn has reserved in its meters.
    reserved: Amounts,
    /// The amounts of the last model call.
    last_call: Amounts,
    /// The raw payloads of the last model call. They are stored while the next one runs, or with the outcome.
    raw_payloads: Vec<File>,
    /// The long values of the last round, stored in the same way.
    long_values: Vec<File>,
}

/// The outcome of a model call, with the record of the call.
enum CallOutcome {
    /// The reply is the answer.
    Answer(Reply, ModelCallInfo),
    /// The reply calls tools.
    ToolCalls(Reply, ModelCallInfo),
    /// The call failed.
    Failure(Box<Failure>),
}

/// A failed model call, with its request and record.
struct Failure {
    error: Error,
    request: Request,
    call: ModelCall,
    info: ModelCallInfo,
}

impl<'a, D: AgentDeps> AgentLoop<'a, D> {
    /// Creates the loop of an attempt that starts here.
    pub(super) fn new(
        deps: &'a D,
        models: Models<'a>,
        owned: &'a OwnedTurn,
        AttemptStart { request, recovery_point: RecoveryPoint { spec, mut state } }: AttemptStart<'_>,
        stream: &'a Writer,
    ) -> Self {
        if let Some(lost) = &owned.lost {
            state.totals.add_lost_calls(lost);
        }
        owned.spending.record(&state.totals, &spec);
        Self {
            deps,
            models,
            owned,
            stream,
            conversation: models.new_conversation(&owned.turn, &spec, &state, request.cloned()),
            // The step of an open round is recorded once its calls have results.
            already_recorded: state
                .recovery_points()
                .saturating_sub(u32::from(owned.open_round.is_some() || is_held(&state))),
            reserved: owned.reserved,
            last_call: Amounts::default(),
            raw_payloads: Vec::new(),
            long_values: long_values(&owned.turn, &state),
            spec,
            state,
        }
    }

    /// Runs until the turn has an outcome.
    pub(super) async fn run(mut self) -> Result<Answer, Interruption> {
        // The model isn't asked again for calls that may have been sent: it would make others.
        // Nor is it asked before the calls that waited for approvals have results.
        let is_answered = is_held(&self.state);
        if is_answered
            && self.owned.open_round.is_none()
            && let Some(exceeded) = Box::pin(self.check_budgets()).await?
        {
            return Ok(self.on_exceeded_budget(&exceeded).await);
        }
        if (self.owned.open_round.is_some() || is_answered)
            && let Break(answer) = Box::pin(self.run_round()).await?
        {
            return Ok(answer);
        }
        loop {
            let composed = self.compose().await?;
            // Boxed: few orgs have budgets.
            if let Some(exceeded) = Box::pin(self.check_budgets()).await? {
                return Ok(self.on_exceeded_budget(&exceeded).await);
            }
            let next = match self.call_model(composed).await? {
                CallOutcome::Answer(reply, info) => Break(self.on_answer(&reply, info).await),
                CallOutcome::ToolCalls(reply, info) => self.on_tools(reply, info).await?,
                CallOutcome::Failure(failure) => self.on_failure(*failure).await,
            };
            if let Break(answer) = next {
                return Ok(answer);
            }
        }
    }

    /// Composes the next request, and first compacts the history that it leaves out, if that is enabled and not done
    /// yet. The request depends on the summary, so nothing runs concurrently.
    async fn compose(&mut self) -> Result<ComposedRequest, Interruption> {
        let Self { deps, owned, spec, state, conversation, .. } = self;
        if conversation.missing_data(spec, state).history.is_some() {
            self.stream.status(&owned.turn, round(state), Phase::RebuildingHistory);
        }
        let composed = compose(*deps, owned, spec, state, conversation).await?;
        let Some(range) = composed.compaction else { return Ok(composed) };
        // Boxed: few requests leave anything out.
        let raw = Box::pin(compact(*deps, owned, spec, range, state, conversation)).await?;
        self.raw_payloads.extend(raw);
        Ok(compose(*deps, owned, spec, state, conversation).await?)
    }

    /// Returns the budget that the next model call would exceed, if any. It is expected to use as much as the last one.
    async fn check_budgets(&mut self) -> Result<Option<ExceededBudget>, Interruption> {
        if self.state.totals.model_calls == 0 {
            // The start has checked.
            return Ok(None);
        }
        let used = budget_check::used(&self.state.totals, &self.spec);
        let (next, reserved) = (self.last_call, &mut self.reserved);
        Ok(budget_check::check(self.deps, &self.owned.turn, &self.spec, reserved, (used, next)).await?)
    }

    /// Ends the turn because a budget is used up. The text before the last tool calls is its partial answer.
    async fn on_exceeded_budget(&mut self, exceeded: &ExceededBudget) -> Answer {
        let (turn, now) = (&self.owned.turn, self.deps.host().now());
        let state = std::mem::take(&mut self.state);
        let written = state.rounds.last.as_ref().map(|round| round.message.text.clone()).unwrap_or_default();
        let partial = guard_text(turn, &written, self.spec.settings.answer_format()).await;
        exceeded.log(&turn.key, &turn.requested_by, ErrorCode::TurnOverBudget);
        let failed = answer::failed(exceeded.error(ErrorCode::TurnOverBudget, now), state, &self.spec, now);
        failed.with_partial_answer(&turn.key, partial).with_optional_files(self.take_optional_files())
    }

    /// Calls the model. Concurrently records the turn's progress, and stores the optional files of the last round.
    async fn call_model(
        &mut self,
        ComposedRequest { request, prompt_state, compaction: _ }: ComposedRequest,
    ) -> Result<CallOutcome, OwnershipLost> {
        let (turn, round) = (&self.owned.turn, round(&self.state));
        // Don't pay for a model call if the turn has a new owner or is settled.
        lease::ensure_owned(self.deps, self.owned).await?;
        self.stream.status(turn, round, Phase::Thinking);
        self.raw_payloads.append(&mut self.long_values);
        let provider = request.store.then(|| self.models.provider_id(&self.spec));
        let meter = self.owned.spending.begin_call(&mut self.state.totals, &self.spec, &request, provider);
        let beside = join(
            record_step(self.deps, self.owned, &self.spec, &self.state, self.already_recorded),
            store_optional_files(self.deps.payloads(), &self.raw_payloads),
        );
        let capture = self.spec.store_raw_payloads;
        let (reply, mut call) =
            ModelCall::run(self.deps, self.owned, (&request, capture, meter), (self.stream, round), beside)
                .await;
        let before = budget_check::used(&self.state.totals, &self.spec);
        let info = call.record(turn, &self.spec, &mut self.state.totals);
        self.owned.spending.record(&self.state.totals, &self.spec);
        self.last_call = budget_check::used(&self.state.totals, &self.spec).beyond(before);
        let captured = call.raw_payloads.take();
        self.raw_payloads =
            captured.map_or_else(Vec::new, |raw| answer::raw_payloads(turn, info.number, raw));
        let reply = match reply {
            Ok(reply) if self.conversation.lost_context(&self.spec, &request, &reply) => {
                Err(Error::ChainLost)
            }
            other => other,
        };
        Ok(match reply {
            Err(error) => CallOutcome::Failure(Box::new(Failure { error, request, call, info })),
            Ok(mut reply) => {
                self.record_reply(&mut reply, &request, prompt_state);
                match reply.calls.is_empty() {
                    true => CallOutcome::Answer(reply, info),
                    false => CallOutcome::ToolCalls(reply, info),
                }
            }
        })
    }

    /// Records what a reply shows, for the next request and the report.
    fn record_reply(&mut self, reply: &mut Reply, request: &Request, prompt_state: PromptState) {
        let (state, spec, stream) = (&mut self.state, &self.spec, self.stream);
        let provider = self.models.provider_id(spec);
        for capability in self.conversation.record_reply(spec, request, reply, state) {
            self.models.record(spec, capability);
        }
        state.prompt = prompt_state;
        state.chain.response_id = Some(std::mem::take(&mut reply.response_id));
        state.chain.reply = Some(ReplyInfo {
            previous_response_id: request.previous_response_id().map(str::to_owned),
            provider,
            model: spec.route.model.clone(),
            response_model: Some(std::mem::take(&mut reply.model)).filter(|model| !model.is_empty()),
            received_at: self.deps.host().now(),
        });
        if reply.is_truncated {
            state.effects.warn(TOKEN_LIMIT_REACHED);
        }
        if reply.replaces_stream {
            stream.reset(ResetReason::Restated);
            stream.push_text(&self.owned.turn.key, &reply.text);
        }
    }

    /// Prepares another request, or ends the turn as failed.
    async fn on_failure(&mut self, Failure { error, request, call, info }: Failure) -> ControlFlow<Answer> {
        let (turn, time_left) = (&self.owned.turn, self.owned.time_left(self.deps));
        let failed = FailedCall { error: &error, request: &request, has_output: call.has_output, time_left };
        let Self { models, spec, state, conversation, .. } = self;
        if try_recover(*models, turn, &failed, spec, state, conversation) {
            self.stream.reset(ResetReason::Retry);
            self.stream.status(turn, round(state), Phase::Retrying);
            return Continue(());
        }
        tracing::warn!(%error, "{}", contracts::log::TURN_MODEL_FAILED);
        let mut state = std::mem::take(state);
        state.chain.response_id = call.failed_response_id.or(state.chain.response_id);
        let partial = guard_text(turn, &call.written, self.spec.settings.answer_format()).await;
        let now = self.deps.host().now();
        let error = answer::client_error_for(&error, &request.message, call.failure.as_deref());
        let failed = answer::failed(error, state, &self.spec, now).with_model_call(info);
        Break(failed.with_partial_answer(&turn.key, partial).with_optional_files(self.take_optional_files()))
    }

    /// Ends the turn with the reply as its answer.
    async fn on_answer(&mut self, reply: &Reply, info: ModelCallInfo) -> Answer {
        let (turn, host, timing) = (&self.owned.turn, self.deps.host(), self.deps.timing());
        answer::check_text_format(&reply.text, &self.spec, &mut self.state);
        let state = std::mem::take(&mut self.state);
        let mode = self.owned.catalog.display_name(state.effects.mode(turn));
        let text = guard_text(turn, &reply.text, self.spec.settings.answer_format()).await;
        let answer = answer::completed(turn, &mode, text, state, &self.spec, host.now(), timing)
            .with_model_call(info)
            .with_segment(self.stream.segment())
            .with_parts(reply);
        let mut optional_files = self.take_optional_files();
        optional_files.extend(self.conversation.history_snapshot(turn, &self.spec, &answer.outcome));
        answer.with_optional_files(optional_files)
    }

    /// Runs the server's tools. Suspends the turn if the reply also calls tools of the client.
    async fn on_tools(
        &mut self,
        reply: Reply,
        info: ModelCallInfo,
    ) -> Result<ControlFlow<Answer>, Interruption> {
        let turn = &self.owned.turn;
        self.stream.reset(ResetReason::Tools);
        if self.state.rounds.count >= self.spec.tools.max_rounds {
            let (error, state) = (answer::tool_rounds_exceeded(&self.spec), std::mem::take(&mut self.state));
            let failed = answer::failed(error, state, &self.spec, self.deps.host().now());
            return Ok(Break(failed.with_optional_files(self.take_optional_files())));
        }
        let message = AssistantMessage {
            text: reply.text,
            text_parts: reply.text_parts,
            text_file: None,
            reasoning: reply.reasoning,
            hosted: reply.hosted,
            model: self.spec.route.model.clone(),
            provider: self.models.provider_id(&self.spec),
            wire: Some(self.conversation.wire()),
        };
        self.state.start_round(&turn.key, reply.calls, message, info);
        self.run_round().await
    }

    /// Runs the server's tools of the last round. Suspends the turn if the client has calls to run, or people to approve.
    async fn run_round(&mut self) -> Result<ControlFlow<Answer>, Interruption> {
        let (turn, round) = (&self.owned.turn, self.state.rounds.count);
        tools::run(self.deps, self.owned, &self.spec, &mut self.state, self.stream).await?;
        self.long_values = long_values(turn, &self.state);
        let phase = match self.state.rounds.pending_calls().next() {
            Some(_) => Phase::WaitingForTools,
            None if is_held(&self.state) => Phase::WaitingForApproval,
            None => return Ok(Continue(())),
        };
        self.stream.status(turn, round, phase);
        let (state, spec) = (std::mem::take(&mut self.state), self.spec.clone());
        let mode = self.owned.catalog.display_name(state.effects.mode(turn));
        let written = state.rounds.last.as_ref().map(|round| round.message.text.clone()).unwrap_or_default();
        let text = guard_text(turn, &written, spec.settings.answer_format()).await;
        let suspended = answer::suspended(turn, &mode, text, state, spec, self.deps.host().now());
        Ok(Break(suspended.with_optional_files(self.take_optional_files())))
    }

    /// Takes the files to store with the outcome.
    fn take_optional_files(&mut self) -> Vec<File> {
        let mut files = std::mem::take(&mut self.raw_payloads);
        files.append(&mut self.long_values);
        files
    }
}

/// True if the last round's calls of the service wait for approvals, or have just been answered.
fn is_held(state: &AttemptState) -> bool {
    state.rounds.held_calls().next().is_some()
}

/// Returns the number of the round that the next model call belongs to.
fn round(state: &AttemptState) -> u32 {
    state.rounds.count.saturating_add(1)
}

/// Returns the long values of the last round, to be stored while the next model call runs.
fn long_values(turn: &Turn, state: &AttemptState) -> Vec<File> {
    state.rounds.last.as_ref().map_or_else(Vec::new, |round| answer::long_values(&turn.key, round))
}

/// Filters embedded files out of a reply's text, and puts JSON into a fence. Yields between steps, so that the lease renewal can run.
async fn guard_text(turn: &Turn, text: &str, format: AnswerFormat) -> FilteredText {
    let url_of = |blob: &Blob| embedded_link(&turn.key, blob);
    filter_in_chunks(text, format, url_of, tokio::task::yield_now).await
}

/// Stores files that nothing refers to. A failure is only logged.
pub(crate) async fn store_optional_files(payloads: &impl Payloads, files: &[File]) {
    let puts = files.iter().map(|file| payloads.put_file(file));
    for stored in join_all(puts).await {
        if let Err(error) = stored {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::RAW_PAYLOAD_NOT_STORED);
        }
    }
}

/// Records the turn's progress, if it is further than at the start of the attempt. This runs concurrently with
/// the model call and adds no latency. If it fails, a takeover repeats the step.
pub(super) async fn record_step(
    deps: &impl Deps,
    owned: &OwnedTurn,
    spec: &TurnSpec,
    state: &AttemptState,
    already_recorded: u32,
) {
    let (turn, number) = (&owned.turn, state.recovery_points());
    if number == already_recorded {
        return;
    }
    let recovery_point = RecoveryPoint { spec: spec.clone(), state: state.clone() };
    let kind = Kind::Step(turn.attempt.clone(), number);
    let body = Bytes::from(serde_json::to_vec(&recovery_point).unwrap_or_default());
    let payload = Payload { turn: turn.key.clone(), kind };
    match deps.payloads().put(&payload, body).await {
        Ok(()) => owned.set_recorded(Some(StepRef { attempt: turn.attempt.clone(), step: number })),
        Err(error) => tracing::warn!(error = %causes(&error), "{}", contracts::log::STEP_NOT_STORED),
    }
}
