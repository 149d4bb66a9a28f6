//! Requests that start from an existing turn: reruns and forks.

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    artifact::ARTIFACTS,
    body::{json_request, parse_body, validate},
    envelope::non_blank,
    execute::UserTurn,
    field_table::{Field, Scenario, Slot, documented, read_object, slot},
    image::IMAGES,
    json::Json,
    kind::{FLAG, HINT, Kind, SESSION_ID, SESSION_NAME, Shape, TURN_ID, line, text},
    limits::{MAX_INSTRUCTION_CHARS, MAX_MODE_CHARS, MAX_SOLUTION_CONTEXT_CHARS},
    rag::SCOPE,
    turn_input::TurnInput,
    uniqueness, value,
    violations::{Location, Violations},
};
use crate::{
    error::Error,
    hash::Fingerprint,
    id::{SessionId, TurnId},
};

/// A request to rerun a turn as a new turn, with some members replaced. Created only by parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RerunRequest {
    /// The id of the new turn, chosen by the client.
    pub turn_id: TurnId,
    /// The new input.
    pub input: TurnInput,
    /// The model to use, one of those that the conversation context allows. Absent: the context's default.
    pub model: Option<String>,
    /// The key of the mode of this turn alone. Absent: that of the original turn.
    pub mode: Option<String>,
}

/// A request to fork a session from one of its turns.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkRequest {
    /// The id of the new session, chosen by the client.
    pub session_id: SessionId,
    /// The completed turn to continue from.
    pub turn_id: TurnId,
    /// The name of the new session. Absent: that of the original session.
    pub name: Option<String>,
}

#[derive(Default)]
struct RerunDraft {
    turn_id: Option<TurnId>,
    input: TurnInput,
    model: Option<String>,
    mode: Option<String>,
}

#[rustfmt::skip]
const RERUN_FIELDS: &[Field<RerunDraft>] = &[
    Field::required("TurnId", "", slot!(TURN_ID, RerunDraft, turn_id)),
    Field::optional("Instruction", "New instruction. Default: that of the original turn.",
        slot!(INSTRUCTION, RerunDraft, input.instruction)),
    Field::optional("InputArtifacts", "New files. Default: those of the original turn.",
        slot!(ARTIFACTS, RerunDraft, input.input_artifacts)),
    Field::optional("ClipboardImages", "New pasted images. Default: those of the original turn.",
        slot!(IMAGES, RerunDraft, input.clipboard_images)),
    Field::optional("RagScope", "New conditions on retrieved chunks. Default: those of the original turn.",
        slot!(SCOPE, RerunDraft, input.rag_scope)),
    Field::optional("SolutionContextText",
        "New solution context of the session. An empty text removes it. Default: that of the original turn.",
        slot!(text(MAX_SOLUTION_CONTEXT_CHARS), RerunDraft, input.solution_context_text)),
    Field::optional("WorkspaceId", "Advisory hint. Default: that of the original turn.",
        slot!(HINT, RerunDraft, input.workspace_id)),
    Field::optional("Repo", "Advisory hint. Default: that of the original turn.",
        slot!(HINT, RerunDraft, input.repo)),
    Field::optional("Language", "Advisory hint. Default: that of the original turn.",
        slot!(HINT, RerunDraft, input.language)),
    Field::optional("Model",
        "Model to use, one of those that the conversation context allows. Default: the context's model.",
        slot!(HINT, RerunDraft, model)),
    Field::optional("Mode",
        "Key of the mode of this turn. The session keeps its mode. Default: that of the original turn.",
        slot!(line(MAX_MODE_CHARS), RerunDraft, mode)),
    Field::optional("Streaming", "Set to `true` to stream the answer. Default: `false`.",
        &Slot(FLAG, |draft: &mut RerunDraft, flag| draft.input.streaming = flag.unwrap_or_default())),
];

/// An instruction that replaces another one.
const INSTRUCTION: Kind<String> = Kind {
    shape: Shape::Text { max_chars: MAX_INSTRUCTION_CHARS, pattern: Some(r"\S"), media_type: None },
    read: |shape, json, at, violations| {
        let instruction = non_blank(value::text(json, shape.max(), at, violations)?.to_owned());
        if instruction.is_none() {
            violations.invalid(at, "must say something; leave it out to ask the same again");
        }
        instruction
    },
};

documented!(
    RerunRequest,
    "RerunRequest",
    schemas::object_schema("A request to rerun a turn as a new turn.", RERUN_FIELDS, Scenario::Rerun),
    |all| schemas::collect(RERUN_FIELDS, all)
);

#[derive(Default)]
struct ForkDraft {
    session_id: Option<SessionId>,
    turn_id: Option<TurnId>,
    name: Option<String>,
}

const FORK_FIELDS: &[Field<ForkDraft>] = &[
    Field::required(
        "SessionId",
        "Id of the new session, chosen by the client.",
        slot!(SESSION_ID, ForkDraft, session_id),
    ),
    Field::required(
        "TurnId",
        "Id of the completed turn to continue from.",
        slot!(TURN_ID, ForkDraft, turn_id),
    ),
    Field::optional(
        "Name",
        "Display name of the new session. Default: that of the original session.",
        slot!(SESSION_NAME, ForkDraft, name),
    ),
];

documented!(
    ForkRequest,
    "ForkRequest",
    schemas::object_schema("A request to fork a session.", FORK_FIELDS, Scenario::Fork),
    |all| schemas::collect(FORK_FIELDS, all)
);

json_request!(RerunRequest);
json_request!(ForkRequest);

impl RerunRequest {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, rerun)
    }

    /// The fingerprint of the rerun: the original turn, the new id and the changes. Distinguishes a retry from a
    /// conflict (I9).
    #[must_use]
    pub fn fingerprint(&self, original: &TurnId, turn: &UserTurn) -> Fingerprint {
        let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
        let turn = turn.fingerprint().to_string();
        // None of the parts holds a line break.
        let parts = [turn, original.to_string(), or_empty(&self.model), or_empty(&self.mode)];
        Fingerprint::hash_bytes(format!("rerun\n{}", parts.join("\n")).as_bytes())
    }
}

impl ForkRequest {
    /// Creates a fork under the name of its original session.
    #[must_use]
    pub const fn new(session_id: SessionId, turn_id: TurnId) -> Self {
        Self { session_id, turn_id, name: None }
    }

    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, fork)
    }
}

impl UserTurn {
    /// Applies a rerun request: the same turn under a new id, with the changes.
    #[must_use]
    pub fn with_rerun(self, rerun: &RerunRequest) -> Self {
        let input = rerun.input.clone();
        Self {
            turn_id: rerun.turn_id.clone(),
            instruction: input.instruction.or(self.instruction),
            input_artifacts: input.input_artifacts.unwrap_or(self.input_artifacts),
            clipboard_images: input.clipboard_images.unwrap_or(self.clipboard_images),
            rag_scope: input.rag_scope.unwrap_or(self.rag_scope),
            solution_context_text: input.solution_context_text.or(self.solution_context_text),
            workspace_id: input.workspace_id.or(self.workspace_id),
            repo: input.repo.or(self.repo),
            language: input.language.or(self.language),
            streaming: input.streaming,
            ..self
        }
    }
}

fn rerun(json: &Json<'_>, violations: &mut Violations) -> Option<RerunRequest> {
    let mut draft = RerunDraft::default();
    read_object(json, RERUN_FIELDS, Scenario::Rerun, &Location::ROOT, &mut draft, violations);
    uniqueness::check(json, violations);
    let RerunDraft { turn_id, input, model, mode } = draft;
    Some(RerunRequest { turn_id: turn_id?, input, model, mode })
}

fn fork(json: &Json<'_>, violations: &mut Violations) -> Option<ForkRequest> {
    let mut draft = ForkDraft::default();
    read_object(json, FORK_FIELDS, Scenario::Fork, &Location::ROOT, &mut draft, violations);
    Some(ForkRequest { session_id: draft.session_id?, turn_id: draft.turn_id?, name: draft.name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    fn violations(body: &str) -> Vec<(ErrorCode, String)> {
        let errors = RerunRequest::parse(body.as_bytes()).unwrap_err();
        errors.into_iter().map(|error| (error.error_code, error.details.unwrap_or_default())).collect()
    }

    #[test]
    fn rerun_holds_changed_members() {
        let rerun = RerunRequest::parse(br#"{"turnId":"t2","Mode":"general","Streaming":true}"#).unwrap();
        assert_eq!((rerun.turn_id.as_str(), rerun.mode.as_deref()), ("t2", Some("general")));
        assert!(rerun.input.streaming && rerun.input.instruction.is_none() && rerun.model.is_none());
    }

    #[test]
    fn rerun_violations_reported_together() {
        let faults = violations(r#"{"Instruction":"  ","Model":"","Temperature":1,"Mode":7}"#);
        assert_eq!(
            faults,
            [
                (ErrorCode::MemberInvalid, "Instruction".to_owned()),
                (ErrorCode::MemberInvalid, "Model".to_owned()),
                (ErrorCode::MemberForbidden, "Temperature".to_owned()),
                (ErrorCode::MemberInvalid, "Mode".to_owned()),
                (ErrorCode::MemberRequired, "TurnId".to_owned()),
            ]
        );
    }

    #[test]
    fn rerun_fingerprint_covers_original_and_changes() {
        let body = br#"{"SessionId":"s","TurnId":"t1","Instruction":"Look."}"#;
        let turn = match super::super::AgentExecuteRequest::parse(body).unwrap() {
            super::super::AgentExecuteRequest::UserTurn(turn) => turn,
            super::super::AgentExecuteRequest::ToolContinuation(_) => unreachable!("there are no results"),
        };
        let fingerprint = |original: &str, body: &str| {
            let rerun = RerunRequest::parse(body.as_bytes()).unwrap();
            rerun.fingerprint(&original.parse().unwrap(), &turn.clone().with_rerun(&rerun))
        };
        let plain = r#"{"TurnId":"t2"}"#;
        assert_eq!(fingerprint("t1", plain), fingerprint("t1", r#"{"TurnId":"t2","Streaming":true}"#));
        let others =
            [r#"{"TurnId":"t3"}"#, r#"{"TurnId":"t2","Mode":"m"}"#, r#"{"TurnId":"t2","Model":"m"}"#];
        for other in others.map(|body| fingerprint("t1", body)).into_iter().chain([fingerprint("t0", plain)])
        {
            assert_ne!(fingerprint("t1", plain), other);
        }
        assert_ne!(fingerprint("t1", plain), turn.fingerprint());
    }
}
