//! The canonical form of a request (RFC 8785) and its fingerprint.
//!
//! The form is written from the validated value, so irrelevant differences disappear: the order and spelling of
//! members, null and absent, the encoding of an artifact, the slashes of a path. `Streaming` is left out, because
//! it affects delivery only.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::{
    artifact::{Artifact, Contents},
    base64, chat_message,
    execute::{AgentExecuteRequest, ToolContinuation, UserTurn},
    image::ClipboardImage,
    rag::{RagCondition, RagValue},
    relative_path::{FileName, RelativePath},
};
use crate::{
    hash::Fingerprint,
    id::{AgentContextId, ConversationContextId, SessionId, TurnId},
};

/// The serialized form of a user turn. Absent, empty and false members are omitted, so that each request has one
/// form.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct UserTurnForm<'a> {
    session_id: &'a SessionId,
    turn_id: &'a TurnId,
    #[serde(skip_serializing_if = "Option::is_none")]
    instruction: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    input_artifacts: Vec<ArtifactForm<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    clipboard_images: Vec<ImageForm<'a>>,
    #[serde(skip_serializing_if = "ScopeForm::is_empty")]
    rag_scope: ScopeForm<'a>,
    // An empty text differs from an absent one: it clears the session's solution context.
    #[serde(skip_serializing_if = "Option::is_none")]
    solution_context_text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repo: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    streaming: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_context_id: Option<&'a AgentContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_context_id: Option<&'a ConversationContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ancestry: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ArtifactForm<'a> {
    relative_path: &'a RelativePath,
    file_name: &'a FileName,
    contents: Cow<'a, str>,
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ImageForm<'a> {
    id: &'a str,
    mime_type: &'static str,
    data_base64: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ScopeForm<'a> {
    conditions: Vec<ConditionForm<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ConditionForm<'a> {
    key: &'a str,
    operator: &'static str,
    values: Vec<ValueForm<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ValueForm<'a> {
    Text(&'a str),
    Integer(i64),
    Flag(bool),
}

impl<'a> UserTurnForm<'a> {
    fn new(turn: &'a UserTurn, streaming: bool) -> Self {
        Self {
            session_id: &turn.session_id,
            turn_id: &turn.turn_id,
            instruction: turn.instruction.as_deref(),
            input_artifacts: turn.input_artifacts.iter().map(ArtifactForm::new).collect(),
            clipboard_images: turn.clipboard_images.iter().map(ImageForm::new).collect(),
            rag_scope: ScopeForm { conditions: turn.rag_scope.iter().map(ConditionForm::new).collect() },
            solution_context_text: turn.solution_context_text.as_deref(),
            workspace_id: turn.workspace_id.as_deref(),
            repo: turn.repo.as_deref(),
            language: turn.language.as_deref(),
            streaming,
            agent_context_id: turn.agent_context_id.as_ref(),
            conversation_context_id: turn.conversation_context_id.as_ref(),
            options: turn.options.as_ref().map(|options| options.to_text()),
            ancestry: (!turn.ancestry.is_empty()).then(|| chat_message::to_text(&turn.ancestry)),
        }
    }
}

impl<'a> ArtifactForm<'a> {
    fn new(artifact: &'a Artifact) -> Self {
        let (contents, encoding) = match &artifact.contents {
            Contents::Text(text) => (Cow::Borrowed(text.as_str()), None),
            Contents::Binary(bytes) => (Cow::Owned(base64::encode(bytes)), Some("base64")),
        };
        Self {
            relative_path: &artifact.relative_path,
            file_name: &artifact.file_name,
            contents,
            origin: artifact.origin.as_str(),
            mime_type: artifact.mime_type.as_deref(),
            language: artifact.language.as_deref(),
            encoding,
        }
    }
}

impl<'a> ImageForm<'a> {
    fn new(image: &'a ClipboardImage) -> Self {
        Self {
            id: &image.id,
            mime_type: image.image_type.mime_type(),
            data_base64: base64::encode(&image.bytes),
        }
    }
}

impl ScopeForm<'_> {
    fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }
}

impl<'a> ConditionForm<'a> {
    fn new(condition: &'a RagCondition) -> Self {
        let value = |value: &'a RagValue| match value {
            RagValue::Text(text) => ValueForm::Text(text),
            RagValue::Integer(integer) => ValueForm::Integer(*integer),
            RagValue::Flag(flag) => ValueForm::Flag(*flag),
        };
        Self {
            key: &condition.key,
            operator: condition.operator.as_str(),
            values: condition.values.iter().map(value).collect(),
        }
    }
}

/// Serializes a form as RFC 8785. That format writes numbers as doubles, which is exact here, since no number in a
/// request is over [`MAX_SAFE_INTEGER`](super::limits::MAX_SAFE_INTEGER).
#[expect(
    clippy::expect_used,
    reason = "a form has no fractions, no maps and no name twice, which is all that can't be written; and \
              nothing may be stored under the fingerprint of what could not"
)]
fn canonical(form: &impl Serialize) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(form).expect("a form can be written")
}

impl UserTurn {
    /// The canonical form, which is fingerprinted and stored as `instruction.json`.
    #[must_use]
    pub fn canonical_json(&self) -> Vec<u8> {
        canonical(&UserTurnForm::new(self, false))
    }

    /// The fingerprint, which distinguishes a retry from a conflict (I9).
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::hash_bytes(&self.canonical_json())
    }
}

impl ToolContinuation {
    /// The canonical form, which is fingerprinted and stored.
    #[must_use]
    pub fn canonical_json(&self) -> Vec<u8> {
        canonical(self)
    }

    /// The fingerprint, which distinguishes a resubmission from different results.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::hash_bytes(&self.canonical_json())
    }
}

impl AgentExecuteRequest {
    /// The fingerprint, which distinguishes a retry from a conflict (I9).
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::UserTurn(turn) => turn.fingerprint(),
            Self::ToolContinuation(continuation) => continuation.fingerprint(),
        }
    }
}

/// Serializes the members of the canonical form, and `Streaming` if it is set. For clients.
impl Serialize for UserTurn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        UserTurnForm::new(self, self.streaming).serialize(serializer)
    }
}
