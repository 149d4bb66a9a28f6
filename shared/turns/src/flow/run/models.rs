//! The models that a turn may call, with the capabilities that this process has detected of their providers.

use agent::{
    attempt::{AttemptState, TurnSpec},
    context::{ResolvedContext, config::AgentConfig},
    prompt::conversation::Conversation,
};
use contracts::request::UserTurn;
use protocol::{
    chain::{ChainStart, Target},
    turn::Turn,
};

use crate::flow::run::provider_capabilities::CapabilityCache;

/// The models and their providers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Models<'a> {
    /// The deployment's configuration.
    pub(crate) config: &'a AgentConfig,
    /// The detected capabilities of providers.
    pub(crate) capabilities: &'a CapabilityCache,
}

impl Models<'_> {
    /// Returns the model and provider of a turn with these settings.
    pub(crate) fn target(&self, effective: &ResolvedContext) -> Target {
        let target = self.config.target(effective);
        Target { is_stateless: self.capabilities.is_stateless(&target.provider), ..target }
    }

    /// Returns the model and provider that a turn calls now.
    pub(super) fn current_target(&self, spec: &TurnSpec) -> Target {
        let provider = self.provider_id(spec);
        let is_stateless = self.capabilities.is_stateless(&provider);
        let policy = self.config.providers.state_policy(&provider, spec.history.policy);
        Target { model: spec.route.model.clone(), provider, policy, is_stateless }
    }

    /// Returns the provider's id as records show it.
    pub(super) fn provider_id(&self, spec: &TurnSpec) -> String {
        self.config.providers.id(spec.route.provider.as_deref())
    }

    /// Creates the conversation with the plan's model, from the turn's current progress.
    pub(super) fn new_conversation(
        &self,
        turn: &Turn,
        spec: &TurnSpec,
        state: &AttemptState,
        request: Option<UserTurn>,
    ) -> Conversation {
        let provider = self.provider_id(spec);
        Conversation::new(chain_start(turn, spec), spec, state, request, &provider)
            .with_wire(self.config.providers.wire(&provider))
            .with_reasoning_omitted(self.capabilities.refuses_reasoning(&provider))
    }
}

/// Returns the start of the turn's provider chain.
pub(super) fn chain_start<'a>(turn: &'a Turn, spec: &'a TurnSpec) -> &'a ChainStart {
    spec.history.start.as_ref().unwrap_or(&turn.chain)
}
