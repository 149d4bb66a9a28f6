//! Runs the tools of a reply.

use agent::{
    attempt::{AttemptState, TurnSpec},
    model::FunctionCall,
    tool::{self, ExecutedBy, ExecutedCall, Limits, rounds::ToolCallRecord},
};
use contracts::read::RanBy;
use futures::future::join;

use crate::flow::{
    owned_turn::OwnedTurn,
    run::{
        effects,
        watch::{self, OwnershipLost},
    },
};
use crate::{ports::AgentDeps, stream::Writer};

/// Runs the server's tools, rejects calls that match no tool, and leaves the client's calls open.
///
/// Tools are limited to the time that the turn has left. Ownership is checked while they run, because their
/// effects and the next model call require it.
pub(super) async fn run(
    deps: &impl AgentDeps,
    owned: &OwnedTurn,
    spec: &TurnSpec,
    state: &mut AttemptState,
    stream: &Writer,
) -> Result<(), OwnershipLost> {
    let (turn, config, host) = (&owned.turn, deps.config(), deps.host());
    let limits = Limits::default().capped_at(owned.time_left(deps));
    let calls: Vec<FunctionCall> = state.rounds.calls().iter().map(ToolCallRecord::to_call).collect();
    let routes = tool::route_calls(&spec.tools.definitions, &calls, &limits);
    let is_server = |(call, routes)| (routes == &ExecutedBy::Server).then_some(call);
    let server_calls: Vec<FunctionCall> = calls.iter().zip(&routes).filter_map(is_server).cloned().collect();
    let facts = owned.catalog.facts(state.effects.mode(turn));
    server_calls.iter().take(limits.calls).for_each(|call| stream.tool(turn, state.rounds.count, call));
    let running =
        tool::run_calls(&config.tools, &spec.tools.definitions, &server_calls, &facts, &limits, host);
    let ownership = async {
        match server_calls.is_empty() {
            true => Ok(()),
            false => watch::check_briefly(deps, owned).await,
        }
    };
    let (executed, ownership) = join(running, ownership).await;
    ownership?;
    let finished = apply_effects(deps, owned, spec, executed, state).await?;
    record(&routes, finished, state);
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
            watch::ensure_owned(deps, owned).await?;
        }
        finished.push(effects::apply(deps, owned, spec, executed, state).await);
    }
    if state.effects.modes.len() > before.max(1) {
        let mode = state.effects.mode(&owned.turn);
        tracing::warn!(mode, "{}", contracts::log::MODE_CHANGED_REPEATEDLY);
    }
    Ok(finished)
}

/// Records who runs each call, and the results of the server's.
fn record(routes: &[ExecutedBy], finished: Vec<ExecutedCall>, state: &mut AttemptState) {
    state.effects.tool_results.extend(finished.iter().map(ExecutedCall::result));
    let durations = finished.iter().map(|executed| executed.execution_ms);
    state.totals.server_tool_ms = durations.fold(state.totals.server_tool_ms, u64::saturating_add);
    for (call, routes) in state.rounds.calls_mut().iter_mut().zip(routes) {
        call.ran_by = Some(match routes {
            ExecutedBy::Server => RanBy::Server,
            ExecutedBy::Client => RanBy::Client,
        });
    }
    let server_records =
        state.rounds.calls_mut().iter_mut().zip(routes).filter(|(_, runner)| **runner == ExecutedBy::Server);
    for ((call, _), executed) in server_records.zip(finished) {
        (call.outcome, call.execution_ms) = (Some(executed.outcome), Some(executed.execution_ms));
    }
}
