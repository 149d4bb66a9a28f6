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

/// The data that was loaded for the requests of a turn.
#[derive(Debug, Default)]
pub struct LoadedData {
    /// The user's request.
    pub request: Option<UserTurn>,
    /// The text of the solution context.
    pub solution_text: Option<String>,
    /// The earlier turns.
    pub history: Option<LoadedHistory>,
}

impl LoadedData {
    /// Adds more loaded data.
    pub fn extend(&mut self, more: Self) {
        let Self { request, solution_text, history } = more;
        self.request = request.or(self.request.take());
        self.solution_text = solution_text.or(self.solution_text.take());
        self.history = history.or(self.history.take());
    }
}

/// The source of the conversation before the next request.
#[derive(Debug)]
enum History {
    /// The provider's stored responses.
    Continued {
        /// The response that the turn's first model call continues from; none if it starts a chain.
        previous_response_id: Option<String>,
    },
    /// This service, which replays the earlier turns.
    Replayed {
        /// The reason to replay them; none if there are none.
        reason: Option<ReplayReason>,
        /// The provider's storage of responses, for the requests after this one.
        storage: ResponseStorage,
    },
}

/// The provider's storage of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseStorage {
    /// Responses are stored.
    Enabled,
    /// The provider refused to continue from a response and hasn't replied since.
    Doubtful,
    /// The provider stores nothing, or must not.
    Disabled,
}

/// The limits of the replayed turns.
#[derive(Debug)]
struct ReplayLimits {
    /// Token budget for the earlier turns.
    token_budget: u32,
    /// True if the budget was reduced because the conversation was too long for the model.
    is_shrunk: bool,
    /// Tokens of earlier turns in the last request.
    used_tokens: u32,
    /// True if the provider doesn't accept or return reasoning.
    omits_reasoning: bool,
    /// True if the provider can't read a file of an earlier turn.
    omits_files: bool,
}

/// The conversation with one model, from request to request of an attempt.
#[derive(Debug)]
pub struct Conversation {
    /// The data that was loaded for its requests.
    pub loaded: LoadedData,
    /// The provider's id.
    provider: String,
    /// The source of the conversation before the next request.
    history: History,
    /// The limits of a replay.
    limits: ReplayLimits,
}

impl Conversation {
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
        let is_stateless = state.chain.stateless_provider.as_deref() == Some(provider);
        let reason = match &state.chain.response_id {
            Some(_) if is_stateless => start.replay_reason().or(Some(ReplayReason::NotFound)),
            Some(_) if spec.history.owner == HistoryOwner::Provider => switch_reason(spec, state, provider),
            Some(_) | None => start.replay_reason(),
        };
        let is_stored = spec.history.owner == HistoryOwner::Provider && !is_stateless;
        let history = match reason {
            None if is_stored => {
                let previous_response_id = start.previous_response_id().map(str::to_owned);
                History::Continued { previous_response_id }
            }
            reason if is_stored => History::Replayed { reason, storage: ResponseStorage::Enabled },
            reason => History::Replayed { reason, storage: ResponseStorage::Disabled },
        };
        Self {
            loaded: LoadedData { request, ..LoadedData::default() },
            provider: provider.to_owned(),
            history,
            limits: ReplayLimits {
                token_budget: spec.history.tokens,
                is_shrunk: false,
                used_tokens: 0,
                omits_reasoning: false,
                omits_files: false,
            },
        }
    }

    /// Sets that the provider doesn't accept or return reasoning.
    #[must_use]
    pub fn with_reasoning_omitted(mut self, omits_reasoning: bool) -> Self {
        self.limits.omits_reasoning = omits_reasoning;
        self
    }

    /// Takes over the data that was loaded for the previous conversation.
    #[must_use]
    pub fn with_loaded_from(self, before: &mut Self) -> Self {
        Self { loaded: std::mem::take(&mut before.loaded), ..self }
    }

    /// Returns the response that the next request continues from; none if it starts a chain.
    #[must_use]
    pub fn previous_response_id<'a>(&'a self, state: &'a AttemptState) -> Option<&'a str> {
        match &self.history {
            History::Continued { previous_response_id } => {
                state.chain.response_id.as_deref().or(previous_response_id.as_deref())
            }
            History::Replayed { .. } => None,
        }
    }

    /// True if the next request contains the user's own message: the first of the turn or of a chain.
    #[must_use]
    pub fn includes_user_request(&self, state: &AttemptState) -> bool {
        self.previous_response_id(state).is_none() || state.chain.response_id.is_none()
    }

    /// True if the provider stores its responses for later requests to continue from.
    #[must_use]
    pub fn provider_stores(&self) -> bool {
        match self.history {
            History::Continued { .. } => true,
            History::Replayed { storage, .. } => storage == ResponseStorage::Enabled,
        }
    }

    /// Returns the reason to replay the earlier turns; none if the provider stores them or there are none.
    fn replay_reason(&self) -> Option<ReplayReason> {
        match self.history {
            History::Continued { .. } => None,
            History::Replayed { reason, .. } => reason,
        }
    }

    /// Returns the data to load before the next request can be composed.
    #[must_use]
    pub fn missing_data(&self, spec: &TurnSpec, state: &AttemptState) -> MissingData {
        let starts_chain = self.previous_response_id(state).is_none();
        let needs_text =
            |latched: &SolutionContext| starts_chain || state.prompt.solution != Some(latched.text);
        let LoadedData { request, solution_text, history } = &self.loaded;
        let needs_history = self.replay_reason().is_some() && history.is_none();
        MissingData {
            request: request.is_none() && self.includes_user_request(state),
            history: needs_history.then_some(self.limits.token_budget),
            solution: spec
                .prompt
                .solution
                .clone()
                .filter(|latched| needs_text(latched) && solution_text.is_none()),
        }
    }

    /// Returns the loaded texts of solution contexts.
    pub(crate) fn solution_texts(&self, spec: &TurnSpec) -> SolutionTexts {
        let LoadedData { solution_text, history, .. } = &self.loaded;
        let history = history.as_ref().map(|history| history.solution_texts.clone()).unwrap_or_default();
        let latched = spec.prompt.solution.as_ref().map(|latched| latched.text).zip(solution_text.clone());
        history.into_iter().chain(latched).collect()
    }

    /// Returns the model that gets the reasoning of earlier replies, if any.
    pub(crate) fn reasoning_reader<'a>(&'a self, spec: &'a TurnSpec) -> Option<ReasoningReader<'a>> {
        let reasoning_reader = ReasoningReader { model: &spec.route.model, provider: &self.provider };
        Some(reasoning_reader).filter(|_| self.replays_reasoning())
    }

    /// True if requests carry reasoning. A provider that stores nothing can't store reasoning either.
    pub(crate) fn replays_reasoning(&self) -> bool {
        !self.provider_stores() && !self.limits.omits_reasoning
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
            solution: spec.prompt.solution.as_ref().filter(|_| self.loaded.solution_text.is_some()),
            reasoning_reader: self.reasoning_reader(spec),
            token_budget: self.limits.token_budget,
            summary: state.history.summary(),
            omits_files: self.limits.omits_files,
        };
        let nothing = LoadedHistory::default();
        let reason = self.replay_reason();
        let history = self.loaded.history.as_ref().filter(|_| reason.is_some()).unwrap_or(&nothing);
        let rendered = history::render(history, target, catalog);
        // At the start of an ancestry, nothing can have been lost.
        let warning = reason.and_then(ReplayReason::warning).filter(|_| !turn.parent.is_none());
        let first = history.exchanges.first().map_or(turn.depth(), |exchange| exchange.depth);
        let is_truncated = history.truncation != Truncation::None || rendered.window.from > first;
        if let Some(warning) = warning {
            state.effects.warn(warning);
        }
        match history.truncation {
            Truncation::Unreadable => state.effects.warn(HISTORY_UNREADABLE),
            _ if is_truncated && (warning.is_some() || self.limits.is_shrunk) => {
                state.effects.warn(HISTORY_TRUNCATED)
            }
            Truncation::TokenBudget | Truncation::WindowStart | Truncation::None => {}
        }
        if let Some(warning) = omitted_files_warning(&rendered.omitted_files) {
            state.effects.warn(&warning);
        }
        self.limits.used_tokens = rendered.tokens;
        rendered
    }

    /// Returns the turns to summarize before this request; none if no earlier turns are replayed.
    pub(crate) fn compaction_range(
        &self,
        spec: &TurnSpec,
        state: &AttemptState,
        rendered: &RenderedHistory,
    ) -> Option<CompactionRange> {
        self.replay_reason()
            .and_then(|_| CompactionRange::needed(spec, state, rendered, self.limits.token_budget))
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
        let is_doubtful =
            matches!(self.history, History::Replayed { storage: ResponseStorage::Doubtful, .. });
        let capability = match spec.history.policy {
            // The provider accepted the replayed conversation, so its refusal was about continuing.
            ConversationStatePolicy::Auto if is_doubtful => Some(ObservedCapability::RejectsContinuation),
            ConversationStatePolicy::Auto if request.store && !reply.is_stored => {
                Some(ObservedCapability::StoresNothing)
            }
            _ => (chained && reply.is_stored).then_some(ObservedCapability::ContinuesResponses),
        };
        if matches!(
            capability,
            Some(ObservedCapability::RejectsContinuation | ObservedCapability::StoresNothing)
        ) {
            let (reason, storage) = (self.replay_reason(), ResponseStorage::Disabled);
            self.history = History::Replayed { reason, storage };
            state.chain.stateless_provider = Some(self.provider.clone());
        } else if self.provider_stores() {
            // From now on, the turn's own replies are continued.
            self.history = History::Continued { previous_response_id: None };
        }
        let reasoning = (self.limits.omits_reasoning && !self.provider_stores())
            .then_some(ObservedCapability::RejectsReasoning);
        capability.into_iter().chain(reasoning).collect()
    }

    /// Prepares another request after a failure, and returns false if none may succeed. It first replays the earlier
    /// turns, then half of them, then none.
    pub fn try_recover(&mut self, spec: &TurnSpec, error: &Error, request: &Request) -> bool {
        let limits = &mut self.limits;
        match (error, &request.chain) {
            (Error::ChainLost, Chain::Continues { .. }) => {
                let storage = match spec.history.policy {
                    ConversationStatePolicy::Auto => ResponseStorage::Doubtful,
                    ConversationStatePolicy::Provider | ConversationStatePolicy::Local => {
                        ResponseStorage::Enabled
                    }
                };
                self.history = History::Replayed { reason: Some(ReplayReason::NotFound), storage };
            }
            (Error::ContextTooLong, Chain::Continues { .. }) => {
                let (reason, storage) = (Some(ReplayReason::TooLong), ResponseStorage::Enabled);
                self.history = History::Replayed { reason, storage };
            }
            (Error::ContextTooLong, Chain::Initial { .. }) if limits.used_tokens > 0 => {
                // A new window uses three quarters of its budget, so two thirds of the last size gives half of it.
                limits.token_budget = if limits.is_shrunk { 0 } else { limits.used_tokens / 3 * 2 };
                limits.is_shrunk = true;
            }
            // Another provider may have read a file that this one can't.
            (Error::AttachmentRefused, Chain::Initial { history, .. })
                if !limits.omits_files && has_attachments(history) =>
            {
                limits.omits_files = true;
            }
            // Some models have no reasoning, and some encryption keys of reasoning are gone.
            (Error::Rejected { .. }, _) if request.wants_reasoning => limits.omits_reasoning = true,
            _ => return false,
        }
        true
    }
}

/// Returns the reason to replay the turn's own reply; none unless the model or the provider has changed since.
fn switch_reason(spec: &TurnSpec, state: &AttemptState, provider: &str) -> Option<ReplayReason> {
    match &state.chain.reply {
        Some(reply) if reply.provider != provider => Some(ReplayReason::ProviderChanged),
        Some(reply) if reply.model != spec.route.model => Some(ReplayReason::ModelChanged),
        Some(_) | None => None,
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
