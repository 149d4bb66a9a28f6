//! Items of details: what was asked, what came of it, who took part, which mode changed.

use contracts::{
    Fingerprint, Timestamp,
    id::{TurnId, UserId},
    read::AgentSessionActiveFileRef,
};
use protocol::caller::User;
use protocol::{
    chain::{Keeper, Upstream},
    detail::{Feedback, ModeChange, ModePlace, Participant, Report, RequestDetail, ResultDetail},
    id::{SessionKey, TurnKey},
    line::Repeats,
};
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::key;

/// (AS) in the catalogue.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct RequestItem {
    fingerprint: Fingerprint,
    by_id: UserId,
    by_name: String,
    model: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    provider: Option<String>,
    #[serde(default)]
    chain: Keeper,
    instruction_summary: String,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    instruction_is_cut: bool,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    active_file_refs: Vec<AgentSessionActiveFileRef>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    repeats: Option<Repeats>,
}

impl Stored for RequestDetail {
    type Item = RequestItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Request(&self.key)
    }
}

impl From<&RequestDetail> for RequestItem {
    fn from(request: &RequestDetail) -> Self {
        Self {
            fingerprint: request.fingerprint,
            by_id: request.by.id.clone(),
            by_name: request.by.name.clone(),
            model: request.upstream.model.clone(),
            provider: Some(request.upstream.provider.clone()),
            chain: request.upstream.keeper,
            instruction_summary: request.instruction_summary.clone(),
            instruction_is_cut: request.instruction_is_cut,
            active_file_refs: request.active_file_refs.clone(),
            repeats: request.repeats.clone(),
        }
    }
}

impl RequestItem {
    pub(crate) fn into_request(self, key: TurnKey) -> RequestDetail {
        RequestDetail {
            key,
            fingerprint: self.fingerprint,
            by: User { id: self.by_id, name: self.by_name },
            upstream: Upstream {
                model: self.model,
                // Not kept by versions before this one.
                provider: self.provider.unwrap_or_default(),
                keeper: self.chain,
            },
            instruction_summary: self.instruction_summary,
            instruction_is_cut: self.instruction_is_cut,
            active_file_refs: self.active_file_refs,
            repeats: self.repeats,
        }
    }
}

/// (EN) in the catalogue.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ResultItem {
    report: Report,
}

impl Stored for ResultDetail {
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

/// (PA) in the catalogue.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ParticipantItem {
    #[serde(rename = "GSI1PK")]
    gsi1pk: String,
    #[serde(rename = "GSI1SK")]
    gsi1sk: String,
    last_activity: Timestamp,
    /// Absent of those who took part before names were kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    name: Option<String>,
}

impl ParticipantItem {
    pub(crate) fn into_participant(self, session: SessionKey, user: UserId) -> Participant {
        Participant { session, user, name: self.name, last_activity: self.last_activity }
    }
}

impl Stored for Participant {
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

/// (MO) in the catalogue.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ModeItem {
    turn: TurnId,
    sequence: u64,
    /// Absent where it was written when a turn had one change, its last.
    #[serde(default)]
    number: u8,
    previous: String,
    new: String,
    reason: String,
    branch: bool,
    at: Timestamp,
    by: UserId,
}

impl Stored for ModeChange {
    type Item = ModeItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::ModeChange(&self.key.session, self.place)
    }
}

impl From<&ModeChange> for ModeItem {
    fn from(change: &ModeChange) -> Self {
        Self {
            turn: change.key.turn.clone(),
            sequence: change.place.sequence,
            number: change.place.number,
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
            place: ModePlace { sequence: self.sequence, number: self.number },
            previous: self.previous,
            new: self.new,
            reason: self.reason,
            branch: self.branch,
            at: self.at,
            by: self.by,
        }
    }
}

/// (FB) in the catalogue.
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
    /// Absent as it is written: the first time stays.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    created: Option<Timestamp>,
    at: Timestamp,
}

/// Attributes of a feedback that come and go.
pub(crate) const OF_FEEDBACK: &[&str] = &["Label", "Note"];

impl Stored for Feedback {
    type Item = FeedbackItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Feedback(&self.turn, &self.by.id)
    }
}

impl From<&Feedback> for FeedbackItem {
    fn from(said: &Feedback) -> Self {
        Self {
            turn: said.turn.turn.clone(),
            by_id: said.by.id.clone(),
            by_name: said.by.name.clone(),
            rating: said.rating,
            label: said.label.clone(),
            note: said.note.clone(),
            created: None,
            at: said.at,
        }
    }
}

impl FeedbackItem {
    /// The item of a feedback that is not said anew.
    pub(crate) fn whole(said: &Feedback) -> Self {
        Self { created: Some(said.created), ..Self::from(said) }
    }

    /// The same of an item that says itself which turn it is about.
    pub(crate) fn into_feedback_in(self, session: &SessionKey) -> Feedback {
        let turn = session.turn(self.turn.clone());
        self.into_feedback(turn)
    }

    pub(crate) fn into_feedback(self, turn: TurnKey) -> Feedback {
        Feedback {
            turn,
            by: User { id: self.by_id, name: self.by_name },
            rating: self.rating,
            label: self.label,
            note: self.note,
            created: self.created.unwrap_or(self.at),
            at: self.at,
        }
    }
}
