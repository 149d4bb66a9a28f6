//! Sum up: the model is asked for a summary of the earlier turns that a request leaves out, before that request
//! (`HistorySummary`).
//!
//! It is a model call like any other: by the turn's owner alone, paid, counted, ended by a cancel. It is a step of
//! the turn's work, recorded beside the call that comes next, so that nobody pays for it again.

use std::time::Duration;

use agent::{
    answer::{self, File},
    compose::Composed,
    conversation::Conversation,
    history::{LeftOut, Walk},
    model::{Model, Observer},
    progress::{Plan, Progress},
    sum_up::{self, Due},
};

use protocol::line::Predecessor;

use super::{
    executor::Executor,
    owned_turn::OwnedTurn,
    watch::{self, Lost},
    work::Stopped,
};
use crate::ports::{AgentDeps, Timer};

/// How long a summary is waited for: the turn's own answer needs the rest of its time.
const LONGEST: Duration = Duration::from_secs(60);

impl<D: AgentDeps> Executor<D> {
    /// The next request, and what went over the wire before it: what it leaves out is summed up first, where that
    /// is wanted and not done. The request needs the summary, so nothing goes on beside.
    pub(super) async fn composed(
        &self,
        owned: &OwnedTurn,
        plan: &Plan,
        progress: &mut Progress,
        conversation: &mut Conversation,
    ) -> Result<(Composed, Vec<File>), Stopped> {
        let composed = self.compose(&owned.turn, plan, progress, conversation).await?;
        let Some(due) = composed.due else { return Ok((composed, Vec::new())) };
        // Boxed: few requests leave anything out.
        // What is left out ends before the first turn that is told.
        let told = conversation.earlier.iter().flat_map(|earlier| &earlier.exchanges);
        let first = told.into_iter().find(|exchange| exchange.place >= due.until);
        let from = first.map_or_else(|| owned.turn.predecessor(), |exchange| exchange.after.clone());
        let raw = Box::pin(self.sum_up(owned, plan, (due, from), progress)).await?;
        Ok((self.compose(&owned.turn, plan, progress, conversation).await?, raw))
    }

    async fn sum_up(
        &self,
        owned: &OwnedTurn,
        plan: &Plan,
        (due, from): (Due, Option<Predecessor>),
        progress: &mut Progress,
    ) -> Result<Vec<File>, Lost> {
        let (turn, Due { first, until, room }) = (&owned.turn, due);
        let left_out = self.walk(&turn.key.session, from, Walk::back_to(first, room)).await;
        if left_out.exchanges.is_empty() {
            // Turns without an answer are no reason to look again; what can't be read may be read tomorrow.
            if left_out.left_out != LeftOut::Unreadable {
                progress.summed_up_until(until, None);
            }
            return Ok(Vec::new());
        }
        let before = progress.window.as_ref().and_then(|window| window.summary.as_ref());
        let request = sum_up::request(turn, plan, before, &left_out.exchanges, room);
        watch::still_owns(&self.deps, owned).await?;
        let patience = LONGEST.min(self.time_left(owned) / 4);
        let (host, mut unseen) = (self.deps.host(), |_: &str| {});
        let asked = host.monotonic();
        let mut observer = Observer::of(&mut unseen).keeping_raw(plan.store_raw_payloads);
        let reply = self.deps.model().reply(&request, patience, &mut observer).await;
        progress.model_calls += 1;
        progress.spent(observer.usage);
        progress.waited(host.monotonic().saturating_sub(asked), None);
        let made = match reply {
            Ok(reply) => sum_up::summary(reply),
            Err(error) => {
                tracing::warn!(%error, "earlier turns could not be summed up");
                None
            }
        };
        progress.summed_up = true;
        progress.summed_up_until(until, made);
        Ok(observer.raw.map_or_else(Vec::new, |raw| answer::raw(turn, progress.model_calls, raw)))
    }
}
