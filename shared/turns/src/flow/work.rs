//! Work: model → server tools → model … until there is an answer, an error, or calls for the client.
//!
//! Resumable at every step: what was executed is recorded beside the next model call, so a takeover goes
//! on from there. Server tools can run twice after a crash, under different call ids; their effects are
//! pure, staged, or addressed by content (rule 8).

use std::time::Duration;

use agent::{
    answer::{self, Answer, File, embedded_link},
    call::{Beside, CallRecord, Made},
    compose::Composed,
    guard::{Blob, Guarded, guard_in_steps},
    model::{Error, FunctionCall, Model, Observer},
    progress::{Plan, Progress, Step, millis},
    retrieval::SKIPPED,
    tool::{self, Effect, Executed, ExecutedBy, Failure, Limits, PublishFile},
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
    turn::{Recorded, Turn},
};

use super::{
    executor::Executor,
    fallback::Failed,
    owned_turn::OwnedTurn,
    retrieve::Skipped,
    watch::{self, Lost},
};
use crate::{
    ports::{AgentDeps, Clock, Payloads, Timer, Unavailable},
    stream::Writer,
};

/// How much of an answer that breaks off is kept, in bytes.
const MOST_PARTIAL: usize = 1 << 20;

/// Where an attempt begins.
pub(super) struct Work<'a> {
    /// The user's request, where the attempt begins with it.
    pub(super) request: Option<&'a UserTurn>,
    /// The set-up, and how far earlier attempts came.
    pub(super) step: Step,
}

/// Why an attempt came to nothing of its own.
#[derive(Debug)]
pub(super) enum Stopped {
    /// Its turn is somebody else's, or decided.
    Lost,
    /// What it has to tell the model can't be read.
    Unavailable(Unavailable),
}

impl From<Lost> for Stopped {
    fn from(_: Lost) -> Self {
        Self::Lost
    }
}

impl From<Unavailable> for Stopped {
    fn from(error: Unavailable) -> Self {
        Self::Unavailable(error)
    }
}

impl<D: AgentDeps> Executor<D> {
    /// Works on the turn until it comes to something.
    pub(super) async fn work(
        &self,
        owned: &OwnedTurn,
        work: Work<'_>,
        stream: &Writer,
    ) -> Result<Answer, Stopped> {
        let (turn, Step { mut plan, mut progress }) = (&owned.turn, work.step);
        let (config, host) = (self.deps.config(), self.deps.host());
        let mut conversation = self.conversation(turn, &plan, &progress, work.request.cloned());
        let (began, mut raw) = (progress.steps(), Vec::new());
        let mut long = long_values(turn, &progress);
        loop {
            let round = progress.rounds.saturating_add(1);
            if conversation.missing(&plan, &progress).earlier.is_some() {
                stream.status(turn, round, Phase::RebuildingHistory);
            }
            let (composed, of_summary) =
                self.composed(owned, &plan, &mut progress, &mut conversation).await?;
            let Composed { request, told_solution, due: _ } = composed;
            raw.extend(of_summary);
            // Nobody may pay for a turn that is somebody else's, or decided.
            watch::still_owns(&self.deps, owned).await?;
            stream.status(turn, round, Phase::Thinking);
            let (asked, asked_at) = (host.monotonic(), host.now());
            let (mut first_text, mut wrote) = (None, String::new());
            let mut deltas = |piece: &str| {
                first_text.get_or_insert_with(|| host.monotonic().saturating_sub(asked));
                if wrote.len() < MOST_PARTIAL {
                    wrote.push_str(piece);
                }
                stream.text(&turn.key, piece);
            };
            let mut pauses = |pause: Option<Duration>| match pause {
                Some(pause) => stream.retrying(turn, round, pause),
                None => stream.status(turn, round, Phase::Thinking),
            };
            let mut observer =
                Observer::of(&mut deltas).telling_pauses(&mut pauses).keeping_raw(plan.store_raw_payloads);
            let reply = self.deps.model().reply(&request, self.time_left(owned), &mut observer);
            let recorded = self.record(owned, &plan, &progress, began);
            let timed = async { (reply.await, host.monotonic().saturating_sub(asked)) };
            raw.append(&mut long);
            let (reply, took) = join3(timed, recorded, self.keep(&raw)).await.0;
            progress.model_calls += 1;
            progress.spent(observer.usage);
            let made = Made {
                by: turn.attempt.clone(),
                attempt: turn.takeovers.saturating_add(1),
                asked: asked_at,
                ms: millis(took),
                usage: observer.usage,
                call: progress.model_calls,
                raw: plan.store_raw_payloads,
                long_values: true,
                step: 0,
            };
            let (has_output, failed_id) = (observer.has_output, observer.failed_id);
            raw = observer.raw.map_or_else(Vec::new, |raw| answer::raw(turn, progress.model_calls, raw));
            progress.waited(took, first_text);
            let reply = match reply {
                Ok(reply) if conversation.is_forgotten(&plan, &request, &reply) => Err(Error::ChainLost),
                other => other,
            };
            let reply = match reply {
                Ok(reply) => reply,
                Err(error) => {
                    let failed = Failed { error: &error, request: &request, has_output };
                    if self.recovers(owned, &failed, &mut plan, &mut progress, &mut conversation) {
                        stream.reset(ResetReason::Retry);
                        stream.status(turn, round, Phase::Retrying);
                        continue;
                    }
                    tracing::warn!(%error, "the model call failed");
                    progress.response_id = failed_id.or(progress.response_id);
                    progress.ended = Some(made);
                    let partial = guarded(turn, &wrote).await;
                    let failed = answer::failed(answer::failure(&error), progress, &plan, host.now());
                    return Ok(failed.with_partial(&turn.key, partial).beside(raw));
                }
            };
            let provider = self.provider(&plan);
            for lesson in conversation.replied(&plan, &request, &reply, &mut progress) {
                self.learned.take_in(&provider, lesson);
            }
            progress.received = Some(host.now());
            progress.previous_response_id = request.previous_response_id().map(str::to_owned);
            progress.told_mode = Some(request.message.mode);
            progress.told_solution = told_solution;
            progress.model = Some(reply.model).filter(|model| !model.is_empty());
            progress.response_id = Some(reply.response_id);
            if reply.cut_short {
                progress.warn(answer::CUT_SHORT);
            }
            if reply.restated {
                stream.reset(ResetReason::Restated);
                stream.text(&turn.key, &reply.text);
            }
            (progress.provider, progress.asked) = (Some(provider.clone()), Some(plan.model.clone()));
            if reply.calls.is_empty() {
                answer::check_form(&reply.text, &plan, &mut progress);
                progress.ended = Some(made);
                let mode = config.catalog.display_name(progress.mode(turn));
                let text = guarded(turn, &reply.text).await;
                let (now, timing) = (host.now(), self.deps.timing());
                let answer = answer::answered(turn, &mode, text, progress, &plan, now, timing);
                return Ok(answer.streamed(stream.segment()).beside(raw));
            }
            stream.reset(ResetReason::Tools);
            if progress.rounds >= plan.max_rounds {
                let error = answer::too_many_rounds(&plan);
                return Ok(answer::failed(error, progress, &plan, host.now()).beside(raw));
            }
            progress.rounds += 1;
            let beside = Beside {
                text: reply.text.clone(),
                whole_text: None,
                reasoning: reply.reasoning,
                hosted: reply.hosted,
                model: plan.model.clone(),
                provider,
            };
            progress.begin_round(reply.calls, beside, made);
            progress = self.run_tools(owned, &plan, progress, stream).await?;
            long = long_values(turn, &progress);
            if progress.pending().next().is_some() {
                stream.status(turn, round, Phase::WaitingForTools);
                let mode = config.catalog.display_name(progress.mode(turn));
                let text = guarded(turn, &reply.text).await;
                let now = host.now();
                raw.append(&mut long);
                return Ok(answer::suspended(turn, &mode, text, progress, plan, now).beside(raw));
            }
        }
    }

    /// What the turn has left for models and tools, before it must be settled.
    pub(super) fn time_left(&self, owned: &OwnedTurn) -> Duration {
        let settle_by = owned.term.ends.saturating_sub(self.deps.timing().settle_reserve);
        settle_by.saturating_sub(self.deps.host().monotonic())
    }

    /// Records how far the turn has come, if that is further than the attempt began. It costs nobody a wait;
    /// should it fail, a takeover takes the step again.
    async fn record(&self, owned: &OwnedTurn, plan: &Plan, progress: &Progress, began: u32) {
        let (turn, number) = (&owned.turn, progress.steps());
        if number == began {
            return;
        }
        let step = Step { plan: plan.clone(), progress: progress.clone() };
        let kind = Kind::Step(turn.attempt.clone(), number);
        let body = Bytes::from(serde_json::to_vec(&step).unwrap_or_default());
        let payload = Payload { turn: turn.key.clone(), kind };
        match self.deps.payloads().put(&payload, body).await {
            Ok(()) => owned.has_recorded(Some(Recorded { by: turn.attempt.clone(), step: number })),
            Err(error) => tracing::warn!(error = %causes(&error), "a step could not be recorded"),
        }
    }

    /// Runs what the server runs, refuses what fits no tool, and leaves the client's calls open.
    ///
    /// No tool outlasts what the turn has left. The head is looked at beside them: their effects, and the
    /// next model call, are for a turn that is the attempt's still.
    async fn run_tools(
        &self,
        owned: &OwnedTurn,
        plan: &Plan,
        mut progress: Progress,
        stream: &Writer,
    ) -> Result<Progress, Lost> {
        let (turn, config, host) = (&owned.turn, self.deps.config(), self.deps.host());
        let limits = Limits::default().within(self.time_left(owned));
        let calls: Vec<FunctionCall> = progress.calls.iter().map(CallRecord::to_run).collect();
        let by = tool::answerers(&plan.tools, &calls, &limits);
        let is_ours = |(call, by)| (by == &ExecutedBy::Server).then_some(call);
        let ours: Vec<FunctionCall> = calls.iter().zip(&by).filter_map(is_ours).cloned().collect();
        let facts = config.facts(progress.mode(turn));
        ours.iter().take(limits.calls).for_each(|call| stream.tool(turn, progress.rounds, call));
        let running = tool::run_all(&config.tools, &plan.tools, &ours, &facts, &limits, host);
        let seen = async {
            match ours.is_empty() {
                true => Ok(()),
                false => watch::look_for_a_moment(&self.deps, owned).await,
            }
        };
        let (executed, seen) = join(running, seen).await;
        seen?;
        let before = progress.mode_changes();
        let (mut performed, mut searches) = (Vec::new(), 0);
        for executed in executed {
            searches += usize::from(executed.searches());
            if executed.searches() && searches > tool::MOST_SEARCHES {
                performed.push(executed.into_failed(&tool::too_many_searches()));
                continue;
            }
            if !executed.effects.is_empty() {
                watch::still_owns(&self.deps, owned).await?;
            }
            performed.push(self.perform(owned, plan, executed, &mut progress).await);
        }
        if progress.mode_changes() > before
            && let Some(last) = progress.staged_mode.clone()
        {
            if progress.mode_changes() > 1 {
                let warning = tool::several_changes(&last);
                tracing::warn!(warning);
                progress.warnings.push(warning);
            }
            progress.warnings.extend(tool::branch_note(&last));
        }
        progress.tool_results.extend(performed.iter().map(Executed::result));
        let took = performed.iter().map(|executed| executed.execution_ms);
        progress.server_tool_ms = took.fold(progress.server_tool_ms, u64::saturating_add);
        for (call, by) in progress.calls.iter_mut().zip(&by) {
            call.ran_by = Some(match by {
                ExecutedBy::Server => RanBy::Server,
                ExecutedBy::Client => RanBy::Client,
            });
        }
        let places = progress.calls.iter_mut().zip(by).filter(|(_, by)| *by == ExecutedBy::Server);
        for ((call, _), executed) in places.zip(performed) {
            (call.outcome, call.execution_ms) = (Some(executed.outcome), Some(executed.execution_ms));
        }
        Ok(progress)
    }

    /// Does what a tool wants done; the call counts as failed if that can't be.
    async fn perform(
        &self,
        owned: &OwnedTurn,
        plan: &Plan,
        mut executed: Executed,
        progress: &mut Progress,
    ) -> Executed {
        let turn = &owned.turn;
        for effect in std::mem::take(&mut executed.effects) {
            match effect {
                Effect::SearchSources(words) => {
                    let left = self.time_left(owned);
                    match Box::pin(self.search_again(turn, plan.sources.as_ref(), &words, left)).await {
                        Ok(found) => {
                            progress.used(found.refs);
                            executed = executed.with_result(&found.result);
                        }
                        Err(Skipped) => {
                            progress.warn(SKIPPED);
                            return executed.into_failed(&Failure::Unavailable("The index").to_string());
                        }
                    }
                }
                Effect::StageMode(change) => {
                    if !progress.stage(change.at(self.deps.host().now())) {
                        return executed.into_failed(&tool::too_many_changes());
                    }
                }
                Effect::Warn(warning) => progress.warnings.push(warning),
                Effect::PublishFile(file) => match self.publish(turn, &file).await {
                    Ok(file) => progress.files.push(file),
                    Err(error) => {
                        tracing::warn!(error = %causes(&error), "a published file could not be stored");
                        return executed.into_failed("The file could not be stored. Try again.");
                    }
                },
            }
        }
        executed
    }

    /// Stores a file under its content's hash: storing it again changes nothing.
    async fn publish(&self, turn: &Turn, file: &PublishFile) -> Result<FileRef, Unavailable> {
        let (stored, file) = answer::published(&turn.key, file);
        self.deps.payloads().put_file(&stored).await?;
        Ok(file)
    }
}

/// The long values of the last round, to be kept beside the next model call.
fn long_values(turn: &Turn, progress: &Progress) -> Vec<File> {
    progress.last_round().map_or_else(Vec::new, |round| answer::long_values(&turn.key, &round))
}

/// A reply's text without the files in it. Whoever keeps the lease gets a turn between two steps.
async fn guarded(turn: &Turn, text: &str) -> Guarded {
    let url_of = |blob: &Blob| embedded_link(&turn.key, blob);
    guard_in_steps(text, url_of, tokio::task::yield_now).await
}
