//! Maps state to the contract's read models. Pure functions.

use std::{cmp::Reverse, collections::HashMap};

use contracts::{
    ErrorCode,
    id::{AgentContextId, ConversationContextId, OrgId, TurnId},
    paths,
    read::{
        AgentSession, AgentSessionSummary, AgentSessionTurn, AgentSessionTurnSummary, Cost, EntityHeader,
        ForkedFrom, IndexedSession, ListResponse, ModeChange as ModeEntry, Participant as ParticipantEntry,
        PurgeReport, PurgeState, SessionRatings, StatusReason, ToolUsage, TurnFeedback, UpstreamResponse,
        UpstreamResponses, UsageGroup,
    },
    request::limits::MAX_USAGE_TOOLS,
};

use crate::ports::Record;
use agent::context::BUILT_IN_NAME;
use protocol::{
    caller::User,
    detail::{Feedback, ModeChange, Participant, Report},
    link,
    purge::{Purge, Stage},
    session::{Contexts, Session},
    turn::{EndReason, State, Turn, Verdict},
    usage::{ToolAmounts, UsageAmounts},
};

/// The known display names of orgs and contexts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// The name of the caller's org, to which everything that the caller sees belongs.
    pub org: Option<String>,
    /// The names of agent contexts.
    pub agents: HashMap<AgentContextId, String>,
    /// The names of conversation contexts.
    pub conversations: HashMap<ConversationContextId, String>,
}

impl Names {
    /// Returns the session's agent context and its name, or its id if the name is unknown. A session without one uses
    /// the built-in context.
    fn agent(&self, contexts: &Contexts) -> (AgentContextId, String) {
        match &contexts.agent {
            Some(id) => (id.clone(), self.agents.get(id).cloned().unwrap_or_else(|| id.to_string())),
            None => (AgentContextId::built_in(), BUILT_IN_NAME.to_owned()),
        }
    }

    fn conversation(&self, contexts: &Contexts) -> (ConversationContextId, String) {
        match &contexts.conversation {
            Some(id) => (id.clone(), self.conversations.get(id).cloned().unwrap_or_else(|| id.to_string())),
            None => (ConversationContextId::built_in(), BUILT_IN_NAME.to_owned()),
        }
    }

    fn org(&self, id: &OrgId) -> EntityHeader {
        EntityHeader::new(id.as_str(), self.org.as_deref().unwrap_or(id.as_str()))
    }
}

/// A session with one page of its turns.
#[must_use]
pub fn session(
    session: &Session,
    names: &Names,
    modes: ListResponse<ModeEntry>,
    participants: &[Participant],
    turns: Vec<AgentSessionTurn>,
    next: Option<String>,
) -> AgentSession {
    let (agent, agent_name) = names.agent(&session.contexts);
    let (conversation, conversation_name) = names.conversation(&session.contexts);
    AgentSession {
        id: session.key.session.clone(),
        name: session.name.clone(),
        key: session.key.session.to_string(),
        description: session.description.clone(),
        category: session.category.clone(),
        is_public: false,
        visibility: session.visibility,
        owner_organization: names.org(&session.key.org),
        owner_user: EntityHeader::from(&session.owner),
        creation_date: session.created,
        last_updated_date: session.last_updated(),
        is_deleted: session.deleted.is_some(),
        deleted_date: session.deleted.as_ref().map(|deletion| deletion.at),
        kept_until_date: session.deleted.as_ref().map(|deletion| deletion.retained_until),
        quarantined_date: session.quarantine.as_ref().map(|quarantine| quarantine.at),
        is_draft: false,
        agent_context_id: Some(agent),
        agent_context_name: Some(agent_name),
        conversation_context_id: Some(conversation),
        conversation_context_name: Some(conversation_name),
        agent_context_version: session.contexts.pins.agent,
        conversation_context_version: session.contexts.pins.conversation,
        workspace_id: session.hints.workspace.clone(),
        repo: session.hints.repo.clone(),
        default_language: session.hints.language.clone(),
        forked_from: session
            .forked_from
            .as_ref()
            .map(|origin| ForkedFrom { session_id: origin.session.clone(), turn_id: origin.turn.clone() }),
        mode: session.mode.clone(),
        mode_history: modes.items,
        mode_history_continuation_token: modes.continuation_token,
        total_usage: Some(session.usage),
        total_costs: session.costs.iter().map(cost).collect(),
        ratings: ratings(session),
        participants: participants.iter().map(|of| participant(session, of)).collect(),
        turn_count: session.turn_count,
        turns,
        continuation_token: next,
    }
}

/// A participant with a name. Older records without a name show the id, except for the owner.
fn participant(session: &Session, of: &Participant) -> ParticipantEntry {
    let owner = Some(&session.owner).filter(|owner| owner.id == of.user).map(|owner| owner.name.as_str());
    let name = of.name.as_deref().or(owner).unwrap_or(of.user.as_str());
    ParticipantEntry { user: EntityHeader::new(of.user.as_str(), name), last_activity_date: of.last_activity }
}

/// One user's feedback on a turn.
#[must_use]
pub fn feedback(feedback: Feedback) -> TurnFeedback {
    TurnFeedback {
        user: EntityHeader::from(&feedback.by),
        rating: feedback.rating,
        label: feedback.label,
        note: feedback.note,
        creation_date: feedback.created,
        last_updated_date: feedback.at,
    }
}

fn ratings(session: &Session) -> Option<SessionRatings> {
    SessionRatings::new(session.ratings.count, session.ratings.sum)
}

fn cost(cost: &protocol::cost::Cost) -> Cost {
    Cost { amount: cost.amount.to_string(), currency: cost.currency.clone() }
}

/// The usage of a group of turns.
#[must_use]
pub fn usage_group(key: Option<String>, amounts: &UsageAmounts) -> UsageGroup {
    UsageGroup {
        key,
        turns: amounts.turns,
        completed_turns: amounts.completed,
        unpriced_turns: amounts.unpriced,
        model_calls: amounts.model_calls,
        model_ms: amounts.model_ms,
        usage: amounts.usage,
        estimated_tokens: amounts.estimated_tokens,
        costs: sorted_costs(&amounts.costs),
    }
}

/// The calls of connections' tools, those with the most calls first.
#[must_use]
pub fn tools_usage(amounts: &UsageAmounts) -> Vec<ToolUsage> {
    let usage = |(tool, amounts): (&String, &ToolAmounts)| ToolUsage {
        tool: tool.clone(),
        calls: amounts.calls,
        costs: sorted_costs(&amounts.costs),
    };
    let mut tools: Vec<ToolUsage> = amounts.tools.iter().map(usage).collect();
    tools.sort_by_key(|tool| Reverse(tool.calls));
    tools.truncate(MAX_USAGE_TOOLS);
    tools
}

/// Returns costs by currency. Otherwise their order would depend on the order of the groups.
fn sorted_costs(costs: &[protocol::cost::Cost]) -> Vec<Cost> {
    let mut costs: Vec<Cost> = costs.iter().map(cost).collect();
    costs.sort_by(|one, other| one.currency.cmp(&other.currency));
    costs
}

/// A mode change, with its user's name if it is known.
#[must_use]
pub fn mode_entry(change: ModeChange, by: Option<&User>, names: &Names) -> ModeEntry {
    ModeEntry {
        changed_by_organization: names.org(&change.key.session.org),
        changed_by_user: by
            .map_or_else(|| EntityHeader::new(change.by.as_str(), change.by.as_str()), EntityHeader::from),
        previous_mode: change.previous,
        new_mode: change.new,
        time_stamp: change.at,
        reason: change.reason,
        branch: change.branch,
        turn_id: change.key.turn,
    }
}

/// A session in a list.
#[must_use]
pub fn session_summary(session: &Session, names: &Names) -> AgentSessionSummary {
    let (agent, agent_name) = names.agent(&session.contexts);
    let (conversation, conversation_name) = names.conversation(&session.contexts);
    AgentSessionSummary {
        id: session.key.session.clone(),
        name: session.name.clone(),
        key: session.key.session.to_string(),
        description: session.description.clone(),
        category: session.category.clone(),
        is_public: false,
        visibility: session.visibility,
        is_deleted: session.deleted.is_some(),
        deleted_date: session.deleted.as_ref().map(|deletion| deletion.at),
        kept_until_date: session.deleted.as_ref().map(|deletion| deletion.retained_until),
        quarantined_date: session.quarantine.as_ref().map(|quarantine| quarantine.at),
        last_updated_date: session.last_updated(),
        agent_context_id: Some(agent),
        agent_context_name: Some(agent_name),
        conversation_context_id: Some(conversation),
        conversation_context_name: Some(conversation_name),
        agent_context_version: session.contexts.pins.agent,
        conversation_context_version: session.contexts.pins.conversation,
        last_turn_status: session.last_turn.as_ref().map(|last| last.status),
        last_turn_date: session.last_turn.as_ref().map(|last| last.at),
        turn_count: session.turn_count,
        ratings: ratings(session),
    }
}

/// The report of a session's purge. Only operators see the provider's identifiers.
#[must_use]
pub fn purge(session: &Session, record: Purge, operator: bool) -> PurgeReport {
    let is_done = record.stage == Stage::Done;
    let search_index = record.report.index_removal.map(|index| match (index.removed, is_done) {
        (true, _) => IndexedSession::Removed,
        (false, false) => IndexedSession::Pending,
        (false, true) => IndexedSession::NotRemoved,
    });
    let pending = record.provider_responses.pending.len() + record.provider_responses.remaining.len();
    let named = record.report.remaining_responses.into_iter().filter(|_| operator);
    PurgeReport {
        id: session.key.session.clone(),
        state: match record.stage {
            Stage::Done => PurgeState::Done,
            Stage::Waiting | Stage::Removing | Stage::Rechecking => PurgeState::Running,
        },
        deleted_by_user_id: session.deleted.as_ref().map(|deletion| deletion.by.clone()),
        started_date: record.started_at.unwrap_or(session.last_updated()),
        done_date: record.finished_at,
        items: record.report.items,
        objects: record.report.objects,
        object_bytes: record.report.bytes,
        upstream_responses: UpstreamResponses {
            removed: record.report.provider_responses_removed,
            pending: pending as u64,
            not_removed: record.report.provider_responses_remaining,
            not_removed_ids: named
                .map(|left| UpstreamResponse { provider: left.provider, response_id: left.response_id })
                .collect(),
        },
        search_index,
        manifest_hash: record.report.manifest,
    }
}

/// A turn in full. Only operators see the provider's identifiers.
#[must_use]
pub fn turn(record: &Record, report: &Report, operator: bool) -> AgentSessionTurn {
    let Record { turn, request, .. } = record;
    let partial = report.partial_answer.as_ref();
    let for_operators = |id: Option<&str>| id.filter(|_| operator).map(str::to_owned);
    let raw = |path| report.last_raw_payload.filter(|_| operator).map(|_| link::payload(&turn.key, path));
    AgentSessionTurn {
        id: turn.key.turn.clone(),
        sequence_number: turn.sequence,
        created_by_user: EntityHeader::from(&request.requested_by),
        creation_date: turn.created,
        status: turn.status(),
        status_reason: reason_with_report(turn, report),
        error_code: error_code(turn, report),
        status_time_stamp: turn.settlement().map_or(turn.created, |settlement| settlement.at),
        waiting: None,
        cancelled_by_user_id: turn.ended_by.clone(),
        openai_response_received_date: report.received_at,
        openai_chain_expires_date: report.chain_expires,
        rerun_of_turn_id: request.rerun_of.as_ref().map(|repeats| repeats.turn.clone()),
        mode: turn.mode.clone(),
        conversation_id: turn.key.session.session.clone(),
        openai_response_id: for_operators(
            report.response_id.as_deref().or(report.imported_response_id.as_deref()),
        ),
        previous_openai_response_id: for_operators(match &report.model_request {
            Some(carried) => carried.previous_response_id.as_deref(),
            // No reply yet, or the turn is from before this was recorded: use the start of the chain.
            None => turn.chain.previous_response_id(),
        }),
        openai_model: Some(answered_by(report).unwrap_or(&request.upstream.model).to_owned()),
        instruction_summary: request.instruction_summary.clone(),
        instruction_summary_truncated: request.instruction_summary_truncated,
        full_instruction_url: link::payload(&turn.key, paths::INSTRUCTION),
        agent_answer_summary: report.answer_summary.clone(),
        agent_answer_summary_truncated: report.answer_summary_truncated,
        partial_answer_summary: partial.map(|partial| partial.text.clone()),
        partial_answer_summary_truncated: partial.is_some_and(|partial| partial.is_truncated),
        full_agent_answer_url: answer_link(record),
        openai_request_payload_url: raw(paths::MODEL_REQUEST),
        openai_response_payload_url: raw(paths::MODEL_RESPONSE),
        chunk_refs: report.chunk_refs.clone(),
        active_file_refs: request.active_file_refs.clone(),
        usage: report.usage,
        estimated_tokens: Some(report.estimated_tokens).filter(|tokens| *tokens > 0),
        cost: report.cost.as_ref().map(cost),
        client_tool_ms: report.client_tool_ms,
        server_tool_ms: report.server_tool_ms,
        tool_rounds: report.tool_rounds,
        warnings: report.warnings.clone(),
        errors: report.errors.clone(),
    }
}

/// Returns the reason for the status of a turn whose report is at hand. The head alone doesn't say why a turn failed.
fn reason_with_report(turn: &Turn, report: &Report) -> StatusReason {
    match error_code(turn, report) {
        Some(ErrorCode::TurnOverBudget) => StatusReason::OverBudget,
        _ => reason(turn),
    }
}

pub(crate) fn reason(turn: &Turn) -> StatusReason {
    match &turn.state {
        State::Running { .. } => StatusReason::Running,
        State::AwaitingTools { is_for_approval: true, .. } => StatusReason::WaitingForApproval,
        State::AwaitingTools { .. } => StatusReason::WaitingForTools,
        State::Settled(settlement) | State::Finalized(settlement) => match &settlement.verdict {
            Verdict::Completed { .. } => StatusReason::Completed,
            Verdict::Failed { .. } => StatusReason::Failed,
            Verdict::Ended(EndReason::Cancelled) => StatusReason::Cancelled,
            Verdict::Ended(EndReason::Abandoned) => StatusReason::Abandoned,
            Verdict::Ended(EndReason::Superseded) => StatusReason::Superseded,
            Verdict::Ended(EndReason::ToolDeadline) => StatusReason::ToolDeadline,
            Verdict::Ended(EndReason::StorageUnavailable) => StatusReason::NotStored,
        },
    }
}

/// Returns the error code of a failed turn.
pub(crate) fn error_code(turn: &Turn, report: &Report) -> Option<ErrorCode> {
    match turn.settlement().map(|settlement| &settlement.verdict) {
        Some(Verdict::Failed { .. }) => report.error_code,
        Some(Verdict::Ended(reason)) => Some(reason.error().error_code),
        Some(Verdict::Completed { .. }) | None => None,
    }
}

/// The model that replied: the name that the provider reported, or else the requested one.
fn answered_by(report: &Report) -> Option<&str> {
    report.response_model.as_deref().or(report.model.as_deref())
}

/// The link to the answer. Its object is written before the turn is settled (I10), so the link appears with the
/// status.
fn answer_link(record: &Record) -> Option<String> {
    let verdict = record.turn.settlement().map(|settlement| &settlement.verdict);
    matches!(verdict, Some(Verdict::Completed { .. })).then(|| link::payload(&record.turn.key, paths::ANSWER))
}

/// A turn in a list.
#[must_use]
pub fn turn_summary(record: &Record, report: &Report) -> AgentSessionTurnSummary {
    let Record { turn, request, .. } = record;
    let partial = report.partial_answer.as_ref();
    AgentSessionTurnSummary {
        id: TurnId::clone(&turn.key.turn),
        session_id: turn.key.session.session.clone(),
        sequence_number: turn.sequence,
        created_by_user: EntityHeader::from(&request.requested_by),
        creation_date: turn.created,
        status: turn.status(),
        status_reason: reason_with_report(turn, report),
        error_code: error_code(turn, report),
        status_time_stamp: turn.settlement().map_or(turn.created, |settlement| settlement.at),
        instruction_summary: request.instruction_summary.clone(),
        instruction_summary_truncated: request.instruction_summary_truncated,
        agent_answer_summary: report.answer_summary.clone(),
        agent_answer_summary_truncated: report.answer_summary_truncated,
        partial_answer_summary: partial.map(|partial| partial.text.clone()),
        partial_answer_summary_truncated: partial.is_some_and(|partial| partial.is_truncated),
    }
}
