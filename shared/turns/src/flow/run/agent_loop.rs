//! The agent loop: model → server tools → model …, until there is an answer, an error, or calls for the client.
//!
//! The loop is resumable at every step: the results of a step are recorded while the next model call runs, and a
//! takeover continues from there. After a crash, server tools can run twice, under different call ids. Their effects
//! are pure, staged, or addressed by content (rule 8).

use std::time::Duration;

use agent::{
    attempt::{AttemptState, RecoveryPoint, ReplyInfo, TurnSpec, millis},
    history::rounds::{AssistantMessage, ModelCallInfo, ToolCallRecord},
    model::{Error, FunctionCall, Model, Observer},
    outcome::answer::{self, Answer, File, embedded_link},
    output_filter::{Blob, FilteredText, filter_in_chunks},
    prompt::compose::ComposedRequest,
    retrieval::SEARCH_SKIPPED,
    tool::{self, Effect, ExecutedBy, ExecutedCall, Limits, PublishFile, ToolError},
};
use bytes::Bytes;
use contracts::{
    error::causes,
    read::RanBy,
    request::UserTurn,
    response::FileRef,
    stream::{Phase, ResetReason},
};
use futures::future::{join, join3};
use protocol::{
    payload::{Kind, Payload},
    turn::{StepRef, Turn},
};

use crate::flow::{
    executor::Executor,
    owned_turn::OwnedTurn,
    run::{
        fallback::FailedCall,
        optional_files,
        retrieve::RetrievalSkipped,
        watch::{self, OwnershipLost},
    },
};
use crate::{
    ports::{AgentDeps, Clock, Payloads, Timer, Unavailable},
    stream::Writer,
};

/// The most bytes to keep of an answer that breaks off.
const MAX_PARTIAL_BYTES: usize = 1 << 20;

/// The starting point of an attempt.
pub(in crate::flow) struct AttemptStart<'a> {
    /// The user's request, if the attempt starts with it.
    pub(in crate::flow) request: Option<&'a UserTurn>,
    /// The resolved settings, and the progress of earlier attempts.
    pub(in crate::flow) recovery_point: RecoveryPoint,
}

/// The reason why an attempt ended without an outcome of its own.
#[derive(Debug)]
pub(in crate::flow) enum Interruption {
    /// Another attempt owns the turn, or it is settled.
    OwnershipLost,
    /// Required parts of the prompt can't be read.
    Unavailable(Unavailable),
}

impl From<OwnershipLost> for Interruption {
    fn from(_: OwnershipLost) -> Self {
        Self::OwnershipLost
    }
}

impl From<Unavailable> for Interruption {
    fn from(error: Unavailable) -> Self {
        Self::Unavailable(error)
    }
}

impl<D: AgentDeps> Executor<D> {
    /// Runs the loop until the turn has an outcome.
    pub(in crate::flow) async fn run_agent_loop(
        &self,
        owned: &OwnedTurn,
        start: AttemptStart<'_>,
        stream: &Writer,
    ) -> Result<Answer, Interruption> {
        let (turn, RecoveryPoint { mut spec, mut state }) = (&owned.turn, start.recovery_point);
        let (config, host) = (self.deps.config(), self.deps.host());
        let mut conversation = self.new_conversation(turn, &spec, &state, start.request.cloned());
        let (already_recorded, mut raw) = (state.recovery_points(), Vec::new());
        let mut long = long_values(turn, &state);
        loop {
            let round = state.rounds.count.saturating_add(1);
            if conversation.missing_data(&spec, &state).history.is_some() {
                stream.status(turn, round, Phase::RebuildingHistory);
            }
            let (composed, compaction_raw) =
                self.compose_with_compaction(owned, &spec, &mut state, &mut conversation).await?;
            let ComposedRequest { request, prompt_state, compaction: _ } = composed;
            raw.extend(compaction_raw);
            // Don't pay for a model call if the turn has a new owner or is settled.
            watch::ensure_owned(&self.deps, owned).await?;
            stream.status(turn, round, Phase::Thinking);
            let (started, requested_at) = (host.monotonic(), host.now());
            let (mut first_text, mut written) = (None, String::new());
            let mut on_text = |delta: &str| {
                first_text.get_or_insert_with(|| host.monotonic().saturating_sub(started));
                if written.len() < MAX_PARTIAL_BYTES {
                    written.push_str(delta);
                }
                stream.push_text(&turn.key, delta);
            };
            let mut on_pause = |pause: Option<Duration>| match pause {
                Some(pause) => stream.retrying(turn, round, pause),
                None => stream.status(turn, round, Phase::Thinking),
            };
            let mut observer = Observer::new(&mut on_text)
                .with_pauses(&mut on_pause)
                .with_raw_payloads(spec.store_raw_payloads);
            let reply = self.deps.model().reply(&request, self.time_left(owned), &mut observer);
            let recording = self.record_step(owned, &spec, &state, already_recorded);
            let reply_timed = async { (reply.await, host.monotonic().saturating_sub(started)) };
            raw.append(&mut long);
            let (reply, elapsed) =
                join3(reply_timed, recording, optional_files::store(self.deps.payloads(), &raw)).await.0;
            let Observer { usage, has_output, failed_response_id: failed_id, raw: captured, .. } = observer;
            state.totals.add_model_call(usage, elapsed, first_text);
            let model_call = ModelCallInfo {
                attempt_id: turn.attempt.clone(),
                attempt_number: turn.takeovers.saturating_add(1),
                requested_at,
                duration_ms: millis(elapsed),
                usage,
                number: state.totals.model_calls,
                has_raw_payloads: spec.store_raw_payloads,
                has_long_values: true,
                recovery_point: 0,
            };
            raw = captured
                .map_or_else(Vec::new, |raw| answer::raw_payloads(turn, state.totals.model_calls, raw));
            let reply = match reply {
                Ok(reply) if conversation.lost_context(&spec, &request, &reply) => Err(Error::ChainLost),
                other => other,
            };
            let reply = match reply {
                Ok(reply) => reply,
                Err(error) => {
                    let failed = FailedCall { error: &error, request: &request, has_output };
                    if self.try_recover(owned, &failed, &mut spec, &mut state, &mut conversation) {
                        stream.reset(ResetReason::Retry);
                        stream.status(turn, round, Phase::Retrying);
                        continue;
                    }
                    tracing::warn!(%error, "{}", contracts::log::TURN_MODEL_FAILED);
                    state.chain.response_id = failed_id.or(state.chain.response_id);
                    let partial = guard_text(turn, &written).await;
                    let failed = answer::failed(answer::client_error(&error), state, &spec, host.now())
                        .with_model_call(model_call);
                    return Ok(failed.with_partial_answer(&turn.key, partial).with_optional_files(raw));
                }
            };
            let provider = self.provider_id(&spec);
            for capability in conversation.record_reply(&spec, &request, &reply, &mut state) {
                self.capabilities.record(&provider, capability);
            }
            state.prompt = prompt_state;
            state.chain.response_id = Some(reply.response_id);
            state.chain.reply = Some(ReplyInfo {
                previous_response_id: request.previous_response_id().map(str::to_owned),
                provider: provider.clone(),
                model: spec.route.model.clone(),
                response_model: Some(reply.model).filter(|model| !model.is_empty()),
                received_at: host.now(),
            });
            if reply.is_truncated {
                state.effects.warn(answer::TOKEN_LIMIT_REACHED);
            }
            if reply.replaces_stream {
                stream.reset(ResetReason::Restated);
                stream.push_text(&turn.key, &reply.text);
            }
            if reply.calls.is_empty() {
                answer::check_text_format(&reply.text, &spec, &mut state);
                let mode = config.catalog.display_name(state.effects.mode(turn));
                let text = guard_text(turn, &reply.text).await;
                let (now, timing) = (host.now(), self.deps.timing());
                let answer = answer::completed(turn, &mode, text, state, &spec, now, timing)
                    .with_model_call(model_call);
                return Ok(answer.with_segment(stream.segment()).with_optional_files(raw));
            }
            stream.reset(ResetReason::Tools);
            if state.rounds.count >= spec.tools.max_rounds {
                let error = answer::tool_rounds_exceeded(&spec);
                return Ok(answer::failed(error, state, &spec, host.now()).with_optional_files(raw));
            }
            let message = AssistantMessage {
                text: reply.text.clone(),
                text_file: None,
                reasoning: reply.reasoning,
                hosted: reply.hosted,
                model: spec.route.model.clone(),
                provider,
            };
            state.start_round(reply.calls, message, model_call);
            state = self.run_tools(owned, &spec, state, stream).await?;
            long = long_values(turn, &state);
            if state.rounds.pending_calls().next().is_some() {
                stream.status(turn, round, Phase::WaitingForTools);
                let mode = config.catalog.display_name(state.effects.mode(turn));
                let text = guard_text(turn, &reply.text).await;
                let now = host.now();
                raw.append(&mut long);
                return Ok(answer::suspended(turn, &mode, text, state, spec, now).with_optional_files(raw));
            }
        }
    }

    /// Returns the time left for models and tools before the turn must be settled.
    pub(in crate::flow) fn time_left(&self, owned: &OwnedTurn) -> Duration {
        let settle_by = owned.scope.deadline.saturating_sub(self.deps.timing().settle_reserve);
        settle_by.saturating_sub(self.deps.host().monotonic())
    }

    /// Records the turn's progress, if it is further than at the start of the attempt. This runs concurrently with
    /// the model call and adds no latency. If it fails, a takeover repeats the step.
    async fn record_step(
        &self,
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
        match self.deps.payloads().put(&payload, body).await {
            Ok(()) => owned.set_recorded(Some(StepRef { attempt: turn.attempt.clone(), step: number })),
            Err(error) => tracing::warn!(error = %causes(&error), "{}", contracts::log::STEP_NOT_STORED),
        }
    }

    /// Runs the server's tools, rejects calls that match no tool, and leaves the client's calls open.
    ///
    /// Tools are limited to the time that the turn has left. Ownership is checked while they run, because their
    /// effects and the next model call require it.
    async fn run_tools(
        &self,
        owned: &OwnedTurn,
        spec: &TurnSpec,
        mut state: AttemptState,
        stream: &Writer,
    ) -> Result<AttemptState, OwnershipLost> {
        let (turn, config, host) = (&owned.turn, self.deps.config(), self.deps.host());
        let limits = Limits::default().capped_at(self.time_left(owned));
        let calls: Vec<FunctionCall> = state.rounds.calls().iter().map(ToolCallRecord::to_call).collect();
        let routes = tool::route_calls(&spec.tools.definitions, &calls, &limits);
        let is_server = |(call, routes)| (routes == &ExecutedBy::Server).then_some(call);
        let server_calls: Vec<FunctionCall> =
            calls.iter().zip(&routes).filter_map(is_server).cloned().collect();
        let facts = config.facts(state.effects.mode(turn));
        server_calls.iter().take(limits.calls).for_each(|call| stream.tool(turn, state.rounds.count, call));
        let running =
            tool::run_calls(&config.tools, &spec.tools.definitions, &server_calls, &facts, &limits, host);
        let ownership = async {
            match server_calls.is_empty() {
                true => Ok(()),
                false => watch::check_briefly(&self.deps, owned).await,
            }
        };
        let (executed, ownership) = join(running, ownership).await;
        ownership?;
        let before = state.effects.modes.len();
        let (mut finished, mut searches) = (Vec::new(), 0);
        for executed in executed {
            searches += usize::from(executed.has_search());
            if executed.has_search() && searches > tool::MAX_SEARCHES {
                finished.push(executed.into_failed(&tool::search_limit_message()));
                continue;
            }
            if !executed.effects.is_empty() {
                watch::ensure_owned(&self.deps, owned).await?;
            }
            finished.push(self.apply_effects(owned, spec, executed, &mut state).await);
        }
        if state.effects.modes.len() > before
            && let Some(last) = state.effects.modes.last().cloned()
        {
            if state.effects.modes.len() > 1 {
                let warning = tool::multiple_changes_warning(&last);
                tracing::warn!(warning, "{}", contracts::log::MODE_CHANGED_REPEATEDLY);
                state.effects.warnings.push(warning);
            }
            state.effects.warnings.extend(tool::branch_suggestion(&last));
        }
        state.effects.tool_results.extend(finished.iter().map(ExecutedCall::result));
        let durations = finished.iter().map(|executed| executed.execution_ms);
        state.totals.server_tool_ms = durations.fold(state.totals.server_tool_ms, u64::saturating_add);
        for (call, routes) in state.rounds.calls_mut().iter_mut().zip(&routes) {
            call.ran_by = Some(match routes {
                ExecutedBy::Server => RanBy::Server,
                ExecutedBy::Client => RanBy::Client,
            });
        }
        let server_records = state
            .rounds
            .calls_mut()
            .iter_mut()
            .zip(routes)
            .filter(|(_, routes)| *routes == ExecutedBy::Server);
        for ((call, _), executed) in server_records.zip(finished) {
            (call.outcome, call.execution_ms) = (Some(executed.outcome), Some(executed.execution_ms));
        }
        Ok(state)
    }

    /// Applies the effects of a tool call. The call fails if an effect can't be applied.
    async fn apply_effects(
        &self,
        owned: &OwnedTurn,
        spec: &TurnSpec,
        mut executed: ExecutedCall,
        state: &mut AttemptState,
    ) -> ExecutedCall {
        let turn = &owned.turn;
        for effect in std::mem::take(&mut executed.effects) {
            match effect {
                Effect::SearchSources(query) => {
                    let time_left = self.time_left(owned);
                    match Box::pin(self.search_for_model(
                        turn,
                        spec.inputs.sources.as_ref(),
                        &query,
                        time_left,
                    ))
                    .await
                    {
                        Ok(result) => {
                            state.add_chunks(result.refs);
                            executed = executed.with_result(&result.result);
                        }
                        Err(RetrievalSkipped) => {
                            state.effects.warn(SEARCH_SKIPPED);
                            return executed.into_failed(&ToolError::Unavailable("The index").to_string());
                        }
                    }
                }
                Effect::StageMode(change) => {
                    if !state.effects.stage_mode(change.into_staged(self.deps.host().now())) {
                        return executed.into_failed(&tool::mode_change_limit_message());
                    }
                }
                Effect::Warn(warning) => state.effects.warnings.push(warning),
                Effect::PublishFile(file) => match self.publish_file(turn, &file).await {
                    Ok(file) => state.effects.files.push(file),
                    Err(error) => {
                        tracing::warn!(error = %causes(&error), "{}", contracts::log::PUBLISHED_FILE_NOT_STORED);
                        return executed.into_failed("The file could not be stored. Try again.");
                    }
                },
            }
        }
        executed
    }

    /// Stores a published file under its content's hash, which is idempotent.
    async fn publish_file(&self, turn: &Turn, file: &PublishFile) -> Result<FileRef, Unavailable> {
        let (stored, file) = answer::published_file(&turn.key, file);
        self.deps.payloads().put_file(&stored).await?;
        Ok(file)
    }
}

/// Returns the long values of the last round, to be stored while the next model call runs.
fn long_values(turn: &Turn, state: &AttemptState) -> Vec<File> {
    state.rounds.last.as_ref().map_or_else(Vec::new, |round| answer::long_values(&turn.key, round))
}

/// Filters embedded files out of a reply's text. Yields between steps, so that the lease renewal can run.
async fn guard_text(turn: &Turn, text: &str) -> FilteredText {
    let url_of = |blob: &Blob| embedded_link(&turn.key, blob);
    filter_in_chunks(text, url_of, tokio::task::yield_now).await
}
