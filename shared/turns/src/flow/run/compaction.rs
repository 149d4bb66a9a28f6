//! Compacts the history: asks the model for a summary of the earlier turns that the next request leaves out
//! (`HistorySummary`).
//!
//! It is an ordinary model call: only the turn's owner makes it, it is paid and counted, and a cancel ends it. Its
//! result is part of the turn's next recorded step, so it isn't paid for twice.

use std::time::Duration;

use agent::{
    attempt::{AttemptState, TurnSpec},
    history::{
        AncestryWalk, Truncation,
        compaction::{self, CompactionRange},
    },
    model::{Model, Observer},
    outcome::answer::{self, File},
    prompt::conversation::Conversation,
};

use crate::flow::{
    owned_turn::OwnedTurn,
    run::{
        history,
        watch::{self, OwnershipLost},
    },
};
use crate::ports::{AgentDeps, Timer};

/// The longest time to wait for a summary. The turn's own answer needs the rest.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Compacts a range of the history. Returns the raw payloads of the model call.
///
/// The part to compact ends before the first turn that the request includes.
pub(super) async fn compact(
    deps: &impl AgentDeps,
    owned: &OwnedTurn,
    spec: &TurnSpec,
    range: CompactionRange,
    state: &mut AttemptState,
    conversation: &Conversation,
) -> Result<Vec<File>, OwnershipLost> {
    let (turn, CompactionRange { first, until, token_budget }) = (&owned.turn, range);
    let included = conversation.loaded.history.iter().flat_map(|history| &history.exchanges);
    let first_included = included.into_iter().find(|exchange| exchange.depth >= until);
    let from = first_included.map_or_else(|| turn.resolved_parent(), |exchange| exchange.parent.clone());
    let walk = AncestryWalk::back_to(first, token_budget).without_hidden(spec.history.hidden_depth);
    let left_out = history::walk_ancestry(deps, &turn.key.session, from, walk).await;
    if left_out.exchanges.is_empty() {
        // If these turns have no answers, don't look again. If they can't be read now, they may be readable
        // later.
        if left_out.truncation != Truncation::Unreadable {
            state.history.record_compaction(until, None);
        }
        return Ok(Vec::new());
    }
    let request = compaction::request(turn, spec, state.history.summary(), &left_out.exchanges, token_budget);
    watch::ensure_owned(deps, owned).await?;
    let max_wait = MAX_WAIT.min(owned.time_left(deps) / 4);
    let (host, mut on_text) = (deps.host(), |_: &str| {});
    let started = host.monotonic();
    let meter = owned.spending.begin_call(&mut state.totals, spec, &request);
    let mut observer =
        Observer::new(&mut on_text).with_raw_payloads(spec.store_raw_payloads).with_meter(meter);
    let reply = deps.model().reply(&request, max_wait, &mut observer).await;
    let duration = host.monotonic().saturating_sub(started);
    state.totals.add_model_call(observer.meter.usage(), duration, None);
    owned.spending.record(&state.totals, spec);
    let summary = match reply {
        Ok(reply) => compaction::summary_from(reply),
        Err(error) => {
            tracing::warn!(%error, "{}", contracts::log::COMPACTION_FAILED);
            None
        }
    };
    state.history.compaction_attempted = true;
    state.history.record_compaction(until, summary);
    Ok(observer.raw.map_or_else(Vec::new, |raw| answer::raw_payloads(turn, state.totals.model_calls, raw)))
}
