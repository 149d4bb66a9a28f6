//! Requests that start from an existing turn: reruns and forks.

use super::{
    artifact,
    body::{parse_body, validate},
    envelope::non_blank,
    execute::UserTurn,
    field_table::{Field, Scenario, read_object},
    image,
    json::Json,
    limits::{
        MAX_ARTIFACTS, MAX_IMAGES, MAX_INSTRUCTION_CHARS, MAX_MODE_CHARS, MAX_MODEL_CHARS,
        MAX_SESSION_NAME_CHARS, MAX_SOLUTION_CONTEXT_CHARS,
    },
    rag,
    turn_input::TurnInput,
    uniqueness,
    value::{boolean, hint, id, line, list, name, text},
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

/// A request to fork a session from one of its turns. Created only by parsing.
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
    Field::required("TurnId", |json, at, draft, violations| {
        draft.turn_id = id(json, at, violations);
    }),
    Field::optional("Instruction", |json, at, draft, violations| {
        if let Some(text) = text(json, MAX_INSTRUCTION_CHARS, at, violations) {
            draft.input.instruction = non_blank(text);
            if draft.input.instruction.is_none() {
                violations.invalid(at, "must say something; leave it out to ask the same again");
            }
        }
    }),
    Field::optional("InputArtifacts", |json, at, draft, violations| {
        draft.input.input_artifacts = list(json, MAX_ARTIFACTS, at, violations, artifact::read);
    }),
    Field::optional("ClipboardImages", |json, at, draft, violations| {
        draft.input.clipboard_images = list(json, MAX_IMAGES, at, violations, image::read);
    }),
    Field::optional("RagScope", |json, at, draft, violations| {
        draft.input.rag_scope = rag::read(json, at, violations);
    }),
    Field::optional("SolutionContextText", |json, at, draft, violations| {
        draft.input.solution_context_text = text(json, MAX_SOLUTION_CONTEXT_CHARS, at, violations).map(str::to_owned);
    }),
    Field::optional("WorkspaceId", |json, at, draft, violations| {
        draft.input.workspace_id = hint(json, at, violations);
    }),
    Field::optional("Repo", |json, at, draft, violations| {
        draft.input.repo = hint(json, at, violations);
    }),
    Field::optional("Language", |json, at, draft, violations| {
        draft.input.language = hint(json, at, violations);
    }),
    Field::optional("Model", |json, at, draft, violations| {
        draft.model = line(json, MAX_MODEL_CHARS, at, violations).map(str::to_owned);
    }),
    Field::optional("Mode", |json, at, draft, violations| {
        draft.mode = line(json, MAX_MODE_CHARS, at, violations).map(str::to_owned);
    }),
    Field::optional("Streaming", |json, at, draft, violations| {
        draft.input.streaming = boolean(json, at, violations).unwrap_or_default();
    }),
];

#[derive(Default)]
struct ForkDraft {
    session_id: Option<SessionId>,
    turn_id: Option<TurnId>,
    name: Option<String>,
}

#[rustfmt::skip]
const FORK_FIELDS: &[Field<ForkDraft>] = &[
    Field::required("SessionId", |json, at, draft, violations| {
        draft.session_id = id(json, at, violations);
    }),
    Field::required("TurnId", |json, at, draft, violations| {
        draft.turn_id = id(json, at, violations);
    }),
    Field::optional("Name", |json, at, draft, violations| {
        draft.name = name(json, MAX_SESSION_NAME_CHARS, at, violations).map(str::to_owned);
    }),
];

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
