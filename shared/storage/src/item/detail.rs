//! Stored details: requests, results, participants, mode changes and feedback.

use contracts::{
    Fingerprint, Timestamp,
    id::{TurnId, UserId},
    read::AgentSessionActiveFileRef,
};
use protocol::caller::User;
use protocol::{
    ancestry::RerunOf,
    chain::{HistoryOwner, Upstream},
    detail::{Feedback, ModeChange, ModeChangePosition, Participant, Report, RequestDetail, ResultDetail},
    id::{SessionKey, TurnKey},
};
use serde::{Deserialize, Serialize};

use super::Entity;
use crate::key;

/// See [`key::Item::Request`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct RequestItem {
    fingerprint: Fingerprint,
    requested_by_id: UserId,
    requested_by_name: String,
    model: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    provider: Option<String>,
    #[serde(default)]
    history_owner: HistoryOwner,
    instruction_summary: String,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    instruction_summary_truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    active_file_refs: Vec<AgentSessionActiveFileRef>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    rerun_of: Option<RerunOf>,
    /// Absent if the request is an object from the start.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    request_json: Option<String>,
}

/// The attribute with the whole request. Exports omit it, because they have its object.
pub(crate) const REQUEST_JSON: &str = "RequestJson";

impl Entity for RequestDetail {
    type Item = RequestItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Request(&self.key)
    }
}

impl From<&RequestDetail> for RequestItem {
    fn from(request: &RequestDetail) -> Self {
        Self {
            fingerprint: request.fingerprint,
            requested_by_id: request.requested_by.id.clone(),
            requested_by_name: request.requested_by.name.clone(),
            model: request.upstream.model.clone(),
            provider: Some(request.upstream.provider.clone()),
            history_owner: request.upstream.history_owner,
            instruction_summary: request.instruction_summary.clone(),
            instruction_summary_truncated: request.instruction_summary_truncated,
            active_file_refs: request.active_file_refs.clone(),
            rerun_of: request.rerun_of.clone(),
            request_json: request.inline_json.clone(),
        }
    }
}

impl RequestItem {
    pub(crate) fn into_request(self, key: TurnKey) -> RequestDetail {
        RequestDetail {
            key,
            fingerprint: self.fingerprint,
            requested_by: User { id: self.requested_by_id, name: self.requested_by_name },
            upstream: Upstream {
                model: self.model,
                // Earlier versions didn't store it.
                provider: self.provider.unwrap_or_default(),
                history_owner: self.history_owner,
            },
            instruction_summary: self.instruction_summary,
            instruction_summary_truncated: self.instruction_summary_truncated,
            active_file_refs: self.active_file_refs,
            rerun_of: self.rerun_of,
            inline_json: self.request_json,
        }
    }
}

/// See [`key::Item::Result`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ResultItem {
    report: Report,
}

impl Entity for ResultDetail {
    type Item = ResultItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Result(&self.key)
    }
}

impl From<&ResultDetail> for ResultItem {
    fn from(ended: &ResultDetail) -> Self {
        Self { report: ended.report.clone() }
    }
}

impl ResultItem {
    pub(crate) fn into_result(self, key: TurnKey) -> ResultDetail {
        ResultDetail { key, report: self.report }
    }
}

/// See [`key::Item::Participant`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ParticipantItem {
    #[serde(rename = "GSI1PK")]
    gsi1pk: String,
    #[serde(rename = "GSI1SK")]
    gsi1sk: String,
    last_activity: Timestamp,
    /// Absent on participants from before names were stored.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    name: Option<String>,
}

impl ParticipantItem {
    pub(crate) fn into_participant(self, session: SessionKey, user: UserId) -> Participant {
        Participant { session, user, name: self.name, last_activity: self.last_activity }
    }
}

impl Entity for Participant {
    type Item = ParticipantItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Participant(&self.session, &self.user)
    }
}

impl From<&Participant> for ParticipantItem {
    fn from(participant: &Participant) -> Self {
        let Participant { session, user, name, last_activity } = participant;
        Self {
            gsi1pk: key::user_index(&session.org, user),
            gsi1sk: key::activity(*last_activity, session),
            last_activity: *last_activity,
            name: name.clone(),
        }
    }
}

/// See [`key::Item::ModeChange`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ModeItem {
    turn: TurnId,
    sequence: u64,
    /// Absent on items from before a turn could change its mode more than once.
    #[serde(default)]
    number: u8,
    previous: String,
    new: String,
    reason: String,
    branch: bool,
    at: Timestamp,
    by: UserId,
}

impl Entity for ModeChange {
    type Item = ModeItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::ModeChange(&self.key.session, self.position)
    }
}

impl From<&ModeChange> for ModeItem {
    fn from(change: &ModeChange) -> Self {
        Self {
            turn: change.key.turn.clone(),
            sequence: change.position.sequence,
            number: change.position.number,
            previous: change.previous.clone(),
            new: change.new.clone(),
            reason: change.reason.clone(),
            branch: change.branch,
            at: change.at,
            by: change.by.clone(),
        }
    }
}

impl ModeItem {
    pub(crate) fn into_mode_change(self, session: &SessionKey) -> ModeChange {
        ModeChange {
            key: session.turn(self.turn),
            position: ModeChangePosition { sequence: self.sequence, number: self.number },
            previous: self.previous,
            new: self.new,
            reason: self.reason,
            branch: self.branch,
            at: self.at,
            by: self.by,
        }
    }
}

/// See [`key::Item::Feedback`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct FeedbackItem {
    turn: TurnId,
    by_id: UserId,
    by_name: String,
    rating: u8,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    created: Option<Timestamp>,
    at: Timestamp,
    /// The rating that the session's sums include. Absent on feedback from before sessions had sums.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    counted_rating: Option<u8>,
}

/// The optional attributes of feedback.
pub(crate) const OPTIONAL_FEEDBACK: &[&str] = &["Label", "Note"];

impl Entity for Feedback {
    type Item = FeedbackItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Feedback(&self.turn, &self.by.id)
    }
}

impl From<&Feedback> for FeedbackItem {
    fn from(feedback: &Feedback) -> Self {
        Self {
            turn: feedback.turn.turn.clone(),
            by_id: feedback.by.id.clone(),
            by_name: feedback.by.name.clone(),
            rating: feedback.rating,
            label: feedback.label.clone(),
            note: feedback.note.clone(),
            created: Some(feedback.created),
            at: feedback.at,
            counted_rating: Some(feedback.rating),
        }
    }
}

impl FeedbackItem {
    /// Returns the rating that the session's sums include.
    pub(crate) fn counted_rating(&self) -> Option<u8> {
        self.counted_rating
    }

    /// Returns the time of the user's first feedback.
    pub(crate) fn created(&self) -> Timestamp {
        self.created.unwrap_or(self.at)
    }

    /// Decodes an item that names its own turn.
    pub(crate) fn into_session_feedback(self, session: &SessionKey) -> Feedback {
        let turn = session.turn(self.turn.clone());
        self.into_feedback(turn)
    }

    pub(crate) fn into_feedback(self, turn: TurnKey) -> Feedback {
        let created = self.created();
        Feedback {
            turn,
            by: User { id: self.by_id, name: self.by_name },
            rating: self.rating,
            label: self.label,
            note: self.note,
            created,
            at: self.at,
        }
    }
}
