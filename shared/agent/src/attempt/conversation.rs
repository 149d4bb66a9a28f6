//! The conversation of an attempt: continued from the provider's stored responses, or replayed by this service.

use contracts::request::UserTurn;
use protocol::{
    chain::{ChainStart, ConversationStatePolicy, HistoryOwner, ReplayReason},
    session::SolutionContext,
    turn::Turn,
};

use crate::{
    attempt::{AttemptState, TurnSpec},
    history::{
        self, LoadedHistory, RenderTarget, RenderedHistory, Truncation, compaction::CompactionRange,
        rounds::ReasoningReader,
    },
    mode::Catalog,
    model::{Chain, Error, HistoryItem, Reply, Request},
    prompt::prompt_state::SolutionTexts,
};

/// Warning for the user if the model gets only part of the conversation.
const HISTORY_TRUNCATED: &str =
    "Only the newest part of this conversation was sent to the model; older turns were left out.";

/// Warning for the user if the session's own records can't be read.
const HISTORY_UNREADABLE: &str =
    "Some earlier turns of this conversation could not be read; the answer was written without them.";

/// Data that the next request needs and that isn't loaded yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingData {
    /// Set if the user's request is needed.
    pub request: bool,
    /// Token budget for the earlier turns, if they are needed.
    pub history: Option<u32>,
    /// The solution context whose text is needed.
    pub solution: Option<SolutionContext>,
}

/// A capability of a provider, observed in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObservedCapability {
    /// It continued from a response that it stored.
    ContinuesResponses,
    /// It rejected or ignored the response to continue from.
    RejectsContinuation,
    /// It reports that it stores nothing.
    StoresNothing,
    /// It replies only to requests that don't ask for reasoning.
    RejectsReasoning,
}

/// The conversation with one model, from request to request of an attempt.
#[derive(Debug)]
pub struct Conversation {
    /// The user's request, once loaded.
    pub request: Option<UserTurn>,
    /// The text of the solution context, once loaded.
    pub solution_text: Option<String>,
    /// The earlier turns, once loaded.
    pub history: Option<LoadedHistory>,
    /// The response that the turn's first model call continues from.
    previous_response_id: Option<String>,
    /// The reason to replay the earlier turns; none if the provider stores them or there are none.
    replay_reason: Option<ReplayReason>,
    /// Token budget for the earlier turns.
    token_budget: u32,
    /// True if the budget was reduced because the conversation was too long for the model.
    is_shrunk: bool,
    /// Tokens of earlier turns in the last request.
    replayed_tokens: u32,
    /// The provider's id.
    provider: String,
    /// True if the provider doesn't store responses.
    is_stateless: bool,
    /// True if the provider refused to continue from a response and hasn't replied since.
    rejected_continuation: bool,
    /// True if the provider doesn't accept or return reasoning.
    omits_reasoning: bool,
    /// True if the provider can't read a file of an earlier turn.
    omits_files: bool,
}

impl Conversation {
    /// Sets that the provider doesn't accept or return reasoning.
    #[must_use]
    pub fn with_reasoning_omitted(self, omits_reasoning: bool) -> Self {
        Self { omits_reasoning, ..self }
    }

    /// Creates the conversation of an attempt. It continues from `start` before the turn's first reply, and from the
    /// last reply after it.
    #[must_use]
    pub fn new(
        start: &ChainStart,
        spec: &TurnSpec,
        state: &AttemptState,
        request: Option<UserTurn>,
        provider: &str,
    ) -> Self {
        // This turn's own reply can be continued, unless the model or the provider has changed since.
        let switched = match &state.chain.reply {
            Some(reply) if reply.provider != provider => Some(ReplayReason::ProviderChanged),
            Some(reply) if reply.model != spec.route.model => Some(ReplayReason::ModelChanged),
            Some(_) | None => None,
        };
        let is_stateless = state.chain.stateless_provider.as_deref() == Some(provider);
        let replay_reason = match &state.chain.response_id {
            Some(_) if is_stateless => start.replay_reason().or(Some(ReplayReason::NotFound)),
            Some(_) if spec.history.owner == HistoryOwner::Provider => switched,
            Some(_) | None => start.replay_reason(),
        };
        Self {
            request,
            solution_text: None,
            history: None,
            previous_response_id: start.previous_response_id().map(str::to_owned),
            replay_reason,
            token_budget: spec.history.tokens,
            is_shrunk: false,
            replayed_tokens: 0,
            provider: provider.to_owned(),
            is_stateless,
            rejected_continuation: false,
            omits_reasoning: false,
            omits_files: false,
        }
    }

    /// Takes over the data that was loaded for the previous conversation.
    #[must_use]
    pub fn with_loaded_from(self, before: &mut Self) -> Self {
        Self { solution_text: before.solution_text.take(), history: before.history.take(), ..self }
    }

    /// Returns the response that the next request continues from; none if it starts a chain.
    #[must_use]
    pub fn previous_response_id<'a>(&'a self, spec: &TurnSpec, state: &'a AttemptState) -> Option<&'a str> {
        let previous = state.chain.response_id.as_ref().or(self.previous_response_id.as_ref());
        let remembered = self.provider_stores(spec) && self.replay_reason.is_none();
        previous.filter(|_| remembered).map(String::as_str)
    }

    /// True if the next request contains the user's own message: the first of the turn or of a chain.
    #[must_use]
    pub fn includes_user_request(&self, spec: &TurnSpec, state: &AttemptState) -> bool {
        self.previous_response_id(spec, state).is_none() || state.chain.response_id.is_none()
    }

    /// True if the provider stores its responses for later requests to continue from.
    #[must_use]
    pub fn provider_stores(&self, spec: &TurnSpec) -> bool {
        spec.history.owner == HistoryOwner::Provider && !self.is_stateless && !self.rejected_continuation
    }

    /// Returns the data to load before the next request can be composed.
    #[must_use]
    pub fn missing_data(&self, spec: &TurnSpec, state: &AttemptState) -> MissingData {
        let starts_chain = self.previous_response_id(spec, state).is_none();
        let needs_text =
            |latched: &SolutionContext| starts_chain || state.prompt.solution != Some(latched.text);
        MissingData {
            request: self.request.is_none() && self.includes_user_request(spec, state),
            history: (self.replay_reason.is_some() && self.history.is_none()).then_some(self.token_budget),
            solution: spec
                .prompt
                .solution
                .clone()
                .filter(|latched| needs_text(latched) && self.solution_text.is_none()),
        }
    }

    /// Returns the loaded texts of solution contexts.
    pub(crate) fn solution_texts(&self, spec: &TurnSpec) -> SolutionTexts {
        let history = self.history.as_ref().map(|history| history.solution_texts.clone()).unwrap_or_default();
        let latched =
            spec.prompt.solution.as_ref().map(|latched| latched.text).zip(self.solution_text.clone());
        history.into_iter().chain(latched).collect()
    }

    /// Returns the model that gets the reasoning of earlier replies, if any.
    pub(crate) fn reasoning_reader<'a>(&'a self, spec: &'a TurnSpec) -> Option<ReasoningReader<'a>> {
        let reasoning_reader = ReasoningReader { model: &spec.route.model, provider: &self.provider };
        Some(reasoning_reader).filter(|_| self.replays_reasoning(spec))
    }

    /// True if requests carry reasoning. A provider that stores nothing can't store reasoning either.
    pub(crate) fn replays_reasoning(&self, spec: &TurnSpec) -> bool {
        !self.provider_stores(spec) && !self.omits_reasoning
    }

    /// Renders the earlier turns for the next request, and adds the warnings that the user needs.
    pub(crate) fn render_history(
        &mut self,
        turn: &Turn,
        spec: &TurnSpec,
        state: &mut AttemptState,
        catalog: &Catalog,
    ) -> RenderedHistory {
        let target = RenderTarget {
            depth: turn.depth(),
            mode: &turn.mode,
            solution: spec.prompt.solution.as_ref().filter(|_| self.solution_text.is_some()),
            reasoning_reader: self.reasoning_reader(spec),
            token_budget: self.token_budget,
            summary: state.history.summary(),
            omits_files: self.omits_files,
        };
        let nothing = LoadedHistory::default();
        let history = self.history.as_ref().filter(|_| self.replay_reason.is_some()).unwrap_or(&nothing);
        let rendered = history::render(history, target, catalog);
        // At the start of an ancestry, nothing can have been lost.
        let warning = self.replay_reason.and_then(ReplayReason::warning).filter(|_| !turn.parent.is_none());
        let first = history.exchanges.first().map_or(turn.depth(), |exchange| exchange.depth);
        let is_truncated = history.truncation != Truncation::None || rendered.window.from > first;
        if let Some(warning) = warning {
            state.effects.warn(warning);
        }
        match history.truncation {
            Truncation::Unreadable => state.effects.warn(HISTORY_UNREADABLE),
            _ if is_truncated && (warning.is_some() || self.is_shrunk) => {
                state.effects.warn(HISTORY_TRUNCATED)
            }
            Truncation::TokenBudget | Truncation::WindowStart | Truncation::None => {}
        }
        if let Some(warning) = omitted_files_warning(&rendered.omitted_files) {
            state.effects.warn(&warning);
        }
        self.replayed_tokens = rendered.tokens;
        rendered
    }

    /// Returns the turns to summarize before this request; none if no earlier turns are replayed.
    pub(crate) fn compaction_range(
        &self,
        spec: &TurnSpec,
        state: &AttemptState,
        rendered: &RenderedHistory,
    ) -> Option<CompactionRange> {
        self.replay_reason.and_then(|_| CompactionRange::needed(spec, state, rendered, self.token_budget))
    }

    /// True if the provider accepted the request but ignored the response that it continues from. The reply was then
    /// written without the conversation.
    #[must_use]
    pub fn lost_context(&self, spec: &TurnSpec, request: &Request, reply: &Reply) -> bool {
        let chained = matches!(request.chain, Chain::Continues { .. });
        chained && !reply.is_stored && spec.history.policy == ConversationStatePolicy::Auto
    }

    /// Records a reply and returns the capabilities that it shows, which the turn and then its session remember. From
    /// now on the provider either stores the conversation or never does.
    pub fn record_reply(
        &mut self,
        spec: &TurnSpec,
        request: &Request,
        reply: &Reply,
        state: &mut AttemptState,
    ) -> Vec<ObservedCapability> {
        let chained = matches!(request.chain, Chain::Continues { .. });
        let capability = match spec.history.policy {
            // The provider accepted the replayed conversation, so its refusal was about continuing.
            ConversationStatePolicy::Auto if self.rejected_continuation => {
                Some(ObservedCapability::RejectsContinuation)
            }
            ConversationStatePolicy::Auto if request.store && !reply.is_stored => {
                Some(ObservedCapability::StoresNothing)
            }
            _ => (chained && reply.is_stored).then_some(ObservedCapability::ContinuesResponses),
        };
        if matches!(
            capability,
            Some(ObservedCapability::RejectsContinuation | ObservedCapability::StoresNothing)
        ) {
            (self.rejected_continuation, self.is_stateless) = (false, true);
            state.chain.stateless_provider = Some(self.provider.clone());
        }
        if self.provider_stores(spec) {
            self.replay_reason = None;
        }
        let reasoning = (self.omits_reasoning && !self.provider_stores(spec))
            .then_some(ObservedCapability::RejectsReasoning);
        capability.into_iter().chain(reasoning).collect()
    }

    /// Prepares another request after a failure, and returns false if none may succeed. It first replays the earlier
    /// turns, then half of them, then none.
    pub fn try_recover(&mut self, spec: &TurnSpec, error: &Error, request: &Request) -> bool {
        match (error, &request.chain) {
            (Error::ChainLost, Chain::Continues { .. }) => {
                self.replay_reason = Some(ReplayReason::NotFound);
                self.rejected_continuation = spec.history.policy == ConversationStatePolicy::Auto;
            }
            (Error::ContextTooLong, Chain::Continues { .. }) => {
                self.replay_reason = Some(ReplayReason::TooLong)
            }
            (Error::ContextTooLong, Chain::Initial { .. }) if self.replayed_tokens > 0 => {
                // A new window uses three quarters of its budget, so two thirds of the last size gives half of it.
                self.token_budget = if self.is_shrunk { 0 } else { self.replayed_tokens / 3 * 2 };
                self.is_shrunk = true;
            }
            // Another provider may have read a file that this one can't.
            (Error::AttachmentRefused, Chain::Initial { history, .. })
                if !self.omits_files && has_attachments(history) =>
            {
                self.omits_files = true;
            }
            // Some models have no reasoning, and some encryption keys of reasoning are gone.
            (Error::Rejected { .. }, _) if request.wants_reasoning => self.omits_reasoning = true,
            _ => return false,
        }
        true
    }
}

fn has_attachments(items: &[HistoryItem]) -> bool {
    items.iter().any(|item| matches!(item, HistoryItem::Message(message) if !message.attachments.is_empty()))
}

/// Maximum number of files that a warning names.
const MAX_NAMED_FILES: usize = 16;

/// Returns the warning about files of earlier turns that the model doesn't get again, if any.
fn omitted_files_warning(files: &[String]) -> Option<String> {
    let named = files.get(..MAX_NAMED_FILES).unwrap_or(files).join(", ");
    let more = match files.len().saturating_sub(MAX_NAMED_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let warning = format!(
        "These files of earlier turns were named to the model, and not repeated: {named}{more}. Send one again to \
         have it looked at."
    );
    (!files.is_empty()).then_some(warning)
}
