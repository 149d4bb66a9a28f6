//! The models that a turn may call, with the capabilities that this process has detected of their providers, and the fallback
//! to the next model when one can't answer.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use agent::{
    attempt::{AttemptState, TurnSpec},
    context::{ResolvedContext, config::AgentConfig},
    model::{Chain, Error, Request, fallback_reason},
    prompt::conversation::{Conversation, ObservedCapability},
};
use contracts::request::UserTurn;
use protocol::{
    chain::{self, ChainStart, Target},
    detail::FallbackReason,
    turn::Turn,
};

/// The models and their providers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Models<'a> {
    /// The deployment's configuration.
    pub(crate) config: &'a AgentConfig,
    /// The detected capabilities of providers.
    pub(crate) capabilities: &'a CapabilityCache,
    /// The monotonic time at which the turn was taken up.
    pub(crate) now: Duration,
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

    /// Records what a reply of the current model shows.
    pub(super) fn record(&self, spec: &TurnSpec, capability: ObservedCapability) {
        self.capabilities.record(&self.provider_id(spec), &spec.route.model, capability, self.now);
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
            .with_reasoning_omitted(self.capabilities.refuses_reasoning(
                &provider,
                &spec.route.model,
                self.now,
            ))
    }
}

/// Returns the start of the turn's provider chain.
pub(super) fn chain_start<'a>(turn: &'a Turn, spec: &'a TurnSpec) -> &'a ChainStart {
    spec.history.start.as_ref().unwrap_or(&turn.chain)
}

/// The number of consecutive sessions whose continuation a provider refuses before it counts as stateless. A single
/// refusal may be one lost response.
const STATELESS_AFTER_REFUSALS: u32 = 2;

/// The number of consecutive refusals of reasoning after which a model isn't asked for it. A single one may be about the
/// reasoning of one old session, whose encryption key is gone.
const OMITTED_AFTER_REFUSALS: u32 = 2;

/// The time after the last refusal of reasoning for which a model isn't asked for it. Models and gateways change.
const REASONING_REFUSAL_TTL: Duration = Duration::from_hours(1);

/// The capabilities of providers, by provider id. Each process detects them itself. Facts that matter to one session
/// are stored with the session.
#[derive(Debug, Default)]
pub(crate) struct CapabilityCache(Mutex<BTreeMap<String, Capabilities>>);

#[derive(Debug, Default)]
struct Capabilities {
    is_stateless: bool,
    refusals: u32,
    /// The refusals of reasoning, by model.
    reasoning: BTreeMap<String, ReasoningRefusals>,
}

/// The consecutive refusals of a model to get or return reasoning.
#[derive(Debug, Clone, Copy)]
struct ReasoningRefusals {
    count: u32,
    /// The monotonic time of the last one.
    last: Duration,
}

impl ReasoningRefusals {
    fn is_current(self, now: Duration) -> bool {
        now.saturating_sub(self.last) < REASONING_REFUSAL_TTL
    }
}

impl CapabilityCache {
    /// True if the provider doesn't store responses, so that a request can't continue from one.
    pub(crate) fn is_stateless(&self, provider: &str) -> bool {
        self.with_entry(provider, |entry| entry.is_stateless)
    }

    /// True if the model refuses requests that ask for its reasoning.
    pub(crate) fn refuses_reasoning(&self, provider: &str, model: &str, now: Duration) -> bool {
        let is_refusal =
            |known: &ReasoningRefusals| known.count >= OMITTED_AFTER_REFUSALS && known.is_current(now);
        self.with_entry(provider, |entry| entry.reasoning.get(model).is_some_and(is_refusal))
    }

    /// Records what a reply shows about the provider and its model.
    pub(crate) fn record(&self, provider: &str, model: &str, capability: ObservedCapability, now: Duration) {
        self.with_entry(provider, |entry| match capability {
            ObservedCapability::ContinuesResponses => entry.refusals = 0,
            ObservedCapability::StoresNothing => entry.is_stateless = true,
            ObservedCapability::AcceptsReasoning => _ = entry.reasoning.remove(model),
            ObservedCapability::RejectsReasoning => {
                // Only what still counts is kept, since requests may name many models.
                entry.reasoning.retain(|_, known| known.is_current(now));
                let count = entry.reasoning.get(model).map_or(0, |known| known.count).saturating_add(1);
                entry.reasoning.insert(model.to_owned(), ReasoningRefusals { count, last: now });
            }
            ObservedCapability::RejectsContinuation => {
                entry.refusals = entry.refusals.saturating_add(1);
                entry.is_stateless |= entry.refusals >= STATELESS_AFTER_REFUSALS;
            }
        });
    }

    fn with_entry<T>(&self, provider: &str, access: impl FnOnce(&mut Capabilities) -> T) -> T {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        access(entries.entry(provider.to_owned()).or_default())
    }
}

/// A failed model call.
pub(super) struct FailedCall<'a> {
    /// The reason.
    pub(super) error: &'a Error,
    /// The request that was sent.
    pub(super) request: &'a Request,
    /// True if the response had any output before it failed.
    pub(super) has_output: bool,
    /// The time left for another call.
    pub(super) time_left: Duration,
}

/// Prepares another request after a failure; false if none is left to try. The same model comes first, as long as
/// it can get the same prompt. Then comes the next model, which may have a larger context window. Last comes the
/// same model with a shorter prompt.
pub(super) fn try_recover(
    models: Models<'_>,
    turn: &Turn,
    failed: &FailedCall<'_>,
    spec: &mut TurnSpec,
    state: &mut AttemptState,
    conversation: &mut Conversation,
) -> bool {
    let FailedCall { error, request, has_output, time_left } = *failed;
    let reason = fallback_reason::classify(error, has_output).filter(|_| !time_left.is_zero());
    let is_whole = matches!(request.chain, Chain::Initial { .. });
    if let Some(reason @ FallbackReason::ContextOverflow) = reason.filter(|_| is_whole)
        && fall_back(models, turn, reason, spec, state, conversation)
    {
        return true;
    }
    conversation.try_recover(spec, error, request)
        || reason.is_some_and(|reason| fall_back(models, turn, reason, spec, state, conversation))
}

/// Switches to the turn's next model; false if there is none left. The new model gets the session's own records
/// as history, because no model can continue from another model's response.
fn fall_back(
    models: Models<'_>,
    turn: &Turn,
    reason: FallbackReason,
    spec: &mut TurnSpec,
    state: &mut AttemptState,
    conversation: &mut Conversation,
) -> bool {
    let with = models.current_target(spec).upstream();
    let Some(next) = state.next_fallback(spec, with.provider.clone(), reason) else { return false };
    let now = models.current_target(&next).upstream();
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
    *conversation = models.new_conversation(turn, spec, state, None).with_loaded_from(conversation);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stateless_provider_is_detected_by_notice_or_second_refusal() {
        let cache = CapabilityCache::default();
        let record = |provider, capability| cache.record(provider, "m", capability, Duration::ZERO);
        record("says", ObservedCapability::StoresNothing);
        for capability in [
            ObservedCapability::RejectsContinuation,
            ObservedCapability::ContinuesResponses,
            ObservedCapability::RejectsContinuation,
        ] {
            record("refuses", capability);
        }
        assert_eq!((cache.is_stateless("says"), cache.is_stateless("refuses")), (true, false));
        record("refuses", ObservedCapability::RejectsContinuation);
        assert!(cache.is_stateless("refuses") && !cache.is_stateless("another"));
    }

    #[test]
    fn reasoning_is_omitted_after_two_refusals_of_a_model_for_an_hour() {
        let (cache, minute) = (CapabilityCache::default(), Duration::from_mins(1));
        let record = |capability, at| cache.record("p", "m", capability, at);
        let refuses = |model, at| cache.refuses_reasoning("p", model, at);
        record(ObservedCapability::RejectsReasoning, Duration::ZERO);
        assert!(!refuses("m", Duration::ZERO), "one old session may be the reason");
        record(ObservedCapability::AcceptsReasoning, Duration::ZERO);
        record(ObservedCapability::RejectsReasoning, Duration::ZERO);
        assert!(!refuses("m", Duration::ZERO));
        record(ObservedCapability::RejectsReasoning, minute);
        assert!(refuses("m", 60 * minute) && !refuses("other", 60 * minute));
        assert!(!refuses("m", 61 * minute), "it is asked again");
        record(ObservedCapability::RejectsReasoning, 61 * minute);
        assert!(!refuses("m", 61 * minute), "older refusals don't count");
    }
}
