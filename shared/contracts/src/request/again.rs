//! What asks for a turn of another: a rerun (DD-006), and a fork.

use super::{
    UserTurn,
    envelope::says_something,
    json::Json,
    limits::{MAX_INSTRUCTION_CHARS, MAX_MODE_CHARS, MAX_MODEL_CHARS, MAX_SESSION_NAME_CHARS},
    report::{At, Report},
    table::{Member, Scenario, read_object},
    value::{boolean, id, line, text},
};
use crate::{
    error::Error,
    hash::Fingerprint,
    id::{SessionId, TurnId},
};

/// Asks for a turn to be run again (DD-006): as a new turn, with what is said here in the place of what was said
/// then. Only parsing makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RerunRequest {
    /// The new turn, minted by the client.
    pub turn_id: TurnId,
    /// What the user says now; absent: what was said then.
    pub instruction: Option<String>,
    /// The model that is to answer, one of those that the conversation context names; absent: the context's own.
    pub model: Option<String>,
    /// The key of the mode that the turn is to begin in; absent: the one that it began in then.
    pub mode: Option<String>,
    /// Whether the answer is streamed; delivery only (AGN-034 §4.7).
    pub streaming: bool,
}

/// Asks for a session that goes on from a turn of another one. Only parsing makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkRequest {
    /// The new session, minted by the client.
    pub session_id: SessionId,
    /// The completed turn to go on from.
    pub turn_id: TurnId,
    /// What people call it; absent: as the other one.
    pub name: Option<String>,
}

#[derive(Default)]
struct RerunDraft {
    turn_id: Option<TurnId>,
    instruction: Option<String>,
    model: Option<String>,
    mode: Option<String>,
    streaming: bool,
}

#[rustfmt::skip]
const OF_RERUN: &[Member<RerunDraft>] = &[
    Member::required("TurnId", |json, at, draft, report| {
        draft.turn_id = id(json, at, report);
    }),
    Member::optional("Instruction", |json, at, draft, report| {
        if let Some(said) = text(json, MAX_INSTRUCTION_CHARS, at, report) {
            draft.instruction = says_something(said);
            if draft.instruction.is_none() {
                report.invalid(at, "must say something; leave it out to ask the same again");
            }
        }
    }),
    Member::optional("Model", |json, at, draft, report| {
        draft.model = line(json, MAX_MODEL_CHARS, at, report).map(str::to_owned);
    }),
    Member::optional("Mode", |json, at, draft, report| {
        draft.mode = line(json, MAX_MODE_CHARS, at, report).map(str::to_owned);
    }),
    Member::optional("Streaming", |json, at, draft, report| {
        draft.streaming = boolean(json, at, report).unwrap_or_default();
    }),
];

#[derive(Default)]
struct ForkDraft {
    session_id: Option<SessionId>,
    turn_id: Option<TurnId>,
    name: Option<String>,
}

#[rustfmt::skip]
const OF_FORK: &[Member<ForkDraft>] = &[
    Member::required("SessionId", |json, at, draft, report| {
        draft.session_id = id(json, at, report);
    }),
    Member::required("TurnId", |json, at, draft, report| {
        draft.turn_id = id(json, at, report);
    }),
    Member::optional("Name", |json, at, draft, report| {
        draft.name = line(json, MAX_SESSION_NAME_CHARS, at, report).map(str::to_owned);
    }),
];

impl RerunRequest {
    /// Reads a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order; never none.
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        super::checked(&super::within_limit(body)?, rerun)
    }

    /// What tells a retry from a conflict (I9): what is run again, under this id and with these changes.
    #[must_use]
    pub fn fingerprint(&self, of: &TurnId, asked: &UserTurn) -> Fingerprint {
        let absent = |text: &Option<String>| text.clone().unwrap_or_default();
        let request = asked.fingerprint().to_string();
        // Nothing of it holds a line break.
        let said = [request, of.to_string(), absent(&self.model), absent(&self.mode)];
        Fingerprint::of_bytes(format!("rerun\n{}", said.join("\n")).as_bytes())
    }
}

impl ForkRequest {
    /// Reads a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order; never none.
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        super::checked(&super::within_limit(body)?, fork)
    }
}

impl UserTurn {
    /// The same, asked again as another turn.
    #[must_use]
    pub fn again(self, rerun: &RerunRequest) -> Self {
        Self {
            turn_id: rerun.turn_id.clone(),
            instruction: rerun.instruction.clone().or(self.instruction),
            streaming: rerun.streaming,
            ..self
        }
    }
}

fn rerun(json: &Json<'_>, report: &mut Report) -> Option<RerunRequest> {
    let mut draft = RerunDraft::default();
    read_object(json, OF_RERUN, Scenario::Rerun, &At::ROOT, &mut draft, report);
    let RerunDraft { turn_id, instruction, model, mode, streaming } = draft;
    Some(RerunRequest { turn_id: turn_id?, instruction, model, mode, streaming })
}

fn fork(json: &Json<'_>, report: &mut Report) -> Option<ForkRequest> {
    let mut draft = ForkDraft::default();
    read_object(json, OF_FORK, Scenario::Fork, &At::ROOT, &mut draft, report);
    Some(ForkRequest { session_id: draft.session_id?, turn_id: draft.turn_id?, name: draft.name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    fn faults(body: &str) -> Vec<(ErrorCode, String)> {
        let errors = RerunRequest::parse(body.as_bytes()).unwrap_err();
        errors.into_iter().map(|error| (error.error_code, error.details.unwrap_or_default())).collect()
    }

    #[test]
    fn a_rerun_says_what_is_other_than_it_was() {
        let rerun = RerunRequest::parse(br#"{"turnId":"t2","Mode":"general","Streaming":true}"#).unwrap();
        assert_eq!((rerun.turn_id.as_str(), rerun.mode.as_deref()), ("t2", Some("general")));
        assert!(rerun.streaming && rerun.instruction.is_none() && rerun.model.is_none());
    }

    #[test]
    fn everything_that_is_wrong_with_a_rerun_is_told_at_once() {
        let told = faults(r#"{"Instruction":"  ","Model":"","InputArtifacts":[],"Mode":7}"#);
        assert_eq!(
            told,
            [
                (ErrorCode::MemberInvalid, "Instruction".to_owned()),
                (ErrorCode::MemberInvalid, "Model".to_owned()),
                (ErrorCode::MemberUnknown, "InputArtifacts".to_owned()),
                (ErrorCode::MemberInvalid, "Mode".to_owned()),
                (ErrorCode::MemberRequired, "TurnId".to_owned()),
            ]
        );
    }

    #[test]
    fn a_rerun_is_told_from_another_by_what_it_repeats_and_changes() {
        let body = br#"{"SessionId":"s","TurnId":"t1","Instruction":"Look."}"#;
        let asked = match super::super::AgentExecuteRequest::parse(body).unwrap() {
            super::super::AgentExecuteRequest::UserTurn(turn) => turn,
            super::super::AgentExecuteRequest::ToolContinuation(_) => unreachable!("there are no results"),
        };
        let of = |original: &str, body: &str| {
            let rerun = RerunRequest::parse(body.as_bytes()).unwrap();
            rerun.fingerprint(&original.parse().unwrap(), &asked.clone().again(&rerun))
        };
        let plain = r#"{"TurnId":"t2"}"#;
        assert_eq!(of("t1", plain), of("t1", r#"{"TurnId":"t2","Streaming":true}"#));
        let others =
            [r#"{"TurnId":"t3"}"#, r#"{"TurnId":"t2","Mode":"m"}"#, r#"{"TurnId":"t2","Model":"m"}"#];
        for other in others.map(|body| of("t1", body)).into_iter().chain([of("t0", plain)]) {
            assert_ne!(of("t1", plain), other);
        }
        assert_ne!(of("t1", plain), asked.fingerprint());
    }
}
