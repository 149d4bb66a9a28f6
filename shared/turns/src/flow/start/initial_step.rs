//! The initial step of a turn: its plan, and no progress yet. Its expected first model call is in the head from the start on:
//! if the process dies before it can tell more, that is what the turn has spent.

use agent::{
    attachments,
    attempt::{AttemptState, RecoveryPoint, Totals},
    context::{ResolvedContext, config::AgentConfig, deprecation_warning},
    history::ancestry_tokens,
    mode::Catalog,
    text::estimate_tokens,
};
use contracts::{read::AgentSessionActiveFileRef, request::UserTurn};
use protocol::{
    chain::{ChainStart, HistoryOwner, ReplayReason},
    session::{ChainHead, Session},
    spent::Spent,
    transition::begin::Setup,
    turn::Turn,
};

/// The settings of a turn.
#[derive(Clone, Copy)]
pub(super) struct TurnSettings<'a> {
    /// The deployment's configuration.
    pub(super) config: &'a AgentConfig,
    /// The modes.
    pub(super) catalog: &'a Catalog,
    /// The settings from its session's contexts.
    pub(super) effective: &'a ResolvedContext,
}

/// The inputs of a turn's initial step.
pub(super) struct InitialInputs<'a> {
    /// The start of its provider chain.
    pub(super) start: ChainStart,
    /// The response to continue from, if the previous turn left one.
    pub(super) chain: Option<&'a ChainHead>,
    /// The files to attach.
    pub(super) files: Vec<AgentSessionActiveFileRef>,
    /// The owner of its conversation history.
    pub(super) history_owner: HistoryOwner,
    /// True if the turns since the last completed one may have called tools.
    pub(super) follows_unanswered: bool,
}

/// The sequence number of a session's first turn.
const FIRST: u64 = 1;

/// Returns the warnings of a new session about what is deprecated: its contexts, and the mode that it starts in.
fn deprecations(effective: &ResolvedContext, catalog: &Catalog, mode: &str) -> Vec<String> {
    let of_mode = catalog.get(mode).and_then(|mode| {
        let text = mode.deprecated.as_ref()?;
        Some(deprecation_warning("mode", &mode.display_name, text))
    });
    effective.deprecations.iter().cloned().chain(of_mode).collect()
}

/// Builds the initial step.
pub(super) fn initial_step(
    settings: TurnSettings<'_>,
    turn: &Turn,
    InitialInputs { start, chain, files, history_owner, follows_unanswered }: InitialInputs<'_>,
    session: &Session,
    request: &UserTurn,
) -> RecoveryPoint {
    let TurnSettings { config, catalog, effective } = settings;
    // The provider doesn't have the messages that the client brought.
    let start = match start {
        ChainStart::Continue(_) if !request.ancestry.is_empty() => {
            ChainStart::Replay(ReplayReason::NotStored)
        }
        start => start,
    };
    let chain = chain.filter(|_| start.previous_response_id().is_some());
    let mut state = AttemptState::default();
    state.prompt.mode = chain.and_then(|chain| chain.mode.clone());
    state.prompt.solution = chain.and_then(|chain| chain.solution);
    state.totals.context_tokens = chain.map_or(0, |chain| chain.context_tokens);
    state.effects.warnings = attachments::warnings(request, &files, &effective.prompt_limits);
    if turn.sequence == FIRST {
        state.effects.warnings.extend(deprecations(effective, catalog, &turn.mode));
    }
    let mut spec = config.turn_spec(effective, catalog, &turn.mode, history_owner);
    spec.prompt.solution = session.solution.clone();
    spec.inputs.files = files;
    spec.history.cutoff_depth = session.cutoff_depth();
    spec.history.hidden_depth = session.hidden_depth();
    spec.history.follows_unanswered = follows_unanswered;
    spec.history.start = Some(start).filter(|start| *start != turn.chain);
    RecoveryPoint { spec, state }
}

/// Estimates the call from what is known before the start: the prompt, the tools of the client, the request, and the
/// conversation that the provider has stored. Other earlier turns and search results are not read yet.
pub(super) fn expected_call(
    effective: &ResolvedContext,
    catalog: &Catalog,
    mode: &str,
    setup: &Setup,
    chain: Option<&ChainHead>,
    request: &UserTurn,
) -> Spent {
    let tools = effective.client_tools.iter().map(|tool| {
        let schema = tool.parameters.to_string().len();
        tool.name.len().saturating_add(tool.description.len()).saturating_add(schema)
    });
    let texts = [
        effective.system.len(),
        catalog.instructions(mode).map_or(0, |text| text.len()),
        request.instruction.as_ref().map_or(0, |text| text.len()),
    ];
    let ancestry = ancestry_tokens(&request.ancestry);
    let bytes = tools.chain(texts).fold(0, usize::saturating_add);
    let input_tokens = estimate_tokens(u64::try_from(bytes).unwrap_or(u64::MAX))
        .saturating_add(attachments::estimated_tokens(request, &setup.files))
        .saturating_add(u64::from(ancestry))
        .saturating_add(chain.map_or(0, |chain| chain.context_tokens))
        .max(1);
    Totals { next_input_tokens: input_tokens, ..Totals::default() }.spent(&effective.route)
}
