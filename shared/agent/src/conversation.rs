//! The conversation as a turn's next request tells it: by the provider's memory, or by this service.

use contracts::request::UserTurn;
use protocol::{
    chain::{ChainPolicy, Keeper, Rebuild, Start},
    session::SolutionContext,
    turn::Turn,
};

use crate::{
    call::Reader,
    history::{self, Earlier, LeftOut, Now, Telling},
    known::Solutions,
    mode::Catalog,
    model::{Chain, Error, Reply, Request, Told},
    progress::{Plan, Progress},
    sum_up::Due,
};

/// What the user is told when the model gets less than the whole conversation.
const SHORTENED: &str =
    "Only the newest part of this conversation was sent to the model; older turns were left out.";

/// What the user is told when the session's own records could not be read.
const UNREADABLE: &str =
    "Some earlier turns of this conversation could not be read; the answer was written without them.";

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

/// What a reply shows of its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lesson {
    /// It went on from a response that it kept.
    KeptChain,
    /// It refused to, or did not.
    RefusedChain,
    /// It says that it keeps nothing.
    KeepsNone,
    /// It replies to those alone that don't ask for the model's reasoning.
    TellsNoReasoning,
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
    /// How many tokens of them were told last.
    told_tokens: u32,
    /// The provider.
    provider: String,
    /// Whether it turned out to keep no chains.
    keeps_none: bool,
    /// Whether it refused to go on from a reply, and has not replied since.
    refused: bool,
    /// Whether the provider refused to tell reasoning, or to be told it.
    without_reasoning: bool,
    /// Whether it can't read a file of an earlier turn.
    without_files: bool,
}

impl Conversation {
    /// The same with a provider that does not tell a model's reasoning.
    #[must_use]
    pub fn without_reasoning(self, without_reasoning: bool) -> Self {
        Self { without_reasoning, ..self }
    }

    /// Where an attempt begins: the turn's first model call at `start`, a later one at the last reply.
    #[must_use]
    pub fn new(
        start: &Start,
        plan: &Plan,
        progress: &Progress,
        request: Option<UserTurn>,
        provider: &str,
    ) -> Self {
        // A reply of this very turn is gone on from, unless another model or provider is asked by now.
        let moved = match (&progress.provider, &progress.asked) {
            (Some(answered), _) if answered != provider => Some(Rebuild::OtherProvider),
            (_, Some(asked)) if *asked != plan.model => Some(Rebuild::OtherModel),
            _ => None,
        };
        let keeps_none = progress.keeps_no_chain.as_deref() == Some(provider);
        let rebuild = match &progress.response_id {
            Some(_) if keeps_none => start.rebuild().or(Some(Rebuild::Lost)),
            Some(_) if plan.chain == Keeper::Provider => moved,
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
            told_tokens: 0,
            provider: provider.to_owned(),
            keeps_none,
            refused: false,
            without_reasoning: false,
            without_files: false,
        }
    }

    /// The same, with what was read for the conversation before it.
    #[must_use]
    pub fn having_read(self, before: &mut Self) -> Self {
        Self { solution: before.solution.take(), earlier: before.earlier.take(), ..self }
    }

    /// The response that the next request goes on from; none for one that begins a chain.
    #[must_use]
    pub fn previous_response_id<'a>(&'a self, plan: &Plan, progress: &'a Progress) -> Option<&'a str> {
        let previous = progress.response_id.as_ref().or(self.previous_response_id.as_ref());
        let remembered = self.is_kept(plan) && self.rebuild.is_none();
        previous.filter(|_| remembered).map(String::as_str)
    }

    /// Whether the next request tells the user's own words: the first of the turn, or of a chain.
    #[must_use]
    pub fn tells_request(&self, plan: &Plan, progress: &Progress) -> bool {
        self.previous_response_id(plan, progress).is_none() || progress.response_id.is_none()
    }

    /// Whether the provider is to keep what it replies, to go on from.
    #[must_use]
    pub fn is_kept(&self, plan: &Plan) -> bool {
        plan.chain == Keeper::Provider && !self.keeps_none && !self.refused
    }

    /// What has to be read before the next request can be composed.
    #[must_use]
    pub fn missing(&self, plan: &Plan, progress: &Progress) -> Missing {
        let begins = self.previous_response_id(plan, progress).is_none();
        let is_untold = |latched: &SolutionContext| begins || progress.told_solution != Some(latched.text);
        Missing {
            request: self.request.is_none() && self.tells_request(plan, progress),
            earlier: (self.rebuild.is_some() && self.earlier.is_none()).then_some(self.room),
            solution: plan.solution.clone().filter(|latched| is_untold(latched) && self.solution.is_none()),
        }
    }

    /// The texts of solution contexts that are at hand.
    pub(crate) fn solutions(&self, plan: &Plan) -> Solutions {
        let earlier = self.earlier.as_ref().map(|earlier| earlier.solutions.clone()).unwrap_or_default();
        let latched = plan.solution.as_ref().map(|latched| latched.text).zip(self.solution.clone());
        earlier.into_iter().chain(latched).collect()
    }

    /// Who is told the reasoning of earlier replies.
    pub(crate) fn reader<'a>(&'a self, plan: &'a Plan) -> Option<Reader<'a>> {
        let reader = Reader { model: &plan.model, provider: &self.provider };
        Some(reader).filter(|_| self.tells_reasoning(plan))
    }

    /// Whether reasoning goes to and fro: where the provider keeps nothing, it can't keep that either.
    pub(crate) fn tells_reasoning(&self, plan: &Plan) -> bool {
        !self.is_kept(plan) && !self.without_reasoning
    }

    /// The earlier turns as the next request tells them, and what the user has to know about it.
    pub(crate) fn telling(
        &mut self,
        turn: &Turn,
        plan: &Plan,
        progress: &mut Progress,
        catalog: &Catalog,
    ) -> Telling {
        let now = Now {
            place: turn.place(),
            mode: &turn.mode,
            solution: plan.solution.as_ref().filter(|_| self.solution.is_some()),
            reader: self.reader(plan),
            room: self.room,
            summary: progress.window.as_ref().and_then(|window| window.summary.as_ref()),
            briefly: self.without_files,
        };
        let nothing = Earlier::default();
        let earlier = self.earlier.as_ref().filter(|_| self.rebuild.is_some()).unwrap_or(&nothing);
        let telling = history::tell(earlier, now, catalog);
        // Where a line begins there is nothing that could have been lost.
        let warning = self.rebuild.and_then(Rebuild::warning).filter(|_| !turn.after.is_nothing());
        let first = earlier.exchanges.first().map_or(turn.place(), |exchange| exchange.place);
        let is_short = earlier.left_out != LeftOut::Nothing || telling.window.from > first;
        if let Some(warning) = warning {
            progress.warn(warning);
        }
        match earlier.left_out {
            LeftOut::Unreadable => progress.warn(UNREADABLE),
            _ if is_short && (warning.is_some() || self.shrunk) => progress.warn(SHORTENED),
            LeftOut::NoRoom | LeftOut::Before | LeftOut::Nothing => {}
        }
        if let Some(warning) = not_repeated(&telling.not_repeated) {
            progress.warn(&warning);
        }
        self.told_tokens = telling.tokens;
        telling
    }

    /// Which turns the model has to sum up before it is told this; none where no earlier turns are told.
    pub(crate) fn due(&self, plan: &Plan, progress: &Progress, telling: &Telling) -> Option<Due> {
        self.rebuild.and_then(|_| Due::of(plan, progress, telling, self.room))
    }

    /// Whether a reply was written without what came before it: the provider took the request, and did not
    /// go on from the response that it named.
    #[must_use]
    pub fn is_forgotten(&self, plan: &Plan, request: &Request, reply: &Reply) -> bool {
        let chained = matches!(request.chain, Chain::Continues { .. });
        chained && !reply.kept && plan.chain_policy == ChainPolicy::Auto
    }

    /// A reply came: what it goes on from is with the provider now, or nothing ever is. What that says of the
    /// provider is remembered with the turn, and then with its session.
    pub fn replied(
        &mut self,
        plan: &Plan,
        request: &Request,
        reply: &Reply,
        progress: &mut Progress,
    ) -> Vec<Lesson> {
        let chained = matches!(request.chain, Chain::Continues { .. });
        let lesson = match plan.chain_policy {
            // The request that told everything itself was taken: it was the chain that was refused.
            ChainPolicy::Auto if self.refused => Some(Lesson::RefusedChain),
            ChainPolicy::Auto if request.store && !reply.kept => Some(Lesson::KeepsNone),
            _ => (chained && reply.kept).then_some(Lesson::KeptChain),
        };
        if matches!(lesson, Some(Lesson::RefusedChain | Lesson::KeepsNone)) {
            (self.refused, self.keeps_none) = (false, true);
            progress.keeps_no_chain = Some(self.provider.clone());
        }
        if self.is_kept(plan) {
            self.rebuild = None;
        }
        let reasoning = (self.without_reasoning && !self.is_kept(plan)).then_some(Lesson::TellsNoReasoning);
        lesson.into_iter().chain(reasoning).collect()
    }

    /// Whether another request may get what this one did not: one that tells the earlier turns itself, then
    /// one with half of them, then one without any.
    pub fn can_recover(&mut self, plan: &Plan, error: &Error, request: &Request) -> bool {
        match (error, &request.chain) {
            (Error::ChainLost, Chain::Continues { .. }) => {
                self.rebuild = Some(Rebuild::Lost);
                self.refused = plan.chain_policy == ChainPolicy::Auto;
            }
            (Error::ContextTooLong, Chain::Continues { .. }) => self.rebuild = Some(Rebuild::TooLong),
            (Error::ContextTooLong, Chain::Initial { .. }) if self.told_tokens > 0 => {
                // Of the room a quarter is made free: what is told then is half of what was.
                self.room = if self.shrunk { 0 } else { self.told_tokens / 3 * 2 };
                self.shrunk = true;
            }
            // Another provider may have read what this one can't.
            (Error::AttachmentRefused, Chain::Initial { told, .. })
                if !self.without_files && has_attachments(told) =>
            {
                self.without_files = true;
            }
            // Some models have no reasoning to tell, and some keys that it was encrypted with are gone.
            (Error::Rejected { .. }, _) if request.reasoning_wanted => self.without_reasoning = true,
            _ => return false,
        }
        true
    }
}

fn has_attachments(told: &[Told]) -> bool {
    told.iter().any(|told| matches!(told, Told::Said(message) if !message.attachments.is_empty()))
}

/// How many files a warning names.
const MOST_NAMED: usize = 16;

/// What the user is told about files of earlier turns that the model does not get again.
fn not_repeated(files: &[String]) -> Option<String> {
    let named = files.get(..MOST_NAMED).unwrap_or(files).join(", ");
    let more = match files.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let warning = format!(
        "These files of earlier turns were named to the model, and not repeated: {named}{more}. Send one again to \
         have it looked at."
    );
    (!files.is_empty()).then_some(warning)
}
