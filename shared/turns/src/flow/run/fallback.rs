//! Fallback to the next model when one can't answer.

use std::time::Duration;

use agent::{
    attempt::{AttemptState, TurnSpec},
    model::{Chain, Error, Request, fallback_reason},
    prompt::conversation::Conversation,
};
use protocol::{chain, detail::FallbackReason, turn::Turn};

use crate::flow::run::models::{Models, chain_start};

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
