//! Runs the tools of a reply, and applies their effects: searches, changes of mode and published files.

use std::time::Duration;

use agent::{
    attempt::{AttemptState, TurnSpec},
    model::FunctionCall,
    outcome::answer,
    retrieval::{
        BUDGET, SEARCH_SKIPPED, ScopeWarning, Sources,
        context_block::{MAX_TOOL_TOKENS, ToolSearchResult, tool_search_result},
    },
    tool::{
        self, Effect, ExecutedBy, ExecutedCall, Limits, OfferedTools, PublishFile, ToolError, deferred,
        remote::RemoteTool,
        rounds::{ToolCallRecord, called_connection},
        stored_result::{self, Part, ResultId},
    },
};
use contracts::{error::causes, read::RanBy, response::FileRef};
use futures::future::join;
use protocol::turn::Turn;
use serde_json::Value;

use crate::{
    flow::{
        owned_turn::OwnedTurn,
        retrieval::{self, RetrievalSkipped, embed, log_skipped, truncate},
        run::{
            approvals::{self, Decided},
            lease::{self, Interruption, OwnershipLost},
            remote::RemoteRound,
        },
        stored_request,
    },
    ports::{AgentDeps, Host, PayloadReads, Payloads, Timer, Unavailable},
    stream::Writer,
};

/// Runs the server's tools, rejects calls that match no tool, and leaves the client's calls open. If a call waits for an
/// approval, the server's calls stay open too.
///
/// Tools are limited to the time that the turn has left. Ownership is checked while they run, because their
/// effects and the next model call require it.
pub(super) async fn run(
    deps: &impl AgentDeps,
    owned: &OwnedTurn,
    spec: &TurnSpec,
    state: &mut AttemptState,
    stream: &Writer,
) -> Result<(), Interruption> {
    let (turn, config, host) = (&owned.turn, deps.config(), deps.host());
    let limits = Limits::default().capped_at(owned.time_left(deps));
    let calls: Vec<FunctionCall> = state.rounds.calls().iter().map(ToolCallRecord::to_call).collect();
    let routes = tool::route_calls(&spec.tools.definitions, &calls, &limits);
    let is_server = |(call, routes)| (routes == &ExecutedBy::Server).then_some(call);
    let mut server_calls: Vec<FunctionCall> =
        calls.iter().zip(&routes).filter_map(is_server).cloned().collect();
    let facts = owned.catalog.facts(state.effects.mode(turn));
    let used = state.totals.tools.clone();
    let offered = OfferedTools {
        registry: &config.tools,
        definitions: &spec.tools.definitions,
        remote: &spec.tools.remote,
        used: &used,
    };
    let remote_calls = offered.remote_calls(&server_calls, &limits);
    let is_server = |(place, routes): (usize, &ExecutedBy)| (*routes == ExecutedBy::Server).then_some(place);
    let places: Vec<usize> = routes.iter().enumerate().filter_map(is_server).collect();
    // Boxed: few calls need an approval.
    let decided = Box::pin(approvals::decide(deps, owned, spec, state, (&places, &remote_calls)));
    let verdicts = match decided.await? {
        Decided::Waiting => {
            record_sides(&routes, state);
            return Ok(());
        }
        Decided::Run(verdicts) => verdicts,
    };
    for (at, arguments) in &verdicts.edited {
        if let Some(call) = server_calls.get_mut(*at) {
            call.arguments.clone_from(arguments);
        }
    }
    let server_calls = server_calls;
    let remote_calls = match verdicts.edited.is_empty() {
        true => remote_calls,
        false => offered.remote_calls(&server_calls, &limits),
    };
    server_calls.iter().take(limits.calls).for_each(|call| stream.tool(turn, state.rounds.count, call));
    // Boxed: few rounds have remote calls.
    let remote = RemoteRound::open(
        (deps, owned, stream),
        (spec, &*state),
        (&server_calls, &remote_calls),
        (&limits, verdicts),
    );
    let remote = Box::pin(remote).await?;
    let running = tool::run_calls(&offered, &server_calls, &facts, &limits, host, &remote);
    let ownership = async {
        match server_calls.is_empty() {
            true => Ok(()),
            false => lease::check_briefly(deps, owned).await,
        }
    };
    let (executed, ownership) = join(running, ownership).await;
    remote.finish(state)?;
    ownership?;
    let executed = store_long_results(deps, owned, &offered, executed).await?;
    let finished = apply_effects(deps, owned, spec, executed, state).await?;
    record(&routes, &spec.tools.remote, finished, state);
    Ok(())
}

/// Applies the effects of the calls, and logs a mode that was changed more than once.
async fn apply_effects(
    deps: &impl AgentDeps,
    owned: &OwnedTurn,
    spec: &TurnSpec,
    calls: Vec<ExecutedCall>,
    state: &mut AttemptState,
) -> Result<Vec<ExecutedCall>, OwnershipLost> {
    let before = state.effects.modes.len();
    let (mut finished, mut searches) = (Vec::new(), 0);
    for executed in calls {
        searches += usize::from(executed.has_search());
        if executed.has_search() && searches > tool::MAX_SEARCHES {
            finished.push(executed.into_failed(&tool::search_limit_message()));
            continue;
        }
        if !executed.effects.is_empty() {
            lease::ensure_owned(deps, owned).await?;
        }
        finished.push(apply_call_effects(deps, owned, spec, executed, state).await);
    }
    if state.effects.modes.len() > before.max(1) {
        let mode = state.effects.mode(&owned.turn);
        tracing::warn!(mode, "{}", contracts::log::MODE_CHANGED_REPEATEDLY);
    }
    Ok(finished)
}

/// Records who runs each call.
fn record_sides(routes: &[ExecutedBy], state: &mut AttemptState) {
    for (call, routes) in state.rounds.calls_mut().iter_mut().zip(routes) {
        call.ran_by = Some(match routes {
            ExecutedBy::Server => RanBy::Server,
            ExecutedBy::Client => RanBy::Client,
        });
    }
}

/// Records who runs each call, over which connection, and the results of the server's.
fn record(
    routes: &[ExecutedBy],
    remote: &[RemoteTool],
    finished: Vec<ExecutedCall>,
    state: &mut AttemptState,
) {
    state.effects.tool_results.extend(finished.iter().map(ExecutedCall::result));
    let durations = finished.iter().map(|executed| executed.execution_ms);
    state.totals.server_tool_ms = durations.fold(state.totals.server_tool_ms, u64::saturating_add);
    record_sides(routes, state);
    let server_records =
        state.rounds.calls_mut().iter_mut().zip(routes).filter(|(_, runner)| **runner == ExecutedBy::Server);
    for ((call, _), executed) in server_records.zip(finished) {
        call.connection = called_connection(remote, call);
        (call.outcome, call.execution_ms) = (Some(executed.outcome), Some(executed.execution_ms));
    }
}

/// Applies the effects of a tool call. The call fails if an effect can't be applied.
async fn apply_call_effects(
    deps: &impl AgentDeps,
    owned: &OwnedTurn,
    spec: &TurnSpec,
    mut executed: ExecutedCall,
    state: &mut AttemptState,
) -> ExecutedCall {
    let turn = &owned.turn;
    for effect in std::mem::take(&mut executed.effects) {
        match effect {
            Effect::SearchSources(query) => {
                let time_left = owned.time_left(deps);
                match Box::pin(search_sources(deps, turn, spec.inputs.sources.as_ref(), &query, time_left))
                    .await
                {
                    Ok((result, warnings)) => {
                        state.add_chunks(result.refs);
                        warnings.iter().for_each(|warning| state.effects.warn(&warning.to_string()));
                        executed = executed.with_result(&result.result);
                    }
                    Err(RetrievalSkipped) => {
                        state.effects.warn(SEARCH_SKIPPED);
                        return executed.into_failed(&ToolError::Unavailable("The index").to_string());
                    }
                }
            }
            Effect::StageMode(change) => {
                if !state.effects.stage_mode(change.into_staged(deps.host().now())) {
                    return executed.into_failed(&tool::mode_change_limit_message());
                }
            }
            Effect::ReadResult(id, part) => match read_result(deps, turn, &id, &part).await {
                Ok(part) => executed = executed.with_result(&part),
                Err(why) => return executed.into_failed(&why),
            },
            Effect::FindTools(query) => {
                let found = deferred::find(&spec.tools.remote, &query);
                state.add_found_tools(found.iter().map(|tool| tool.definition.name.as_str()));
                executed = executed.with_result(&deferred::search_result(&found));
            }
            Effect::Warn(warning) => state.effects.warnings.push(warning),
            Effect::PublishFile(file) => match publish_file(deps.payloads(), turn, &file).await {
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

/// Stores the long results of remote tools, and puts a reference into their place. The result is stored before the model
/// is told of it.
async fn store_long_results(
    deps: &impl AgentDeps,
    owned: &OwnedTurn,
    offered: &OfferedTools<'_>,
    mut calls: Vec<ExecutedCall>,
) -> Result<Vec<ExecutedCall>, OwnershipLost> {
    let is_remote = |name: &str| offered.remote.iter().any(|tool| tool.definition.name == name);
    for executed in calls.iter_mut().filter(|executed| is_remote(&executed.call.name)) {
        let Some(result) = executed.long_result().filter(|_| offered.reads_results()) else { continue };
        lease::ensure_owned(deps, owned).await?;
        let turn = &owned.turn.key;
        let (file, address) = answer::tool_result(turn, result);
        let stored = deps.payloads().put_file(&file).await;
        *executed = match stored {
            Ok(()) => {
                let id = ResultId { turn: turn.turn.clone(), address };
                executed.clone().with_result(&stored_result::reference(&id, result))
            }
            Err(error) => {
                tracing::warn!(error = %causes(&error), "{}", contracts::log::PUBLISHED_FILE_NOT_STORED);
                let message = "The call was performed. Its result is long, and could not be stored.";
                executed.clone().into_failed(message)
            }
        };
    }
    Ok(calls)
}

/// Reads a part of a result of the session. The texts of errors are for the model.
async fn read_result(
    deps: &impl AgentDeps,
    turn: &Turn,
    id: &ResultId,
    part: &Part,
) -> Result<Value, String> {
    let payload = answer::tool_result_payload(&turn.key.session.turn(id.turn.clone()), id.address);
    let stored = deps.payloads().get(&payload).await.map_err(|error| {
        tracing::warn!(error = %causes(&error), "{}", contracts::log::TOOL_RESULT_UNREADABLE);
        "The result can't be read at the moment. Try again later.".to_owned()
    })?;
    let stored = stored.ok_or("This session has no such result. Call its tool again.")?;
    stored_result::read(&String::from_utf8_lossy(&stored), part)
}

/// Stores a published file under its content's hash, which is idempotent.
async fn publish_file(
    payloads: &impl Payloads,
    turn: &Turn,
    file: &PublishFile,
) -> Result<FileRef, Unavailable> {
    let (stored, file) = answer::published_file(&turn.key, file);
    payloads.put_file(&stored).await?;
    Ok(file)
}

/// Searches on the model's initiative: in the turn's sources and within its request's scope, with a budget of its
/// own.
pub(super) async fn search_sources(
    deps: &impl AgentDeps,
    turn: &Turn,
    sources: Option<&Sources>,
    text: &str,
    left: Duration,
) -> Result<(ToolSearchResult, Vec<ScopeWarning>), RetrievalSkipped> {
    let sources = sources.ok_or(RetrievalSkipped)?;
    let sources = &Sources { tokens: sources.tokens.min(MAX_TOOL_TOKENS), ..sources.clone() };
    let deadline = deps.host().monotonic().saturating_add(BUDGET.min(left));
    let text = truncate(text);
    let request = stored_request::load(deps.store(), deps.payloads(), turn);
    let inputs = join(request, embed(deps, &sources.embedding, text, deadline)).await;
    let request = inputs.0.map_err(|error| {
        tracing::warn!(error = %causes(&error), "{}", contracts::log::RETRIEVAL_SKIPPED);
        RetrievalSkipped
    })?;
    let org = &turn.key.session.org;
    let result = match inputs.1 {
        Ok(vector) => {
            retrieval::search(deps, org, sources, (text, &request.rag_scope), &vector, deadline).await
        }
        Err(error) => Err(error),
    };
    let result = log_skipped(result)?;
    Ok((tool_search_result(&result.chunks), result.warnings))
}
