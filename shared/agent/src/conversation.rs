//! The conversation as a turn's next request tells it: by the provider's memory, or by this service.

use contracts::request::UserTurn;
use protocol::{
    chain::{ChainPolicy, Rebuild, Start},
    session::SolutionContext,
};

use crate::{
    history,
    model::{Chain, Error, Exchange, Request},
    progress::{Plan, Progress},
};

/// What the user is told when the model gets less than the whole conversation.
const SHORTENED: &str =
    "Only the newest part of this conversation was sent to the model; older turns were left out.";

/// What the user is told when the session's own records could not be read.
const UNREADABLE: &str =
    "Some earlier turns of this conversation could not be read; the answer was written without them.";

/// What came before a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Completed turns, oldest first.
    pub exchanges: Vec<Exchange>,
    /// Why these are not all there are.
    pub left_out: LeftOut,
}

/// Why the telling of earlier turns stops short of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// It does not.
    Nothing,
    /// The next one did not fit, or there are too many.
    NoRoom,
    /// The next one could not be read.
    Unreadable,
}

/// What the next request has to tell and is not at hand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missing {
    /// The user's own request.
    pub request: bool,
    /// Earlier turns, of at most so many tokens.
    pub earlier: Option<u32>,
    /// The text of the session's solution context.
    pub solution: Option<SolutionContext>,
}

/// How the conversation gets to the model, from request to request of one attempt.
#[derive(Debug)]
pub struct Conversation {
    /// The user's request, once it is at hand.
    pub request: Option<UserTurn>,
    /// The text of the solution context, once it was read.
    pub solution: Option<String>,
    /// The earlier turns, once they were read.
    pub earlier: Option<Earlier>,
    /// The response that the turn's first model call goes on from.
    previous_response_id: Option<String>,
    /// Why the earlier turns are told; none while the provider remembers them, or when there are none.
    rebuild: Option<Rebuild>,
    /// How many tokens of them are told.
    room: u32,
    /// Whether that is less than it might be, because it was too long for the model.
    shrunk: bool,
}

impl Conversation {
    /// Where an attempt begins: the turn's first model call at `start`, a later one at the last reply.
    #[must_use]
    pub fn new(
        start: &Start,
        plan: &Plan,
        progress: &Progress,
        request: Option<UserTurn>,
        provider: &str,
    ) -> Self {
        // A reply of this very turn is gone on from, unless the provider changed while the client ran tools.
        let moved = progress.provider.as_deref().is_some_and(|answered| answered != provider);
        let rebuild = match &progress.response_id {
            Some(_) if plan.chain == ChainPolicy::Provider => moved.then_some(Rebuild::OtherProvider),
            Some(_) | None => start.rebuild(),
        };
        Self {
            request,
            solution: None,
            earlier: None,
            previous_response_id: start.previous_response_id().map(str::to_owned),
            rebuild,
            room: plan.history_tokens,
            shrunk: false,
        }
    }

    /// The response that the next request goes on from; none for one that begins a chain.
    #[must_use]
    pub fn previous_response_id<'a>(&'a self, plan: &Plan, progress: &'a Progress) -> Option<&'a str> {
        let previous = progress.response_id.as_ref().or(self.previous_response_id.as_ref());
        let remembered = plan.chain == ChainPolicy::Provider && self.rebuild.is_none();
        previous.filter(|_| remembered).map(String::as_str)
    }

    /// Whether the next request tells the user's own words: the first of the turn, or of a chain.
    #[must_use]
    pub fn tells_request(&self, plan: &Plan, progress: &Progress) -> bool {
        self.previous_response_id(plan, progress).is_none() || progress.response_id.is_none()
    }

    /// What has to be read before the next request can be composed.
    #[must_use]
    pub fn missing(&self, plan: &Plan, progress: &Progress) -> Missing {
        let told = self.told_solution(plan, progress);
        Missing {
            request: self.request.is_none() && self.tells_request(plan, progress),
            earlier: (self.rebuild.is_some() && self.earlier.is_none()).then_some(self.room),
            solution: plan
                .solution
                .clone()
                .filter(|latched| told != Some(latched.text) && self.solution.is_none()),
        }
    }

    /// The solution context that the chain of the next request was last told.
    pub(crate) fn told_solution(&self, plan: &Plan, progress: &Progress) -> Option<contracts::Fingerprint> {
        progress.told_solution.filter(|_| self.previous_response_id(plan, progress).is_some())
    }

    /// The earlier turns as the next request tells them, and what the user has to know about it.
    pub(crate) fn history(&self, progress: &mut Progress) -> Vec<Exchange> {
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
    pub fn replied(&mut self, plan: &Plan) {
        if plan.chain == ChainPolicy::Provider {
            self.rebuild = None;
        }
    }

    /// Whether another request may get what this one did not: one that tells the earlier turns itself, then
    /// one with half of them, then one without any.
    pub fn can_recover(&mut self, error: &Error, request: &Request) -> bool {
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
