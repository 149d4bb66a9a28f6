//! Items of details: what was asked, what came of it, who took part, which mode changed.

use contracts::{
    Fingerprint, Timestamp,
    id::{TurnId, UserId},
    read::{AgentSessionActiveFileRef, AgentSessionChunkRef},
};
use protocol::caller::User;
use protocol::{
    detail::{Asked, Ended, ModeChange, Participant, Report},
    id::{SessionKey, TurnKey},
};
use serde::{Deserialize, Serialize};

use super::Head;
use crate::key;

/// (AS) in the catalogue.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct AskedItem {
    #[serde(flatten)]
    head: Head,
    fingerprint: Fingerprint,
    by_id: UserId,
    by_name: String,
    model: String,
    instruction_summary: String,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    chunk_refs: Vec<AgentSessionChunkRef>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    active_file_refs: Vec<AgentSessionActiveFileRef>,
}

impl From<&Asked> for AskedItem {
    fn from(asked: &Asked) -> Self {
        Self {
            head: Head::of(&key::Item::Asked(&asked.key)),
            fingerprint: asked.fingerprint,
            by_id: asked.by.id.clone(),
            by_name: asked.by.name.clone(),
            model: asked.model.clone(),
            instruction_summary: asked.instruction_summary.clone(),
            chunk_refs: asked.chunk_refs.clone(),
            active_file_refs: asked.active_file_refs.clone(),
        }
    }
}

impl AskedItem {
    pub(crate) fn into_asked(self, key: TurnKey) -> Asked {
        Asked {
            key,
            fingerprint: self.fingerprint,
            by: User { id: self.by_id, name: self.by_name },
            model: self.model,
            instruction_summary: self.instruction_summary,
            chunk_refs: self.chunk_refs,
            active_file_refs: self.active_file_refs,
        }
    }
}

/// (EN) in the catalogue.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EndedItem {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    report: Report,
}

impl From<&Ended> for EndedItem {
    fn from(ended: &Ended) -> Self {
        Self { head: Head::of(&key::Item::Ended(&ended.key)), report: ended.report.clone() }
    }
}

impl EndedItem {
    pub(crate) fn into_ended(self, key: TurnKey) -> Ended {
        Ended { key, report: self.report }
    }
}

/// (PA) in the catalogue.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ParticipantItem {
    #[serde(flatten)]
    head: Head,
    #[serde(rename = "GSI1PK")]
    gsi1pk: String,
    #[serde(rename = "GSI1SK")]
    gsi1sk: String,
    last_activity: Timestamp,
}

impl From<&Participant> for ParticipantItem {
    fn from(participant: &Participant) -> Self {
        let Participant { session, user, last_activity } = participant;
        Self {
            head: Head::of(&key::Item::Participant(session, user)),
            gsi1pk: key::user_index(&session.org, user),
            gsi1sk: key::activity(*last_activity, session),
            last_activity: *last_activity,
        }
    }
}

/// (MO) in the catalogue.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ModeItem {
    #[serde(flatten)]
    head: Head,
    turn: TurnId,
    sequence: u64,
    previous: String,
    new: String,
    reason: String,
    branch: bool,
    at: Timestamp,
    by: UserId,
}

impl From<&ModeChange> for ModeItem {
    fn from(change: &ModeChange) -> Self {
        Self {
            head: Head::of(&key::Item::ModeChange(&change.key.session, change.sequence)),
            turn: change.key.turn.clone(),
            sequence: change.sequence,
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
            sequence: self.sequence,
            previous: self.previous,
            new: self.new,
            reason: self.reason,
            branch: self.branch,
            at: self.at,
            by: self.by,
        }
    }
}
