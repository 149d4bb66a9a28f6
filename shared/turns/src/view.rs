//! How state looks to readers: pure mappings onto the contract's read models.

use std::collections::HashMap;

use contracts::{
    ErrorCode,
    id::{AgentContextId, ConversationContextId, OrgId, TurnId},
    paths,
    read::{
        AgentSession, AgentSessionSummary, AgentSessionTurn, AgentSessionTurnSummary, Cost, EntityHeader,
        ForkedFrom, IndexedSession, ListResponse, ModeChange as ModeEntry, Participant as TookPart,
        PurgeReport, PurgeState, StatusReason, TurnFeedback, UpstreamResponse, UpstreamResponses,
    },
};

use crate::ports::Record;
use agent::context::BUILT_IN_NAME;
use protocol::{
    caller::User,
    detail::{Feedback, ModeChange, Participant, Report},
    link,
    purge::{Purge, Stage},
    session::{Contexts, Session},
    turn::{Reason, State, Turn, Verdict},
};

/// What orgs and contexts are called, as far as that was found out (DD-007).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Of the caller's org, which is the org of everything the caller sees.
    pub org: Option<String>,
    /// Of agent contexts.
    pub agents: HashMap<AgentContextId, String>,
    /// Of conversation contexts.
    pub conversations: HashMap<ConversationContextId, String>,
}

impl Names {
    /// The session's agent context with its name, or its id where nobody knows a name. A session that has none
    /// uses the one that comes with the service, and says so.
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

/// A session with the turns of one page (DD-002A).
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
        is_public: false,
        visibility: session.visibility,
        owner_organization: names.org(&session.key.org),
        owner_user: EntityHeader::from(&session.owner),
        creation_date: session.created,
        last_updated_date: session.last_updated(),
        is_deleted: session.deleted.is_some(),
        deleted_date: session.deleted.as_ref().map(|deletion| deletion.at),
        kept_until_date: session.deleted.as_ref().map(|deletion| deletion.kept_until),
        is_draft: false,
        agent_context_id: Some(agent),
        agent_context_name: Some(agent_name),
        conversation_context_id: Some(conversation),
        conversation_context_name: Some(conversation_name),
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
        participants: participants.iter().map(|of| participant(session, of)).collect(),
        turn_count: session.turn_count,
        turns,
        continuation_token: next,
    }
}

/// A participant by name. Parts that were taken before names were kept have the id, but for the owner's.
fn participant(session: &Session, of: &Participant) -> TookPart {
    let owner = Some(&session.owner).filter(|owner| owner.id == of.user).map(|owner| owner.name.as_str());
    let name = of.name.as_deref().or(owner).unwrap_or(of.user.as_str());
    TookPart { user: EntityHeader::new(of.user.as_str(), name), last_activity_date: of.last_activity }
}

/// What a user says of a turn.
#[must_use]
pub fn feedback(said: Feedback) -> TurnFeedback {
    TurnFeedback {
        user: EntityHeader::from(&said.by),
        rating: said.rating,
        label: said.label,
        note: said.note,
        creation_date: said.created,
        last_updated_date: said.at,
    }
}

fn cost(cost: &protocol::cost::Cost) -> Cost {
    Cost { amount: cost.amount.to_string(), currency: cost.currency.clone() }
}

/// A change of the mode, by whom it may be known (AGN-011 §3.2).
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

/// A session as a list shows it (DD-003).
#[must_use]
pub fn session_summary(session: &Session, names: &Names) -> AgentSessionSummary {
    let (agent, agent_name) = names.agent(&session.contexts);
    let (conversation, conversation_name) = names.conversation(&session.contexts);
    AgentSessionSummary {
        id: session.key.session.clone(),
        name: session.name.clone(),
        key: session.key.session.to_string(),
        description: session.description.clone(),
        is_public: false,
        visibility: session.visibility,
        is_deleted: session.deleted.is_some(),
        deleted_date: session.deleted.as_ref().map(|deletion| deletion.at),
        kept_until_date: session.deleted.as_ref().map(|deletion| deletion.kept_until),
        last_updated_date: session.last_updated(),
        agent_context_id: Some(agent),
        agent_context_name: Some(agent_name),
        conversation_context_id: Some(conversation),
        conversation_context_name: Some(conversation_name),
        last_turn_status: session.last_turn.as_ref().map(|last| last.status),
        last_turn_date: session.last_turn.as_ref().map(|last| last.at),
        turn_count: session.turn_count,
    }
}

/// What the purge of a session came to so far. What names the provider's side is for operators.
#[must_use]
pub fn purge(session: &Session, record: Purge, operator: bool) -> PurgeReport {
    let is_done = record.stage == Stage::Done;
    let search_index = record.found.search_index.map(|index| match (index.removed, is_done) {
        (true, _) => IndexedSession::Removed,
        (false, false) => IndexedSession::Pending,
        (false, true) => IndexedSession::NotRemoved,
    });
    let pending = record.upstream.next.len() + record.upstream.still.len();
    let named = record.found.left_upstream.into_iter().filter(|_| operator);
    PurgeReport {
        id: session.key.session.clone(),
        state: match record.stage {
            Stage::Done => PurgeState::Done,
            Stage::Waits | Stage::Removing | Stage::Again => PurgeState::Running,
        },
        deleted_by_user_id: session.deleted.as_ref().map(|deletion| deletion.by.clone()),
        started_date: record.began.unwrap_or(session.last_updated()),
        done_date: record.done,
        items: record.found.items,
        objects: record.found.objects,
        object_bytes: record.found.bytes,
        upstream_responses: UpstreamResponses {
            removed: record.found.upstream_removed,
            pending: pending as u64,
            not_removed: record.found.upstream_left,
            not_removed_ids: named
                .map(|left| UpstreamResponse { provider: left.provider, response_id: left.response_id })
                .collect(),
        },
        search_index,
        manifest_hash: record.found.manifest,
    }
}

/// A turn, whole (DD-002B). What names the provider's side is for operators.
#[must_use]
pub fn turn(record: &Record, report: &Report, operator: bool) -> AgentSessionTurn {
    let Record { turn, request, .. } = record;
    let partial = report.partial_answer.as_ref();
    let for_operators = |id: Option<&str>| id.filter(|_| operator).map(str::to_owned);
    let raw = |path| report.raw_payloads.filter(|_| operator).map(|_| link::payload(&turn.key, path));
    AgentSessionTurn {
        id: turn.key.turn.clone(),
        sequence_number: turn.sequence,
        created_by_user: EntityHeader::from(&request.by),
        creation_date: turn.created,
        status: turn.status(),
        status_reason: reason(turn),
        error_code: error_code(turn, report),
        status_time_stamp: turn.settlement().map_or(turn.created, |settlement| settlement.at),
        cancelled_by_user_id: turn.ended_by.clone(),
        openai_response_received_date: report.received,
        openai_chain_expires_date: report.chain_expires,
        rerun_of_turn_id: request.repeats.as_ref().map(|repeats| repeats.turn.clone()),
        mode: turn.mode.clone(),
        conversation_id: turn.key.session.session.clone(),
        openai_response_id: for_operators(report.response_id.as_deref()),
        previous_openai_response_id: for_operators(match &report.carried {
            Some(carried) => carried.previous_response_id.as_deref(),
            // Nothing was answered yet, or the turn is older than this is kept: as it began.
            None => turn.chain.previous_response_id(),
        }),
        openai_model: Some(answered_by(report).unwrap_or(&request.upstream.model).to_owned()),
        instruction_summary: request.instruction_summary.clone(),
        instruction_summary_truncated: request.instruction_is_cut,
        full_instruction_url: link::payload(&turn.key, paths::INSTRUCTION),
        agent_answer_summary: report.answer_summary.clone(),
        agent_answer_summary_truncated: report.answer_is_cut,
        partial_answer_summary: partial.map(|partial| partial.text.clone()),
        partial_answer_summary_truncated: partial.is_some_and(|partial| partial.is_cut),
        full_agent_answer_url: answer_link(record),
        openai_request_payload_url: raw(paths::MODEL_REQUEST),
        openai_response_payload_url: raw(paths::MODEL_RESPONSE),
        chunk_refs: report.chunk_refs.clone(),
        active_file_refs: request.active_file_refs.clone(),
        usage: report.usage,
        cost: report.cost.as_ref().map(cost),
        client_tool_ms: report.client_tool_ms,
        server_tool_ms: report.server_tool_ms,
        tool_rounds: report.tool_rounds,
        warnings: report.warnings.clone(),
        errors: report.errors.clone(),
    }
}

fn reason(turn: &Turn) -> StatusReason {
    match &turn.state {
        State::Running { .. } => StatusReason::Running,
        State::AwaitingTools { .. } => StatusReason::WaitingForTools,
        State::Settled(settlement) | State::Finalized(settlement) => match &settlement.verdict {
            Verdict::Completed { .. } => StatusReason::Completed,
            Verdict::Failed { .. } => StatusReason::Failed,
            Verdict::Ended(Reason::Cancelled) => StatusReason::Cancelled,
            Verdict::Ended(Reason::Abandoned) => StatusReason::Abandoned,
            Verdict::Ended(Reason::Superseded) => StatusReason::Superseded,
            Verdict::Ended(Reason::ToolDeadline) => StatusReason::ToolDeadline,
            Verdict::Ended(Reason::StorageUnavailable) => StatusReason::NotStored,
        },
    }
}

fn error_code(turn: &Turn, report: &Report) -> Option<ErrorCode> {
    match turn.settlement().map(|settlement| &settlement.verdict) {
        Some(Verdict::Failed { .. }) => report.error_code,
        Some(Verdict::Ended(reason)) => Some(reason.error().error_code),
        Some(Verdict::Completed { .. }) | None => None,
    }
}

/// The model that answered, by its own name where it gave one.
fn answered_by(report: &Report) -> Option<&str> {
    report.answered_by.as_deref().or(report.model.as_deref())
}

/// I10: the answer's object is written before the turn is settled, so the link shows with the status.
fn answer_link(record: &Record) -> Option<String> {
    let verdict = record.turn.settlement().map(|settlement| &settlement.verdict);
    matches!(verdict, Some(Verdict::Completed { .. })).then(|| link::payload(&record.turn.key, paths::ANSWER))
}

/// A turn in a few lines (DD-003).
#[must_use]
pub fn turn_summary(record: &Record, report: &Report) -> AgentSessionTurnSummary {
    let Record { turn, request, .. } = record;
    let partial = report.partial_answer.as_ref();
    AgentSessionTurnSummary {
        id: TurnId::clone(&turn.key.turn),
        session_id: turn.key.session.session.clone(),
        sequence_number: turn.sequence,
        created_by_user: EntityHeader::from(&request.by),
        creation_date: turn.created,
        status: turn.status(),
        status_reason: reason(turn),
        error_code: error_code(turn, report),
        status_time_stamp: turn.settlement().map_or(turn.created, |settlement| settlement.at),
        instruction_summary: request.instruction_summary.clone(),
        instruction_summary_truncated: request.instruction_is_cut,
        agent_answer_summary: report.answer_summary.clone(),
        agent_answer_summary_truncated: report.answer_is_cut,
        partial_answer_summary: partial.map(|partial| partial.text.clone()),
        partial_answer_summary_truncated: partial.is_some_and(|partial| partial.is_cut),
    }
}
