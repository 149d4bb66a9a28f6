//! The conversation as the turn's next request tells it: by the provider's memory, or by this service.

use contracts::request::UserTurn;

use super::history::{Earlier, LeftOut};
use agent::{
    history,
    model::{Chain, Error, Exchange, Request},
    progress::{Plan, Progress},
};
use protocol::{
    chain::{ChainPolicy, Rebuild},
    turn::Turn,
};

/// What the user is told when the model gets less than the whole conversation.
const SHORTENED: &str =
    "Only the newest part of this conversation was sent to the model; older turns were left out.";

/// What the user is told when the session's own records could not be read.
const UNREADABLE: &str =
    "Some earlier turns of this conversation could not be read; the answer was written without them.";

/// How the conversation gets to the model, from request to request of one attempt.
#[derive(Debug)]
pub(super) struct Conversation {
    /// The user's request, once it is at hand.
    pub(super) request: Option<UserTurn>,
    /// The text of the solution context, once it was read.
    pub(super) solution: Option<String>,
    /// Why the earlier turns are told; none while the provider remembers them, or when there are none.
    rebuild: Option<Rebuild>,
    /// The earlier turns, once they were read.
    earlier: Option<Earlier>,
    /// How many tokens of them are told.
    room: u32,
    /// Whether that is less than it might be, because it was too long for the model.
    shrunk: bool,
}

impl Conversation {
    /// Where an attempt begins.
    pub(super) fn new(
        turn: &Turn,
        plan: &Plan,
        progress: &Progress,
        request: Option<UserTurn>,
        provider: &str,
    ) -> Self {
        // A reply of this very turn is gone on from, unless the provider changed while the client ran tools.
        let moved = progress.provider.as_deref().is_some_and(|answered| answered != provider);
        let rebuild = match &progress.response_id {
            Some(_) if plan.chain == ChainPolicy::Provider => moved.then_some(Rebuild::OtherProvider),
            Some(_) | None => turn.rebuild,
        };
        let room = plan.history_tokens;
        Self { request, solution: None, rebuild, earlier: None, room, shrunk: false }
    }

    /// The response that the next request goes on from; none for one that begins a chain.
    pub(super) fn continues(&self, turn: &Turn, plan: &Plan, progress: &Progress) -> Option<String> {
        let previous = progress.response_id.as_ref().or(turn.previous_response_id.as_ref());
        let remembered = plan.chain == ChainPolicy::Provider && self.rebuild.is_none();
        previous.filter(|_| remembered).cloned()
    }

    /// How many tokens of earlier turns have to be read; none when they are not told, or at hand.
    pub(super) fn wants_history(&self) -> Option<u32> {
        (self.rebuild.is_some() && self.earlier.is_none()).then_some(self.room)
    }

    /// The earlier turns were read.
    pub(super) fn has(&mut self, earlier: Earlier) {
        self.earlier = Some(earlier);
    }

    /// The earlier turns as the next request tells them, and what the user has to know about it.
    pub(super) fn history(&self, progress: &mut Progress) -> Vec<Exchange> {
        let (Some(why), Some(earlier)) = (self.rebuild, &self.earlier) else {
            return Vec::new();
        };
        if let Some(warning) = why.warning() {
            progress.warn(warning);
        }
        match earlier.left_out {
            LeftOut::Unreadable => progress.warn(UNREADABLE),
            LeftOut::NoRoom if why.warning().is_some() => progress.warn(SHORTENED),
            LeftOut::NoRoom | LeftOut::Nothing if self.shrunk => progress.warn(SHORTENED),
            LeftOut::NoRoom | LeftOut::Nothing => {}
        }
        history::newest_within(&earlier.exchanges, self.room).to_vec()
    }

    /// A reply came: what it goes on from is with the provider now.
    pub(super) fn replied(&mut self, plan: &Plan) {
        if plan.chain == ChainPolicy::Provider {
            self.rebuild = None;
        }
    }

    /// Whether another request may get what this one did not: one that tells the earlier turns itself, then
    /// one with half of them, then one without any.
    pub(super) fn can_recover(&mut self, error: &Error, request: &Request) -> bool {
        match (error, &request.chain) {
            (Error::ChainLost, Chain::Continues { .. }) => self.rebuild = Some(Rebuild::Lost),
            (Error::ContextTooLong, Chain::Continues { .. }) => self.rebuild = Some(Rebuild::TooLong),
            (Error::ContextTooLong, Chain::Initial { history, .. }) if !history.is_empty() => {
                self.room = if self.shrunk { 0 } else { history::total(history) / 2 };
                self.shrunk = true;
            }
            _ => return false,
        }
        true
    }
}
