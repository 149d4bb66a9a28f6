//! What a seed has in store: who sends what when, and what the world does to it.

use std::time::Duration;

use protocol::timing::Timing;

use crate::{
    build::{AGENT, HOUSE, LOCAL, SUMMED_UP},
    client::Mutation,
    deployment::{Sent, Temper},
    fault::Rates,
    model::Script,
};

/// A client with one request.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) sent: Sent,
    pub(super) at: Duration,
    /// How often it sends its request before it gives up.
    pub(super) tries: u32,
    /// What it does with calls of its tools.
    pub(super) manner: Manner,
}

/// How a client deals with a continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manner {
    /// Tells its results from another client's of the same turn.
    pub(super) says: u32,
    /// How long its tools take.
    pub(super) takes: Duration,
    pub(super) sends: Sends,
}

/// What a client sends for a continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sends {
    /// The right results.
    Once,
    /// The right results, from two connections.
    Twice,
    /// Wrong results first.
    WrongFirst(Mutation, usize),
    /// Nothing at all.
    Nothing,
}

/// How the run recovers once faults stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recovery {
    /// Every client sends its request again.
    ClientsReturn,
    /// Everything that runs is killed, and somebody sends a new turn to each session (I16).
    NewTurnAfterPowerCut,
    /// Nobody comes back: there is only the sweep (I12).
    SweepAlone,
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) clients: Vec<Client>,
    /// Which client's turn is cancelled when.
    pub(super) cancels: Vec<(usize, Duration)>,
    pub(super) jumps: Vec<(Duration, i64)>,
    pub(super) rates: Rates,
    /// The share of function processes that are killed at some instant, in parts of a hundred.
    pub(super) killed: u32,
    /// What a function has of its own time.
    pub(super) budget: Duration,
    pub(super) faults_stop: Duration,
    pub(super) recovery: Recovery,
    pub(super) timing: Timing,
    pub(super) script: Script,
    pub(super) temper: Temper,
}

const SECOND: Duration = Duration::from_secs(1);

pub(super) fn draw(seed: u64) -> Plan {
    let chance = &mut fastrand::Rng::with_seed(seed ^ 0x5eed_0000_0000);
    let rough = chance.u32(0..4);
    let rates = Rates {
        crash: rough * chance.u32(0..14),
        not_applied: rough * chance.u32(0..20),
        reply_lost: rough * chance.u32(0..20),
        lands_late: rough * chance.u32(0..10),
        throttled: rough * chance.u32(0..20),
        cut_off: rough * chance.u32(0..60),
    };
    let clients = clients(chance);
    let cancels = (0..clients.len())
        .map(|client| (client, chance.u32(0..100) < 12, SECOND * chance.u32(0..60)))
        .filter(|(_, cancelled, _)| *cancelled)
        .map(|(client, _, at)| (client, at))
        .collect();
    let short_grace = chance.bool();
    let tool_wait = (chance.u32(0..3) == 0).then(|| SECOND * chance.u32(5..60));
    Plan {
        cancels,
        jumps: jumps(chance),
        rates,
        killed: chance.u32(0..30),
        budget: SECOND * if chance.u32(0..4) == 0 { 60 } else { 840 },
        faults_stop: SECOND * chance.u32(90..180),
        recovery: [Recovery::ClientsReturn, Recovery::NewTurnAfterPowerCut, Recovery::SweepAlone]
            [chance.usize(0..3)],
        timing: timing(short_grace, tool_wait),
        script: Script {
            slowest: SECOND * if chance.u32(0..4) == 0 { 100 } else { 20 },
            errors: 8,
            forgets: 8,
        },
        temper: Temper {
            loses: chance.u32(0..50),
            repeats: chance.u32(0..30),
            latest: SECOND * chance.u32(0..60),
        },
        clients,
    }
}

/// The usual times, but for what a simulation shortens.
fn timing(short_grace: bool, tool_wait: Option<Duration>) -> Timing {
    let usual = Timing::default();
    Timing {
        abandon_grace: if short_grace { SECOND * 5 } else { usual.abandon_grace },
        longest_tool_wait: tool_wait.unwrap_or(usual.longest_tool_wait),
        ..usual
    }
}

fn clients(chance: &mut fastrand::Rng) -> Vec<Client> {
    let mut clients = Vec::new();
    let sessions = if chance.u32(0..3) == 0 { 2 } else { 1 };
    for session in 0..sessions {
        let session = format!("s{session}");
        let contexts = contexts(chance);
        let mut at = Duration::ZERO;
        for turn in 0..chance.u32(1..=4) {
            let is_first = turn == 0;
            let turn = format!("t{turn}");
            let user = if chance.u32(0..4) == 0 { "ben" } else { "ann" };
            let sent = Sent::new(user, &session, &turn, &format!("{session} {turn}{}", calls(chance)));
            let (agent, conversation) = if is_first { contexts } else { named(contexts, chance) };
            let sent = sent.naming(agent, conversation);
            let tries = chance.u32(1..6);
            for _ in 0..[1, 1, 2, 3][chance.usize(0..4)] {
                let late = Duration::from_millis(chance.u64(0..4_000));
                clients.push(Client { sent: sent.clone(), at: at + late, tries, manner: manner(chance) });
            }
            if chance.u32(0..8) == 0 {
                // Another request under the same ids.
                let other = Sent::new(user, &session, &turn, "Something else");
                let late = Duration::from_millis(chance.u64(0..4_000));
                clients.push(Client { sent: other, at: at + late, tries: 2, manner: Manner::PROMPT });
            }
            at += SECOND * chance.u32(0..40);
        }
    }
    clients
}

/// The contexts that a request names: an agent's and a conversation's.
type Named = (Option<&'static str>, Option<&'static str>);

/// What the first request of a session names: mostly nothing.
fn contexts(chance: &mut fastrand::Rng) -> Named {
    match chance.u32(0..10) {
        0..6 => (None, None),
        6 => (Some(AGENT), None),
        7 => (None, Some(LOCAL)),
        8 => (Some(AGENT), Some(SUMMED_UP)),
        _ => (Some(AGENT), Some(HOUSE)),
    }
}

/// What a later one names: the same, nothing, or now and then what the session may not have.
fn named(contexts: Named, chance: &mut fastrand::Rng) -> Named {
    match chance.u32(0..10) {
        0..5 => contexts,
        5..9 => (None, None),
        _ => (contexts.0, Some(HOUSE)),
    }
}

/// What the turn's model calls, see [`crate::model`]: nothing, or up to three replies of calls.
fn calls(chance: &mut fastrand::Rng) -> String {
    let replies = ["s", "c", "ss", "sc", "cc", "csc", "m", "mc", "f", "uc"];
    let mut reply = || format!(" {}", replies[chance.usize(0..replies.len())]);
    let (some, more, most) = (reply(), reply(), reply());
    match chance.u32(0..8) {
        0..5 => String::new(),
        5 => format!(" calls:{some}"),
        6 => format!(" calls:{some}{more}"),
        _ => format!(" calls:{some}{more}{most}"),
    }
}

impl Manner {
    /// The right results at once.
    pub(super) const PROMPT: Self = Self { says: 0, takes: Duration::ZERO, sends: Sends::Once };
}

fn manner(chance: &mut fastrand::Rng) -> Manner {
    let late = chance.u32(0..5) == 0;
    let wrong = Mutation::OF_THE_LIST[chance.usize(0..Mutation::OF_THE_LIST.len())];
    Manner {
        says: chance.u32(0..2),
        takes: Duration::from_millis(chance.u64(0..if late { 60_000 } else { 3_000 })),
        sends: match chance.u32(0..10) {
            0..5 => Sends::Once,
            5..7 => Sends::Twice,
            7..9 => Sends::WrongFirst(wrong, chance.usize(0..3)),
            _ => Sends::Nothing,
        },
    }
}

fn jumps(chance: &mut fastrand::Rng) -> Vec<(Duration, i64)> {
    let most = if chance.u32(0..3) == 0 { 3 } else { 0 };
    let jump = |chance: &mut fastrand::Rng| {
        let millis = if chance.bool() { chance.i64(0..60_000) } else { -chance.i64(0..10_000) };
        (SECOND * chance.u32(1..90), millis)
    };
    (0..most).map(|_| jump(chance)).collect()
}
