//! Stored approvals.

use contracts::{Fingerprint, Timestamp, id::UserId};
use protocol::{
    approval::{Answer, AnswerRules, Approval, ApprovalId, ExactCall},
    id::TurnKey,
};
use serde::{Deserialize, Serialize};
use turns::ports::Audience;

use super::Entity;
use crate::key;

/// See [`key::Item::Approval`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ApprovalItem {
    #[serde(rename = "GSI1PK")]
    gsi1pk: String,
    #[serde(rename = "GSI1SK")]
    gsi1sk: String,
    id: ApprovalId,
    round: u32,
    call_id: String,
    call: ExactCall,
    /// The hash of the call, for those who look at the table.
    hash: Fingerprint,
    asker: UserId,
    rules: AnswerRules,
    created: Timestamp,
    expires: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    answer: Option<Answer>,
}

impl Entity for Approval {
    type Item = ApprovalItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Approval(&self.turn, &self.id)
    }
}

impl From<&Approval> for ApprovalItem {
    fn from(approval: &Approval) -> Self {
        let hash = approval.call.hash();
        let Approval { id, turn, round, call_id, call, asker, rules, created, expires, answer } =
            approval.clone();
        Self {
            gsi1pk: key::approval_index(&turn.session.org, &id),
            gsi1sk: key::approval_at(expires, &id),
            id,
            round,
            call_id,
            call,
            hash,
            asker,
            rules,
            created,
            expires,
            answer,
        }
    }
}

impl ApprovalItem {
    pub(crate) fn into_approval(self, turn: TurnKey) -> Approval {
        let Self { id, round, call_id, call, asker, rules, created, expires, answer, .. } = self;
        Approval { id, turn, round, call_id, call, asker, rules, created, expires, answer }
    }
}

/// See [`key::Item::ListedApproval`].
#[derive(Debug, Serialize)]
pub(crate) struct ListedItem {
    #[serde(rename = "GSI1PK")]
    gsi1pk: String,
    #[serde(rename = "GSI1SK")]
    gsi1sk: String,
}

impl ListedItem {
    pub(crate) fn new(approval: &Approval, audience: &Audience) -> Self {
        Self {
            gsi1pk: key::approvals_index(&approval.turn.session.org, audience),
            gsi1sk: key::approval_at(approval.expires, &approval.id),
        }
    }
}
