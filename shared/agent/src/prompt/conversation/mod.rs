//! The conversation of an attempt: continued from the provider's stored responses, or replayed by this service.

mod budget;
mod history_source;
mod loaded_data;
mod observed_capability;
mod warnings;

pub use loaded_data::{LoadedData, MissingData};
pub use observed_capability::ObservedCapability;

use contracts::request::UserTurn;
use protocol::{
    chain::{ChainStart, ConversationStatePolicy, HistoryOwner, ReplayReason},
    payload::{Kind, Payload},
    session::SolutionContext,
    turn::Turn,
};

use crate::{
    attempt::{AttemptState, TurnSpec, prompt_state::SolutionTexts},
    history::{
        self, Exchange, LoadedHistory, RenderTarget, RenderedHistory, Truncation, compaction::CompactionRange,
    },
    mode::Catalog,
    model::{Chain, Error, HistoryItem, Reply, ReplyItem, Request, Wire},
    outcome::{Outcome, answer::File},
    tool::rounds::ReplayTarget,
};

use budget::HistoryBudget;
use history_source::{HistorySource, ResponseStorage};

/// The content that the provider doesn't get.
#[derive(Debug, Default)]
struct Omissions {
    /// Set if the model doesn't accept or return reasoning.
    reasoning: bool,
    /// Set if the model refused a request of this conversation with reasoning.
    reasoning_refused: bool,
    /// Set if the provider can't read a file of an earlier turn.
    files: bool,
}

/// The conversation with one model, from request to request of an attempt.
#[derive(Debug)]
pub struct Conversation {
    /// The data that was loaded for its requests.
    pub loaded: LoadedData,
    /// The provider's id.
    provider: String,
    /// The provider's wire.
    wire: Wire,
    /// The source of the conversation before the next request.
    history: HistorySource,
    /// The token budget for the earlier turns.
    budget: HistoryBudget,
    /// The content that the provider doesn't get.
    omissions: Omissions,
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
                HistorySource::Continued { previous_response_id }
            }
            reason if is_stored => HistorySource::Replayed { reason, storage: ResponseStorage::Enabled },
            reason => HistorySource::Replayed { reason, storage: ResponseStorage::Disabled },
        };
        Self {
            loaded: LoadedData { request, ..LoadedData::default() },
            provider: provider.to_owned(),
            wire: Wire::default(),
            history,
            budget: HistoryBudget::new(spec.history.tokens),
            omissions: Omissions::default(),
        }
    }

    /// Sets the provider's wire. A turn may have started when the provider had another wire, so a wire that can't continue
    /// from a response replays whatever was planned.
    #[must_use]
    pub fn with_wire(self, wire: Wire) -> Self {
        let storage = ResponseStorage::Disabled;
        let history = match self.history {
            history if wire.continues_responses() => history,
            HistorySource::Continued { .. } => {
                HistorySource::Replayed { reason: Some(ReplayReason::ProviderChanged), storage }
            }
            HistorySource::Replayed { reason, .. } => HistorySource::Replayed { reason, storage },
        };
        Self { wire, history, ..self }
    }

    /// Sets that the model doesn't accept or return reasoning.
    #[must_use]
    pub fn with_reasoning_omitted(mut self, omits_reasoning: bool) -> Self {
        self.omissions.reasoning = omits_reasoning;
        self
    }

    /// Takes over the data that was loaded for the previous conversation.
    #[must_use]
    pub fn with_loaded_from(self, before: &mut Self) -> Self {
        Self { loaded: std::mem::take(&mut before.loaded), ..self }
    }

    /// Returns the response that the next request continues from, or `None` if it starts a chain.
    pub(crate) fn previous_response_id<'a>(&'a self, state: &'a AttemptState) -> Option<&'a str> {
        match &self.history {
            HistorySource::Continued { previous_response_id } => {
                state.chain.response_id.as_deref().or(previous_response_id.as_deref())
            }
            HistorySource::Replayed { .. } => None,
        }
    }

    /// True if the next request contains the user's own message: the first of the turn or of a chain.
    fn includes_user_request(&self, state: &AttemptState) -> bool {
        self.previous_response_id(state).is_none() || state.chain.response_id.is_none()
    }

    /// True if the provider stores its responses for later requests to continue from.
    pub(crate) fn provider_stores(&self) -> bool {
        self.history.provider_stores()
    }

    /// Returns the data to load before the next request can be composed.
    #[must_use]
    pub fn missing_data(&self, spec: &TurnSpec, state: &AttemptState) -> MissingData {
        let starts_chain = self.previous_response_id(state).is_none();
        let needs_text =
            |latched: &SolutionContext| starts_chain || state.prompt.solution != Some(latched.text);
        let LoadedData { request, solution_text, history, unanswered } = &self.loaded;
        let needs_history = self.history.replay_reason().is_some() && history.is_none();
        MissingData {
            request: request.is_none() && self.includes_user_request(state),
            history: needs_history.then_some(self.budget.tokens),
            unanswered: unanswered.is_none()
                && spec.history.follows_unanswered
                && !starts_chain
                && state.chain.response_id.is_none(),
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

    /// Returns the provider's wire.
    #[must_use]
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// Returns the model that earlier replies are replayed to.
    pub(crate) fn replay_target<'a>(&'a self, spec: &'a TurnSpec) -> ReplayTarget<'a> {
        ReplayTarget {
            model: &spec.route.model,
            provider: &self.provider,
            wire: self.wire,
            includes_reasoning: self.replays_reasoning(),
        }
    }

    /// True if requests carry reasoning. A provider that stores nothing can't store reasoning either.
    pub(crate) fn replays_reasoning(&self) -> bool {
        !self.provider_stores() && !self.omissions.reasoning
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
            model: self.replay_target(spec),
            token_budget: self.budget.tokens,
            ancestry: self.loaded.request.as_ref().map_or(&[], |request| &request.ancestry),
            summary: state.history.summary(),
            omits_files: self.omissions.files,
        };
        let nothing = LoadedHistory::default();
        let reason = self.history.replay_reason();
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
            Truncation::Unreadable => state.effects.warn(warnings::HISTORY_UNREADABLE),
            _ if is_truncated && (warning.is_some() || self.budget.is_shrunk) => {
                state.effects.warn(warnings::HISTORY_TRUNCATED)
            }
            Truncation::TokenBudget | Truncation::WindowStart | Truncation::None => {}
        }
        if let Some(warning) = warnings::omitted_files_warning(&rendered.omitted_files) {
            state.effects.replace_warning(warnings::OMITTED_FILES, Some(warning));
        }
        self.budget.used = rendered.tokens;
        rendered
    }

    /// Returns the turns to summarize before this request, or `None` if no earlier turns are replayed.
    pub(crate) fn compaction_range(
        &self,
        spec: &TurnSpec,
        state: &AttemptState,
        rendered: &RenderedHistory,
    ) -> Option<CompactionRange> {
        self.history
            .replay_reason()
            .and_then(|_| CompactionRange::needed(spec, state, rendered, self.budget.tokens))
    }

    /// Returns the [snapshot](history::snapshot) of the conversation, after this outcome of its turn. `None` if the provider
    /// stores the conversation, or if the turn is the first.
    #[must_use]
    pub fn history_snapshot(&self, turn: &Turn, spec: &TurnSpec, outcome: &Outcome) -> Option<File> {
        let LoadedData { request, history, .. } = &self.loaded;
        let history = history.as_ref().filter(|_| !self.provider_stores() && !turn.parent.is_none())?;
        let own = Exchange::new(turn, request.as_ref()?, &spec.inputs.files, outcome)?;
        let bytes = history::snapshot::to_json(turn, history, &own)?.into();
        let kind = Kind::History(turn.attempt.clone());
        let media_type = kind.media_type().to_owned();
        Some(File { payload: Payload { turn: turn.key.clone(), kind }, media_type, bytes })
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
            ConversationStatePolicy::Auto if self.history.is_doubtful() => {
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
            let (reason, storage) = (self.history.replay_reason(), ResponseStorage::Disabled);
            self.history = HistorySource::Replayed { reason, storage };
            state.chain.stateless_provider = Some(self.provider.clone());
        } else if self.provider_stores() {
            // From now on, the turn's own replies are continued.
            self.history = HistorySource::Continued { previous_response_id: None };
        }
        let is_refusal = std::mem::take(&mut self.omissions.reasoning_refused) && !self.provider_stores();
        let reasoning = match (is_refusal, request.wants_reasoning) {
            (true, _) => Some(ObservedCapability::RejectsReasoning),
            (false, wants_reasoning) => wants_reasoning.then_some(ObservedCapability::AcceptsReasoning),
        };
        capability.into_iter().chain(reasoning).collect()
    }

    /// Prepares another request after a failure, and returns false if none may succeed. It first replays the earlier
    /// turns, then half of them, then none.
    pub fn try_recover(&mut self, spec: &TurnSpec, error: &Error, request: &Request) -> bool {
        match (error, &request.chain) {
            (Error::ChainLost, Chain::Continues { .. }) => {
                let storage = match spec.history.policy {
                    ConversationStatePolicy::Auto => ResponseStorage::Doubtful,
                    ConversationStatePolicy::Provider | ConversationStatePolicy::Local => {
                        ResponseStorage::Enabled
                    }
                };
                self.history = HistorySource::Replayed { reason: Some(ReplayReason::NotFound), storage };
            }
            (Error::ContextTooLong, Chain::Continues { .. }) => {
                let (reason, storage) = (Some(ReplayReason::TooLong), ResponseStorage::Enabled);
                self.history = HistorySource::Replayed { reason, storage };
            }
            (Error::ContextTooLong, Chain::Initial { .. }) if self.budget.used > 0 => self.budget.shrink(),
            // Another provider may have read a file that this one can't.
            (Error::AttachmentRefused, Chain::Initial { history, .. })
                if !self.omissions.files && has_attachments(history) =>
            {
                self.omissions.files = true;
            }
            // Some models have no reasoning, and some encryption keys of reasoning are gone.
            (Error::Rejected { .. }, chain)
                if request.wants_reasoning && (self.wire.requests_reasoning() || has_reasoning(chain)) =>
            {
                (self.omissions.reasoning, self.omissions.reasoning_refused) = (true, true);
            }
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

/// True if the request brings reasoning of earlier replies.
fn has_reasoning(chain: &Chain) -> bool {
    let Chain::Initial { history, .. } = chain else { return false };
    let is_reasoning = |item: &ReplyItem| matches!(item, ReplyItem::Reasoning(_));
    history.iter().any(|item| matches!(item, HistoryItem::Reply(items) if items.iter().any(is_reasoning)))
}

fn has_attachments(items: &[HistoryItem]) -> bool {
    items.iter().any(|item| matches!(item, HistoryItem::Message(message) if !message.attachments.is_empty()))
}
