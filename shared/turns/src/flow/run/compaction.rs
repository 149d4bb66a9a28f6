//! Compacts the history: asks the model for a summary of the earlier turns that the next request leaves out
//! (`HistorySummary`).
//!
//! It is an ordinary model call: only the turn's owner makes it, it is paid and counted, and a cancel ends it. Its
//! result is part of the turn's next recorded step, so it isn't paid for twice.

use std::time::Duration;

use agent::{
    attempt::{AttemptState, TurnSpec, conversation::Conversation},
    history::{
        AncestryWalk, Truncation,
        compaction::{self, CompactionRange},
    },
    model::{Model, Observer},
    outcome::answer::{self, File},
    prompt::compose::ComposedRequest,
};

use protocol::ancestry::ResolvedParent;

use crate::flow::{
    executor::Executor,
    owned_turn::OwnedTurn,
    run::{
        agent_loop::Interruption,
        watch::{self, OwnershipLost},
    },
};
use crate::ports::{AgentDeps, Timer};

/// The longest time to wait for a summary. The turn's own answer needs the rest.
const MAX_WAIT: Duration = Duration::from_secs(60);

impl<D: AgentDeps> Executor<D> {
    /// Composes the next request, and first compacts the history that it leaves out, if that is enabled and not done
    /// yet. Also returns the raw payloads of the compaction call. The request depends on the summary, so nothing runs
    /// concurrently.
    pub(in crate::flow) async fn compose_with_compaction(
        &self,
        owned: &OwnedTurn,
        spec: &TurnSpec,
        state: &mut AttemptState,
        conversation: &mut Conversation,
    ) -> Result<(ComposedRequest, Vec<File>), Interruption> {
        let composed = self.compose(&owned.turn, spec, state, conversation).await?;
        let Some(range) = composed.compaction else { return Ok((composed, Vec::new())) };
        // Boxed: few requests leave anything out. The part to compact ends before the first turn that the request
        // includes.
        let included = conversation.loaded.history.iter().flat_map(|history| &history.exchanges);
        let first_included = included.into_iter().find(|exchange| exchange.depth >= range.until);
        let from =
            first_included.map_or_else(|| owned.turn.resolved_parent(), |exchange| exchange.parent.clone());
        let raw = Box::pin(self.compact(owned, spec, (range, from), state)).await?;
        Ok((self.compose(&owned.turn, spec, state, conversation).await?, raw))
    }

    async fn compact(
        &self,
        owned: &OwnedTurn,
        spec: &TurnSpec,
        (range, from): (CompactionRange, Option<ResolvedParent>),
        state: &mut AttemptState,
    ) -> Result<Vec<File>, OwnershipLost> {
        let (turn, CompactionRange { first, until, token_budget }) = (&owned.turn, range);
        let left_out =
            self.walk_history(&turn.key.session, from, AncestryWalk::back_to(first, token_budget)).await;
        if left_out.exchanges.is_empty() {
            // If these turns have no answers, don't look again. If they can't be read now, they may be readable
            // later.
            if left_out.truncation != Truncation::Unreadable {
                state.history.record_compaction(until, None);
            }
            return Ok(Vec::new());
        }
        let request =
            compaction::request(turn, spec, state.history.summary(), &left_out.exchanges, token_budget);
        watch::ensure_owned(&self.deps, owned).await?;
        let max_wait = MAX_WAIT.min(self.time_left(owned) / 4);
        let (host, mut on_text) = (self.deps.host(), |_: &str| {});
        let started = host.monotonic();
        let mut observer = Observer::new(&mut on_text).with_raw_payloads(spec.store_raw_payloads);
        let reply = self.deps.model().reply(&request, max_wait, &mut observer).await;
        state.totals.add_model_call(observer.usage, host.monotonic().saturating_sub(started), None);
        let summary = match reply {
            Ok(reply) => compaction::summary_from(reply),
            Err(error) => {
                tracing::warn!(%error, "{}", contracts::log::COMPACTION_FAILED);
                None
            }
        };
        state.history.compaction_attempted = true;
        state.history.record_compaction(until, summary);
        Ok(observer
            .raw
            .map_or_else(Vec::new, |raw| answer::raw_payloads(turn, state.totals.model_calls, raw)))
    }
}
