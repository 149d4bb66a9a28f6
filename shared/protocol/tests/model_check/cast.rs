//! Who and what takes part: ids, requests, instants and outcomes, named by small numbers.

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
    session::{Contexts, Hints, SolutionChange},
    timing::Timing,
    transition::begin::{Setup, Submission},
    turn::Verdict,
};

use crate::state::{Object, Said};

/// The most turns a configuration has; one more is submitted in thought, to see whether it could begin.
pub(crate) const TURNS: u8 = 3;

/// From here on nothing fails and nobody comes new, and everything that had a time limit before is overdue.
pub(crate) const CALM: u8 = 100;

/// Everything that got a time limit in the calm is overdue too.
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

/// The waits, in ticks: everything that is a margin in production is left out, since a margin is no
/// protection against a process that stands still.
pub(crate) fn timing() -> Timing {
    let ticks = std::time::Duration::from_millis;
    Timing {
        lease: ticks(1),
        salvage_lease: ticks(1),
        stop_margin: ticks(0),
        ownership_check_interval: ticks(0),
        ownership_check_ttl: ticks(0),
        takeover_margin: ticks(0),
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

/// How long the client may take for its tools.
pub(crate) fn tool_deadline(now: u8) -> Timestamp {
    at(now.saturating_add(1))
}

/// The request that names this turn and has this body.
pub(crate) fn submission(turn: u8, body: u8) -> &'static Submission {
    &SUBMISSIONS[usize::from(turn)][usize::from(body)]
}

/// The turn's key.
pub(crate) fn key(turn: u8) -> &'static TurnKey {
    &submission(turn, 0).key
}

/// Which turn an id names.
pub(crate) fn number(id: &TurnId) -> u8 {
    (0..=TURNS).find(|turn| key(*turn).turn == *id).expect("a turn of the cast")
}

/// Which body a fingerprint belongs to.
pub(crate) fn body(fingerprint: Fingerprint) -> u8 {
    (0..2).find(|body| submission(0, *body).fingerprint == fingerprint).expect("a body of the cast")
}

/// The fingerprint of tool results: which calls they answer and what they say.
pub(crate) fn results_fingerprint(calls: u8, says: u8) -> Fingerprint {
    Fingerprint::hash_bytes(&[calls, says])
}

/// The provider's id of a reply.
pub(crate) fn response_id(turn: u8, text: u8) -> String {
    format!("r{turn}.{text}")
}

/// The mode that a turn stages.
pub(crate) fn mode_of(turn: u8) -> String {
    format!("m{turn}")
}

/// An attempt id.
pub(crate) fn attempt(process: u8, count: u8) -> AttemptId {
    AttemptId::new(format!("{}{count}", char::from(b'a' + process)))
}

/// What an outcome object holds, as the transitions read it.
pub(crate) fn findings(object: &Object, stages_mode: bool) -> OutcomeSummary {
    let report = Report {
        response_id: (object.said == Said::Answer).then(|| response_id(object.turn, object.text)),
        model: Some(MODEL.to_owned()),
        chain_expires: Some(Timestamp::from_millis(i64::MAX)),
        usage: Some(Usage { prompt_tokens: 1, ..Usage::default() }),
        ..Report::default()
    };
    let staged = (stages_mode && object.said == Said::Answer).then(|| StagedMode {
        mode: mode_of(object.turn),
        reason: String::new(),
        branch: false,
        at: at(0),
    });
    OutcomeSummary { report, modes: staged.into_iter().collect() }
}

/// The verdict that an outcome object stands for; none for a suspension.
pub(crate) fn verdict(object: &Object, writer: AttemptId) -> Option<Verdict> {
    match object.said {
        Said::Answer => Some(Verdict::Completed { writer }),
        Said::Failure => Some(Verdict::Failed { writer }),
        Said::Calls => None,
    }
}

fn make_submission(turn: u8, body: u8) -> Submission {
    let session =
        SessionKey { org: OrgId::new("o").expect("an id"), session: SessionId::new("s").expect("an id") };
    Submission {
        key: session.turn(TurnId::new(format!("t{turn}")).expect("an id")),
        requested_by: User { id: UserId::new("u").expect("an id"), name: "u".to_owned() },
        fingerprint: Fingerprint::hash_bytes(&[body]),
        id: None,
        contexts: Contexts::default(),
        hints: Hints::default(),
        session_name: String::new(),
        instruction_summary: Excerpt::default(),
        streamed: false,
        solution: SolutionChange::default(),
    }
}

/// What every turn is begun with.
pub(crate) fn setup() -> &'static Setup {
    static SETUP: LazyLock<Setup> = LazyLock::new(|| Setup {
        contexts: Contexts::default(),
        visibility: Visibility::Org,
        initial_mode: FIRST_MODE.to_owned(),
        target: Target { model: MODEL.to_owned(), ..Target::default() },
        files: Vec::new(),
        rerun: None,
        purged_ancestor: None,
    });
    &SETUP
}
