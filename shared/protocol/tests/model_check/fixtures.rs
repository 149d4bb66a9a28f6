//! Fixtures: ids, requests, instants and outcomes, named by small numbers.

use std::sync::LazyLock;

use contracts::{
    Fingerprint, Timestamp, Usage,
    id::{OrgId, SessionId, TurnId, UserId},
    read::Visibility,
};
use protocol::caller::User;
use protocol::{
    chain::Target,
    detail::{Excerpt, OutcomeSummary, Report, StagedMode},
    id::{AttemptId, SessionKey, TurnKey},
    session::{Contexts, Hints, IdOrigin, SolutionChange},
    timing::Timing,
    transition::begin::{Setup, Submission},
    turn::Verdict,
};

use crate::state::{Object, OutcomeKind};

/// The maximum number of turns in a configuration. One more is submitted hypothetically, to check that it could
/// begin.
pub(crate) const TURNS: u8 = 3;

/// From this instant on nothing fails and no new call is made, and every earlier time limit is overdue.
pub(crate) const QUIESCENCE: u8 = 100;

/// At this instant every time limit that was set during the quiescence is overdue, too.
pub(crate) const END: u8 = 200;

/// The model that answers.
const MODEL: &str = "m";

/// The mode that sessions start in.
pub(crate) const FIRST_MODE: &str = "first";

static SUBMISSIONS: LazyLock<Vec<[Submission; 2]>> =
    LazyLock::new(|| (0..=TURNS).map(|turn| [make_submission(turn, 0), make_submission(turn, 1)]).collect());

/// An instant. One tick is a lease.
pub(crate) fn at(tick: u8) -> Timestamp {
    Timestamp::from_millis(i64::from(tick))
}

/// The waits, in ticks. Margins are left out, since they don't protect against a process that stands still.
pub(crate) fn timing() -> Timing {
    let ticks = std::time::Duration::from_millis;
    Timing {
        lease: ticks(1),
        salvage_lease: ticks(1),
        stop_margin: ticks(0),
        ownership_check_interval: ticks(0),
        ownership_check_ttl: ticks(0),
        takeover_margin: ticks(0),
        usage_grace: ticks(0),
        short_usage_grace: ticks(0),
        abandon_grace: ticks(1),
        settled_grace: ticks(0),
        replay_wait: ticks(0),
        settle_reserve: ticks(0),
        max_stream_follow: ticks(0),
        max_tool_wait: ticks(10_000),
        provider_response_ttl: ticks(10_000),
        retention: ticks(10_000),
        purge_recheck: ticks(1),
    }
}

/// Returns the deadline of the client's tools.
pub(crate) fn tool_deadline(now: u8) -> Timestamp {
    at(now.saturating_add(1))
}

/// Returns the request for this turn with this body.
pub(crate) fn submission(turn: u8, body: u8) -> &'static Submission {
    &SUBMISSIONS[usize::from(turn)][usize::from(body)]
}

/// Returns the turn's key.
pub(crate) fn key(turn: u8) -> &'static TurnKey {
    &submission(turn, 0).key
}

/// Returns the number of the turn with this id.
pub(crate) fn number(id: &TurnId) -> u8 {
    (0..=TURNS).find(|turn| key(*turn).turn == *id).expect("the id must be a fixture turn")
}

/// Returns the body that a fingerprint belongs to.
pub(crate) fn body(fingerprint: Fingerprint) -> u8 {
    (0..2)
        .find(|body| submission(0, *body).fingerprint == fingerprint)
        .expect("the fingerprint must be a fixture body")
}

/// Returns the fingerprint of tool results, from the calls that they answer and their content.
pub(crate) fn results_fingerprint(calls: u8, content: u8) -> Fingerprint {
    Fingerprint::hash_bytes(&[calls, content])
}

/// Returns the provider's id of a reply.
pub(crate) fn response_id(turn: u8, text: u8) -> String {
    format!("r{turn}.{text}")
}

/// Returns the mode that a turn stages.
pub(crate) fn mode_of(turn: u8) -> String {
    format!("m{turn}")
}

/// An attempt id.
pub(crate) fn attempt(process: u8, count: u8) -> AttemptId {
    AttemptId::new(format!("{}{count}", char::from(b'a' + process)))
}

/// Returns the content of an outcome object, as the transitions read it.
pub(crate) fn findings(object: &Object, stages_mode: bool) -> OutcomeSummary {
    let report = Report {
        response_id: (object.kind == OutcomeKind::Answer).then(|| response_id(object.turn, object.text)),
        model: Some(MODEL.to_owned()),
        chain_expires: Some(Timestamp::from_millis(i64::MAX)),
        usage: Some(Usage { prompt_tokens: 1, ..Usage::default() }),
        ..Report::default()
    };
    let staged = (stages_mode && object.kind == OutcomeKind::Answer).then(|| StagedMode {
        mode: mode_of(object.turn),
        reason: String::new(),
        branch: false,
        at: at(0),
    });
    OutcomeSummary { report, modes: staged.into_iter().collect() }
}

/// Returns the verdict that an outcome object stands for, or `None` for a suspension.
pub(crate) fn verdict(object: &Object, writer: AttemptId) -> Option<Verdict> {
    match object.kind {
        OutcomeKind::Answer => Some(Verdict::Completed { writer }),
        OutcomeKind::Failure => Some(Verdict::Failed { writer }),
        OutcomeKind::Calls => None,
    }
}

fn make_submission(turn: u8, body: u8) -> Submission {
    let session = SessionKey {
        org: OrgId::new("o").expect("valid id"),
        session: SessionId::new("s").expect("valid id"),
    };
    Submission {
        key: session.turn(TurnId::new(format!("t{turn}")).expect("valid id")),
        id_origin: IdOrigin::Client,
        requested_by: User { id: UserId::new("u").expect("valid id"), name: "u".to_owned() },
        fingerprint: Fingerprint::hash_bytes(&[body]),
        id: None,
        contexts: Contexts::default(),
        hints: Hints::default(),
        session_name: String::new(),
        instruction_summary: Excerpt::default(),
        streamed: false,
        unstored: false,
        solution: SolutionChange::default(),
    }
}

/// Returns the setup of every turn.
pub(crate) fn setup() -> &'static Setup {
    static SETUP: LazyLock<Setup> = LazyLock::new(|| Setup {
        contexts: Contexts::default(),
        visibility: Visibility::Org,
        initial_mode: FIRST_MODE.to_owned(),
        target: Target { model: MODEL.to_owned(), ..Target::default() },
        files: Vec::new(),
        basis: None,
        lost_ancestor: None,
    });
    &SETUP
}
