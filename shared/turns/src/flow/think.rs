//! Think: model → server tools → model … until there is an answer, an error, or calls for the client.
//!
//! Resumable at every step: what was executed is recorded beside the next model call, so a takeover goes
//! on from there. Server tools can run twice after a crash, under different call ids; their effects are
//! pure, staged, or addressed by content (LIFECYCLE rule 8).

use std::time::Duration;

use bytes::Bytes;
use contracts::request::UserTurn;
use futures::future::join;

use super::{
    Executor,
    answer::{self, Answer},
    attempt::Held,
};
use crate::{
    model::{self, Model},
    payload::{Kind, Payload},
    ports::{Announcements, Payloads, Store, World},
    progress::{Plan, Progress, Step},
    turn::Turn,
};

/// Shown when the provider no longer has the conversation that the turn was to continue.
const CHAIN_LOST: &str = "The model provider no longer has the earlier part of this conversation; this answer was \
                          written without it.";

/// Where an attempt begins.
pub(super) struct Work<'a> {
    /// What the user asked, where the attempt begins with it.
    pub(super) request: Option<&'a UserTurn>,
    /// The set-up, and how far earlier attempts came.
    pub(super) step: Step,
}

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// Works on the turn until it comes to something.
    pub(super) async fn think(
        &self,
        held: &Held,
        work: Work<'_>,
        stop_at: Duration,
        deltas: &mut (dyn FnMut(&str) + Send),
    ) -> Answer {
        let (turn, Step { plan, mut progress }) = (&held.turn, work.step);
        let mut request = work.request.cloned();
        let mut chain_lost = false;
        let mut unrecorded = false;
        loop {
            if held.lease.left(&self.world).is_zero() {
                // Nobody may pay for a turn that is about to be somebody else's: whoever keeps the lease
                // ends this.
                return std::future::pending().await;
            }
            let call = self.model_request(turn, &plan, &progress, request.as_ref(), chain_lost);
            let reply = self.model.reply(&call, self.left(stop_at), deltas);
            let record = self.record(turn, &plan, &progress, unrecorded);
            let reply = match join(reply, record).await.0 {
                Ok(reply) => reply,
                Err(model::Error::ChainLost) if !chain_lost && is_chained(&call) => {
                    chain_lost = true;
                    progress.warnings.push(CHAIN_LOST.to_owned());
                    if request.is_none() {
                        request = self.asked(turn).await;
                    }
                    continue;
                }
                Err(error) => {
                    tracing::warn!(%error, "the model call failed");
                    return answer::failed(answer::failure(&error), progress, &plan, self.world.now());
                }
            };
            progress.told_mode = Some(call.mode);
            progress.usage = reply
                .usage
                .map_or(progress.usage, |usage| Some(progress.usage.unwrap_or_default().plus(usage)));
            progress.response_id = Some(reply.response_id);
            if reply.calls.is_empty() {
                let mode = self.design.catalog.display_name(progress.mode(turn));
                return answer::answered(
                    turn,
                    &mode,
                    reply.text,
                    progress,
                    &plan,
                    self.world.now(),
                    &self.timing,
                );
            }
            if progress.rounds >= plan.max_rounds {
                return answer::failed(answer::too_many_rounds(&plan), progress, &plan, self.world.now());
            }
            progress.rounds += 1;
            (chain_lost, unrecorded) = (false, true);
            progress = self.run_tools(turn, &plan, reply.calls, progress, self.left(stop_at)).await;
            if progress.pending().next().is_some() {
                let mode = self.design.catalog.display_name(progress.mode(turn));
                return answer::suspended(turn, &mode, &reply.text, progress, plan, self.world.now());
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

    /// The user's own request, as it was stored.
    async fn asked(&self, turn: &Turn) -> Option<UserTurn> {
        let payload = Payload { turn: turn.key.clone(), kind: Kind::Instruction(turn.fingerprint) };
        let stored = self.payloads.get(&payload).await.ok().flatten()?;
        UserTurn::from_canonical(&stored).ok()
    }

    fn model_request(
        &self,
        turn: &Turn,
        plan: &Plan,
        progress: &Progress,
        request: Option<&UserTurn>,
        chain_lost: bool,
    ) -> model::Request {
        let mode = progress.mode(turn);
        let previous =
            progress.response_id.as_ref().or(turn.previous_response_id.as_ref()).filter(|_| !chain_lost);
        let first = progress.response_id.is_none() || chain_lost;
        let told_otherwise = progress.told_mode.as_deref() != Some(mode);
        model::Request {
            model: plan.model.clone(),
            temperature: plan.temperature,
            max_output_tokens: plan.max_output_tokens,
            reasoning_effort: None,
            store: true,
            chain: match previous {
                Some(id) => model::Chain::Continues {
                    previous_response_id: id.clone(),
                    update: self.design.catalog.instructions(mode).filter(|_| told_otherwise),
                },
                None => model::Chain::Initial {
                    system: plan.system.clone(),
                    parts: plan.system_parts.clone(),
                    history: Vec::new(),
                },
            },
            mode: mode.to_owned(),
            instruction: match request.filter(|_| first).map(|request| &request.instruction) {
                Some(Some(text)) => model::Instruction::User(text.clone()),
                Some(None) => model::Instruction::FilesAlone,
                None => model::Instruction::ToolResults,
            },
            context_block: None,
            files_block: None,
            attachments: Vec::new(),
            tools: match previous {
                Some(_) if !plan.tools_on_continuation => Vec::new(),
                _ => crate::tool::to_model(&plan.tools),
            },
            // Forced again after its results, the tool would be called for ever.
            tool_choice: plan.tool_choice.clone().filter(|_| progress.rounds == 0),
            tool_outputs: progress.outputs(),
        }
    }
}

fn is_chained(call: &model::Request) -> bool {
    matches!(call.chain, model::Chain::Continues { .. })
}
