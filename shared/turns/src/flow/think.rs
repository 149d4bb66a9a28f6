//! Think: model → server tools → model … until there is an answer, an error, or calls for the client.
//!
//! Resumable at every step: what was executed is recorded beside the next model call, so a takeover goes
//! on from there. Server tools can run twice after a crash, under different call ids; their effects are
//! pure, staged, or addressed by content (rule 8).

use std::time::Duration;

use agent::answer::{self, Answer};
use bytes::Bytes;
use contracts::request::UserTurn;
use futures::future::join3;

use super::{Executor, attempt::Held, compose::Composed, conversation::Conversation};
use crate::{
    ports::{Announcements, Payloads, Store, World},
    stream::Live,
};
use agent::{
    model::{Heard, Model},
    progress::{Plan, Progress, Step},
};
use protocol::{
    payload::{Kind, Payload},
    turn::Turn,
};

/// Where an attempt begins.
pub(super) struct Work<'a> {
    /// What the user asked, where the attempt begins with it.
    pub(super) request: Option<&'a UserTurn>,
    /// The set-up, and how far earlier attempts came.
    pub(super) step: Step,
}

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// Works on the turn until it comes to something.
    pub(super) async fn think(&self, held: &Held, work: Work<'_>, stop_at: Duration, live: &Live) -> Answer {
        let (turn, Step { plan, mut progress }) = (&held.turn, work.step);
        let provider = &self.design.provider;
        let mut conversation = Conversation::new(turn, &plan, &progress, work.request.cloned(), provider);
        let (mut unrecorded, mut raw) = (false, Vec::new());
        loop {
            let Composed { request, told_solution } =
                self.compose(turn, &plan, &mut progress, &mut conversation).await;
            if held.lease.left(&self.world).is_zero() {
                // Nobody may pay for a turn that is about to be somebody else's: whoever keeps the lease
                // ends this.
                return std::future::pending().await;
            }
            let mut deltas = |piece: &str| live.text(&turn.key, piece);
            let mut heard = Heard::by(&mut deltas).keeping_raw(plan.store_raw_payloads);
            let reply = self.model.reply(&request, self.left(stop_at), &mut heard);
            let reply =
                join3(reply, self.record(turn, &plan, &progress, unrecorded), self.keep(&raw)).await.0;
            progress.model_calls += 1;
            progress.spent(heard.usage);
            raw = heard.raw.map_or_else(Vec::new, |raw| answer::raw(turn, progress.model_calls, raw));
            let reply = match reply {
                Ok(reply) => reply,
                Err(error) if conversation.can_recover(&error, &request) => {
                    live.reset();
                    continue;
                }
                Err(error) => {
                    tracing::warn!(%error, "the model call failed");
                    let failed = answer::failed(answer::failure(&error), progress, &plan, self.world.now());
                    return failed.beside(raw);
                }
            };
            conversation.replied(&plan);
            progress.told_mode = Some(request.mode);
            progress.told_solution = told_solution;
            progress.response_id = Some(reply.response_id);
            progress.provider = Some(provider.clone());
            if reply.calls.is_empty() {
                let mode = self.design.catalog.display_name(progress.mode(turn));
                let now = self.world.now();
                return answer::answered(turn, &mode, reply.text, progress, &plan, now, &self.timing)
                    .streamed(live.segment())
                    .beside(raw);
            }
            live.reset();
            if progress.rounds >= plan.max_rounds {
                let error = answer::too_many_rounds(&plan);
                return answer::failed(error, progress, &plan, self.world.now()).beside(raw);
            }
            progress.rounds += 1;
            unrecorded = true;
            progress = self.run_tools(turn, &plan, reply.calls, progress, self.left(stop_at)).await;
            if progress.pending().next().is_some() {
                let mode = self.design.catalog.display_name(progress.mode(turn));
                let now = self.world.now();
                return answer::suspended(turn, &mode, &reply.text, progress, plan, now).beside(raw);
            }
        }
    }

    /// What the turn has left for models and tools, before it must be settled.
    fn left(&self, stop_at: Duration) -> Duration {
        stop_at.saturating_sub(self.timing.settle_reserve).saturating_sub(self.world.monotonic())
    }

    /// Records how far the turn has come. It costs nobody a wait; should it fail, a takeover runs the
    /// round's tools again.
    async fn record(&self, turn: &Turn, plan: &Plan, progress: &Progress, wanted: bool) {
        if !wanted {
            return;
        }
        let step = Step { plan: plan.clone(), progress: progress.clone() };
        let kind = Kind::Step(turn.owner.clone(), progress.rounds);
        let body = Bytes::from(serde_json::to_vec(&step).unwrap_or_default());
        if let Err(error) = self.payloads.put(&Payload { turn: turn.key.clone(), kind }, body).await {
            tracing::warn!(%error, source = %error.source, "a tool round could not be recorded");
        }
    }
}
