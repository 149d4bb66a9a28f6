//! Tests of the transitions, on values alone, and the values that they share.

mod attempts;
mod begin;
mod chain;
mod end;
mod rerun;
mod spend;

use std::time::Duration;

use contracts::{
    Fingerprint, Timestamp, Usage,
    id::{OrgId, SessionId, TurnId, UserId},
    read::Visibility,
};

use crate::{
    caller::User,
    chain::Target,
    detail::{Excerpt, OutcomeSummary, Report},
    id::{AttemptId, SessionKey},
    session::{Contexts, Hints, IdOrigin, Session, SolutionChange},
    timing::Timing,
    transition::{
        self,
        begin::{Setup, Submission},
        finalize, settle,
    },
    turn::{Turn, Verdict},
};

pub(super) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000_000_000).after(Duration::from_secs(seconds))
}

pub(super) fn attempt(name: &str) -> AttemptId {
    AttemptId::new(name.to_owned())
}

pub(super) fn target(model: &str, provider: &str) -> Target {
    Target { model: model.to_owned(), provider: provider.to_owned(), ..Target::default() }
}

pub(super) fn submission(turn: &str, instruction: &str) -> Submission {
    let session = SessionKey { org: OrgId::new("acme").unwrap(), session: SessionId::new("s").unwrap() };
    Submission {
        key: session.turn(TurnId::new(turn).unwrap()),
        id_origin: IdOrigin::default(),
        requested_by: User { id: UserId::new("ada").unwrap(), name: "Ada".to_owned() },
        fingerprint: Fingerprint::hash_bytes(instruction.as_bytes()),
        id: None,
        contexts: Contexts::default(),
        hints: Hints::default(),
        session_name: instruction.to_owned(),
        instruction_summary: Excerpt { text: instruction.to_owned(), is_truncated: false },
        streamed: false,
        unstored: false,
        solution: SolutionChange::Unchanged,
    }
}

pub(super) fn setup() -> Setup {
    Setup {
        contexts: Contexts::default(),
        visibility: Visibility::Org,
        initial_mode: "general".to_owned(),
        target: target("m", "p"),
        files: Vec::new(),
        basis: None,
        lost_ancestor: None,
    }
}

/// A session whose first turn runs since `at(0)`.
pub(super) fn running() -> (Session, Turn) {
    let timing = Timing::default();
    let commit = transition::begin::begin(
        None,
        None,
        &submission("t1", "one"),
        &setup(),
        attempt("a"),
        true,
        at(0),
        &timing,
    );
    (commit.session.after, commit.turns[0].after.clone())
}

pub(super) fn answer(id: &str) -> OutcomeSummary {
    let report = Report {
        response_id: Some(id.to_owned()),
        model: Some("m".to_owned()),
        received_at: Some(at(3)),
        chain_expires: Some(at(1_000)),
        usage: Some(Usage { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5, ..Usage::default() }),
        ..Report::default()
    };
    OutcomeSummary { report, modes: Vec::new() }
}

pub(super) fn completed(writer: &str) -> Verdict {
    Verdict::Completed { writer: attempt(writer) }
}

/// The session after its first turn had this outcome.
pub(super) fn after(outcome: &OutcomeSummary) -> Session {
    let (session, turn) = running();
    let settled = settle::settle(&turn, completed("a"), at(3), at(3), &Timing::default()).unwrap().after;
    finalize::finalize(&session, &settled, Some(outcome)).unwrap().session
}
