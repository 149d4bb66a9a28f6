//! Fallback to the next model when one can't answer.

use agent::{
    attempt::{AttemptState, TurnSpec, conversation::Conversation},
    model::{Chain, Error, Request, fallback_reason},
};
use contracts::request::UserTurn;
use protocol::{
    chain::{self, ChainStart, Target},
    detail::FallbackReason,
    turn::Turn,
};

use crate::flow::{executor::Executor, owned_turn::OwnedTurn};
use crate::ports::AgentDeps;

/// A failed model call.
pub(in crate::flow) struct FailedCall<'a> {
    /// The reason.
    pub(in crate::flow) error: &'a Error,
    /// The request that was sent.
    pub(in crate::flow) request: &'a Request,
    /// True if the response had any output before it failed.
    pub(in crate::flow) has_output: bool,
}

impl<D: AgentDeps> Executor<D> {
    /// Creates the conversation with the plan's model, from the turn's current progress.
    pub(in crate::flow) fn new_conversation(
        &self,
        turn: &Turn,
        spec: &TurnSpec,
        state: &AttemptState,
        request: Option<UserTurn>,
    ) -> Conversation {
        let provider = self.provider_id(spec);
        Conversation::new(chain_start(turn, spec), spec, state, request, &provider)
            .with_reasoning_omitted(self.capabilities.refuses_reasoning(&provider))
    }

    /// Returns the provider's id as records show it.
    pub(in crate::flow) fn provider_id(&self, spec: &TurnSpec) -> String {
        self.deps.config().providers.id(spec.route.provider.as_deref())
    }

    /// Prepares another request after a failure; false if none is left to try. The same model comes first, as long as
    /// it can get the same prompt. Then comes the next model, which may have a larger context window. Last comes the
    /// same model with a shorter prompt.
    pub(in crate::flow) fn try_recover(
        &self,
        owned: &OwnedTurn,
        failed: &FailedCall<'_>,
        spec: &mut TurnSpec,
        state: &mut AttemptState,
        conversation: &mut Conversation,
    ) -> bool {
        let FailedCall { error, request, has_output } = *failed;
        let reason =
            fallback_reason::classify(error, has_output).filter(|_| !self.time_left(owned).is_zero());
        let is_whole = matches!(request.chain, Chain::Initial { .. });
        if let Some(reason @ FallbackReason::ContextOverflow) = reason.filter(|_| is_whole)
            && self.fall_back(&owned.turn, reason, spec, state, conversation)
        {
            return true;
        }
        conversation.try_recover(spec, error, request)
            || reason.is_some_and(|reason| self.fall_back(&owned.turn, reason, spec, state, conversation))
    }

    /// Switches to the turn's next model; false if there is none left. The new model gets the session's own records
    /// as history, because no model can continue from another model's response.
    fn fall_back(
        &self,
        turn: &Turn,
        reason: FallbackReason,
        spec: &mut TurnSpec,
        state: &mut AttemptState,
        conversation: &mut Conversation,
    ) -> bool {
        let with = self.current_target(spec).upstream();
        let Some(next) = state.next_fallback(spec, with.provider.clone(), reason) else { return false };
        let now = self.current_target(&next).upstream();
        tracing::warn!(
            reason = reason.name(),
            model = %with.model,
            provider = %with.provider,
            next_model = %now.model,
            next_provider = %now.provider,
            "{}", contracts::log::FALLBACK
        );
        let start = chain::after_takeover(chain_start(turn, spec), &with, &now);
        *spec = next;
        spec.history.owner = now.history_owner;
        spec.history.start = Some(start).filter(|start| *start != turn.chain);
        *conversation = self.new_conversation(turn, spec, state, None).with_loaded_from(conversation);
        true
    }

    fn current_target(&self, spec: &TurnSpec) -> Target {
        let provider = self.provider_id(spec);
        let is_stateless = self.capabilities.is_stateless(&provider);
        Target { model: spec.route.model.clone(), provider, policy: spec.history.policy, is_stateless }
    }
}

/// Returns the start of the turn's provider chain.
fn chain_start<'a>(turn: &'a Turn, spec: &'a TurnSpec) -> &'a ChainStart {
    spec.history.start.as_ref().unwrap_or(&turn.chain)
}
