//! Fallback: another model is asked in the place of one that has no answer (ruling: fallbacks).

use agent::{
    conversation::Conversation,
    model::{Chain, Error, Request},
    progress::{Plan, Progress},
    trouble,
};
use contracts::request::UserTurn;
use protocol::{
    chain::{self, Start, Target},
    detail::Trouble,
    turn::Turn,
};

use super::{executor::Executor, owned_turn::OwnedTurn};
use crate::ports::AgentDeps;

/// A model call that came to nothing.
pub(super) struct Failed<'a> {
    /// Why.
    pub(super) error: &'a Error,
    /// What was asked.
    pub(super) request: &'a Request,
    /// Whether anything of an output was there.
    pub(super) has_output: bool,
}

impl<D: AgentDeps> Executor<D> {
    /// How the conversation gets to the plan's model, from where the turn stands.
    pub(super) fn conversation(
        &self,
        turn: &Turn,
        plan: &Plan,
        progress: &Progress,
        request: Option<UserTurn>,
    ) -> Conversation {
        let provider = self.provider(plan);
        Conversation::new(begins(turn, plan), plan, progress, request, &provider)
            .without_reasoning(self.learned.tells_no_reasoning(&provider))
    }

    /// What the plan's provider is in records.
    pub(super) fn provider(&self, plan: &Plan) -> String {
        self.deps.config().providers.id(plan.provider.as_deref())
    }

    /// Whether another request may get what this one did not: of the same model, as long as that can be told
    /// what it was told before; then of the next one, which may have more room; and last of the same with less.
    pub(super) fn recovers(
        &self,
        owned: &OwnedTurn,
        failed: &Failed<'_>,
        plan: &mut Plan,
        progress: &mut Progress,
        conversation: &mut Conversation,
    ) -> bool {
        let Failed { error, request, has_output } = *failed;
        let trouble = trouble::of(error, has_output).filter(|_| !self.time_left(owned).is_zero());
        let is_whole = matches!(request.chain, Chain::Initial { .. });
        if let Some(why @ Trouble::Overflow) = trouble.filter(|_| is_whole)
            && self.fall_back(&owned.turn, why, plan, progress, conversation)
        {
            return true;
        }
        conversation.can_recover(plan, error, request)
            || trouble.is_some_and(|why| self.fall_back(&owned.turn, why, plan, progress, conversation))
    }

    /// Has the turn's next model asked; false when there is none left. It is told what came before from the
    /// session's own records: no response of one model is gone on from by another.
    fn fall_back(
        &self,
        turn: &Turn,
        why: Trouble,
        plan: &mut Plan,
        progress: &mut Progress,
        conversation: &mut Conversation,
    ) -> bool {
        let with = self.target_of(plan).upstream();
        let Some(next) = progress.fall_back(plan, with.provider.clone(), why) else { return false };
        let now = self.target_of(&next).upstream();
        tracing::warn!(
            why = why.name(),
            model = %with.model,
            provider = %with.provider,
            next_model = %now.model,
            next_provider = %now.provider,
            "another model is asked in the place of one that has no answer"
        );
        let start = chain::after_takeover(begins(turn, plan), &with, &now);
        *plan = Plan { chain: now.keeper, start: Some(start).filter(|start| *start != turn.chain), ..next };
        let request = conversation.request.take();
        *conversation = self.conversation(turn, plan, progress, request).having_read(conversation);
        true
    }

    fn target_of(&self, plan: &Plan) -> Target {
        let provider = self.provider(plan);
        let keeps_none = self.learned.keeps_none(&provider);
        Target { model: plan.model.clone(), provider, policy: plan.chain_policy, keeps_none }
    }
}

/// What the turn's first model call goes on from.
fn begins<'a>(turn: &'a Turn, plan: &'a Plan) -> &'a Start {
    plan.start.as_ref().unwrap_or(&turn.chain)
}
