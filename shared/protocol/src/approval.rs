//! Approvals: a person allows one exact call of a tool before it is sent, or denies it.
//!
//! A turn that waits for an approval is suspended like one that waits for a client's tools. The answer is stored apart from
//! the head, under the condition that the turn still waits, so a call runs only after its approval, and an approval is used
//! once.

use contracts::{Fingerprint, Timestamp, id::UserId};
use serde::{Deserialize, Serialize};

use crate::{
    caller::{Caller, User},
    id::TurnKey,
};

/// The length of an approval's id, in hexadecimal digits.
const ID_CHARS: usize = 32;

/// The id of an approval, unique in its org.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ApprovalId(String);

impl ApprovalId {
    /// Derives the id of a call's approval. Every attempt of the turn derives the same.
    #[must_use]
    pub fn of_call(turn: &TurnKey, call_id: &str, call: &Fingerprint) -> Self {
        let session = &turn.session;
        let call = call.to_string();
        let parts = [session.org.as_str(), session.session.as_str(), turn.turn.as_str(), call_id, &call];
        let mut id = hash_of("aptix-approval-1", &parts).to_string();
        id.truncate(ID_CHARS);
        Self(id)
    }

    /// Parses an id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_id = text.len() == ID_CHARS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| Self(text.to_ascii_lowercase()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The call that is approved, and no other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ExactCall {
    /// The name of the tool, as the model calls it.
    pub tool: String,
    /// The connection.
    pub connection: String,
    /// The version of the connection.
    pub revision: u32,
    /// The hash of the schema of the arguments.
    pub schema: Fingerprint,
    /// The arguments as canonical JSON.
    pub arguments: String,
}

impl ExactCall {
    /// Returns the hash that an approval names.
    #[must_use]
    pub fn hash(&self) -> Fingerprint {
        let (revision, schema) = (self.revision.to_string(), self.schema.to_string());
        let parts = [self.connection.as_str(), &self.tool, &revision, &schema, &self.arguments];
        hash_of("aptix-approved-call-1", &parts)
    }
}

/// Hashes parts of any content. The length in front keeps apart what only reads the same in a row.
fn hash_of(kind: &str, parts: &[&str]) -> Fingerprint {
    let mut bytes = Vec::new();
    for part in std::iter::once(&kind).chain(parts) {
        bytes.extend_from_slice(&part.len().to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    Fingerprint::hash_bytes(&bytes)
}

/// A role whose users may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApproverRole {
    /// The user whose turn it is.
    Asker,
    /// Operators of the org.
    Operator,
    /// Agent editors of the org.
    AgentEditor,
}

/// The rules of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct AnswerRules {
    /// The roles whose users may answer.
    pub roles: Vec<ApproverRole>,
    /// The users who may answer.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub users: Vec<UserId>,
    /// True if the asker may not answer, whatever the roles.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub four_eyes: bool,
    /// True if an approval may change the arguments.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub may_edit: bool,
}

impl AnswerRules {
    /// True if this user may answer a call of the asker.
    #[must_use]
    pub fn admits(&self, asker: &UserId, approver: &Approver) -> bool {
        let is_asker = approver.user.id == *asker;
        let has_role = |role: &ApproverRole| match role {
            ApproverRole::Asker => is_asker,
            ApproverRole::Operator => approver.operator,
            ApproverRole::AgentEditor => approver.agent_editor,
        };
        let is_named = self.users.contains(&approver.user.id) || self.roles.iter().any(has_role);
        is_named && !(self.four_eyes && is_asker)
    }
}

/// A person who answers, with the rights of the moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Approver {
    /// The user.
    pub user: User,
    /// True for an operator.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub operator: bool,
    /// True for an agent editor.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub agent_editor: bool,
}

impl From<&Caller> for Approver {
    fn from(caller: &Caller) -> Self {
        let Caller { user, operator, agent_editor, .. } = caller.clone();
        Self { user, operator, agent_editor }
    }
}

/// An approval that is asked for, and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Approval {
    /// The id.
    pub id: ApprovalId,
    /// The turn that waits.
    pub turn: TurnKey,
    /// The number of the round that made the call.
    pub round: u32,
    /// Our id of the call.
    pub call_id: String,
    /// The call.
    pub call: ExactCall,
    /// The user whose turn it is.
    pub asker: UserId,
    /// The rules of the answer.
    pub rules: AnswerRules,
    /// The time at which it was asked for.
    pub created: Timestamp,
    /// The time from which it can't be answered.
    pub expires: Timestamp,
    /// The answer, once there is one.
    pub answer: Option<Answer>,
}

/// An answer. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Answer {
    /// The person.
    pub by: Approver,
    /// The time.
    pub at: Timestamp,
    /// The decision.
    pub decision: Decision,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub enum Decision {
    /// The call may be sent, once.
    #[serde(rename_all = "PascalCase")]
    Approved {
        /// Other arguments, as canonical JSON.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        arguments: Option<String>,
    },
    /// The call is not sent.
    #[serde(rename_all = "PascalCase")]
    Denied {
        /// The reason, for the model.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        reason: Option<String>,
    },
}

/// The state of an approval, apart from its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalState {
    /// It waits for an answer.
    Pending,
    /// It was approved.
    Approved,
    /// It was denied.
    Denied,
    /// Nobody answered in time.
    Expired,
}

/// The reason for which an answer isn't accepted. Nothing was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The caller may not answer.
    #[error("the caller may not answer")]
    NotAllowed,
    /// It has an answer.
    #[error("it has an answer")]
    Answered,
    /// It expired.
    #[error("it expired")]
    Expired,
    /// The answer names another call.
    #[error("the answer is for another call")]
    OtherCall,
    /// Its rules allow no other arguments.
    #[error("the arguments can't be changed")]
    EditNotAllowed,
}

/// The fingerprint of what resumes a turn in the place of a client's results: its approvals all have an answer or have
/// expired. No results have it.
#[must_use]
pub fn resumption(round: u32) -> Fingerprint {
    Fingerprint::hash_bytes(format!("aptix-approvals-answered-1 {round}").as_bytes())
}

impl Approval {
    /// Returns the state at a time.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> ApprovalState {
        match &self.answer {
            Some(Answer { decision: Decision::Approved { .. }, .. }) => ApprovalState::Approved,
            Some(Answer { decision: Decision::Denied { .. }, .. }) => ApprovalState::Denied,
            None if self.expires <= now => ApprovalState::Expired,
            None => ApprovalState::Pending,
        }
    }

    /// Answers. `hash` is that of the call that the person saw; a denial needs none.
    ///
    /// # Errors
    /// Returns the first rule that the answer breaks.
    pub fn answered(
        &self,
        by: Approver,
        hash: Option<&Fingerprint>,
        decision: Decision,
        now: Timestamp,
    ) -> Result<Self, AnswerError> {
        if !self.rules.admits(&self.asker, &by) {
            return Err(AnswerError::NotAllowed);
        }
        match self.state(now) {
            ApprovalState::Pending => {}
            ApprovalState::Approved | ApprovalState::Denied => return Err(AnswerError::Answered),
            ApprovalState::Expired => return Err(AnswerError::Expired),
        }
        let is_this_call = hash.is_none_or(|hash| *hash == self.call.hash());
        match &decision {
            Decision::Denied { .. } if is_this_call => {}
            Decision::Approved { .. } if is_this_call && hash.is_some() => {}
            Decision::Denied { .. } | Decision::Approved { .. } => return Err(AnswerError::OtherCall),
        }
        if matches!(&decision, Decision::Approved { arguments: Some(_) }) && !self.rules.may_edit {
            return Err(AnswerError::EditNotAllowed);
        }
        Ok(Self { answer: Some(Answer { by, at: now, decision }), ..self.clone() })
    }

    /// True if this answer of this person is the stored one, as a request whose reply was lost sends it again.
    #[must_use]
    pub fn is_answered_by(&self, by: &UserId, decision: &Decision) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.by.user.id == *by && answer.decision == *decision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::SessionKey;

    fn user(id: &str) -> Approver {
        let user = User { id: id.parse().unwrap(), name: id.to_owned() };
        Approver { user, operator: id == "olga", agent_editor: id == "eda" }
    }

    fn approval(rules: AnswerRules) -> Approval {
        let session = SessionKey { org: "o".parse().unwrap(), session: "s".parse().unwrap() };
        let call = ExactCall {
            tool: "shop__refund".to_owned(),
            connection: "shop".to_owned(),
            revision: 3,
            schema: Fingerprint::hash_bytes(b"schema"),
            arguments: r#"{"order":7}"#.to_owned(),
        };
        let turn = session.turn("t".parse().unwrap());
        Approval {
            id: ApprovalId::of_call(&turn, "c", &call.hash()),
            turn,
            round: 1,
            call_id: "c".to_owned(),
            call,
            asker: "ada".parse().unwrap(),
            rules,
            created: Timestamp::from_millis(0),
            expires: Timestamp::from_millis(1_000),
            answer: None,
        }
    }

    fn rules(roles: &[ApproverRole]) -> AnswerRules {
        AnswerRules { roles: roles.to_vec(), ..AnswerRules::default() }
    }

    fn now() -> Timestamp {
        Timestamp::from_millis(999)
    }

    fn approved() -> Decision {
        Decision::Approved { arguments: None }
    }

    #[test]
    fn only_named_users_and_roles_answer_and_four_eyes_excludes_the_asker() {
        use ApproverRole::{AgentEditor, Asker, Operator};
        let named = AnswerRules { users: vec!["bob".parse().unwrap()], ..AnswerRules::default() };
        let admitted = |rules: &AnswerRules| -> Vec<&str> {
            let users = ["ada", "bob", "eda", "olga"].into_iter();
            users.filter(|id| rules.admits(&"ada".parse().unwrap(), &user(id))).collect()
        };
        assert_eq!(admitted(&rules(&[Asker])), ["ada"]);
        assert_eq!(admitted(&rules(&[Operator, AgentEditor])), ["eda", "olga"]);
        assert_eq!(admitted(&named), ["bob"]);
        let two = AnswerRules { roles: vec![Asker], four_eyes: true, ..named };
        assert_eq!(admitted(&two), ["bob"]);
        assert!(admitted(&AnswerRules::default()).is_empty());
    }

    #[test]
    fn answer_is_for_one_call_once_and_in_time() {
        let approval = approval(rules(&[ApproverRole::Asker]));
        let (hash, other) = (approval.call.hash(), Fingerprint::hash_bytes(b"other"));
        let answer = |by: &str, hash: Option<&Fingerprint>, decision, now| {
            approval.answered(user(by), hash, decision, now)
        };
        assert_eq!(answer("bob", Some(&hash), approved(), now()), Err(AnswerError::NotAllowed));
        assert_eq!(answer("ada", Some(&other), approved(), now()), Err(AnswerError::OtherCall));
        assert_eq!(answer("ada", None, approved(), now()), Err(AnswerError::OtherCall));
        assert_eq!(answer("ada", Some(&hash), approved(), approval.expires), Err(AnswerError::Expired));
        let edited = Decision::Approved { arguments: Some("{}".to_owned()) };
        assert_eq!(answer("ada", Some(&hash), edited.clone(), now()), Err(AnswerError::EditNotAllowed));
        let done = answer("ada", Some(&hash), approved(), now()).unwrap();
        assert_eq!(done.state(approval.expires), ApprovalState::Approved);
        assert!(done.is_answered_by(&"ada".parse().unwrap(), &approved()));
        let denied = Decision::Denied { reason: None };
        let again = done.answered(user("ada"), Some(&hash), denied.clone(), now());
        assert_eq!(again, Err(AnswerError::Answered));
        assert_eq!(answer("ada", None, denied, now()).unwrap().state(now()), ApprovalState::Denied);
        let editable =
            Approval { rules: AnswerRules { may_edit: true, ..approval.rules.clone() }, ..approval };
        assert!(editable.answered(user("ada"), Some(&hash), edited, now()).is_ok());
    }

    #[test]
    fn hash_depends_on_every_part_of_the_call() {
        let call = approval(AnswerRules::default()).call;
        let others = [
            ExactCall { tool: "shop__pay".to_owned(), ..call.clone() },
            ExactCall { connection: "shop2".to_owned(), ..call.clone() },
            ExactCall { revision: 4, ..call.clone() },
            ExactCall { schema: Fingerprint::hash_bytes(b"x"), ..call.clone() },
            ExactCall { arguments: r#"{"order":8}"#.to_owned(), ..call.clone() },
        ];
        let hashes: std::collections::BTreeSet<_> =
            others.iter().chain([&call]).map(|call| call.hash().to_string()).collect();
        assert_eq!(hashes.len(), others.len() + 1);
        assert_eq!(ApprovalId::parse("xyz"), None);
    }
}
