//! The plan of a seed: the clients, their requests and the faults.

use std::time::Duration;

use protocol::{payload::MAX_INLINE_REQUEST_BYTES, timing::Timing};

use crate::{
    build::{AGENT, COMPACTED, CUSTOM, LOCAL, ROLLED_OUT},
    client::Mutation,
    deployment::{ClientRequest, QueueFaults},
    fault::Rates,
    model::Script,
};

/// A client with one request.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) sent: ClientRequest,
    pub(super) at: Duration,
    /// The most times that it sends its request.
    pub(super) tries: u32,
    /// Its behaviour when its tools are called.
    pub(super) tool_behavior: ToolBehavior,
}

/// The behaviour of a client that gets a continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ToolBehavior {
    /// Distinguishes its results from those of another client of the same turn.
    pub(super) says: u32,
    /// The run time of its tools.
    pub(super) takes: Duration,
    pub(super) policy: ResultPolicy,
}

/// The results that a client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultPolicy {
    /// The correct results.
    Once,
    /// The correct results, over two connections.
    Twice,
    /// Wrong results first.
    WrongFirst(Mutation, usize),
    /// No results.
    Nothing,
}

/// The recovery after faults stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recovery {
    /// Every client retries its request.
    ClientsReturn,
    /// All processes are killed, and each session gets a new turn (I16).
    NewTurnAfterPowerCut,
    /// No client returns, and only the sweep runs (I12).
    SweepAlone,
}

/// Two identical imports of a copy of a session.
#[derive(Debug, Clone)]
pub(super) struct Import {
    /// The session, which is copied as soon as its turns are over.
    pub(super) session: String,
    pub(super) at: Duration,
    /// The time between the two.
    pub(super) apart: Duration,
    /// The most times that each is sent.
    pub(super) tries: u32,
}

/// The session that imports create.
pub(super) const COPY: &str = "copy";

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) clients: Vec<Client>,
    pub(super) import: Option<Import>,
    /// Cancels, by client and time.
    pub(super) cancels: Vec<(usize, Duration)>,
    pub(super) jumps: Vec<(Duration, i64)>,
    pub(super) rates: Rates,
    /// The percentage of processes that are killed at some point.
    pub(super) kill_percent: u32,
    /// The time budget of a function.
    pub(super) budget: Duration,
    pub(super) faults_stop: Duration,
    pub(super) recovery: Recovery,
    pub(super) timing: Timing,
    pub(super) script: Script,
    pub(super) queue_faults: QueueFaults,
}

const SECOND: Duration = Duration::from_secs(1);

pub(super) fn draw(seed: u64) -> Plan {
    let chance = &mut fastrand::Rng::with_seed(seed ^ 0x5eed_0000_0000);
    let severity = chance.u32(0..4);
    let rates = Rates {
        crash: severity * chance.u32(0..14),
        not_applied: severity * chance.u32(0..20),
        reply_lost: severity * chance.u32(0..20),
        applied_late: severity * chance.u32(0..10),
        throttled: severity * chance.u32(0..20),
        partition: severity * chance.u32(0..60),
    };
    let clients = clients(chance);
    let import = import(chance);
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
        kill_percent: chance.u32(0..30),
        budget: SECOND * if chance.u32(0..4) == 0 { 60 } else { 840 },
        faults_stop: SECOND * chance.u32(90..180),
        recovery: [Recovery::ClientsReturn, Recovery::NewTurnAfterPowerCut, Recovery::SweepAlone]
            [chance.usize(0..3)],
        timing: timing(short_grace, tool_wait),
        script: Script {
            max_latency: SECOND * if chance.u32(0..4) == 0 { 100 } else { 20 },
            error_percent: 8,
            chain_loss_percent: 8,
        },
        queue_faults: QueueFaults {
            loss_percent: chance.u32(0..50),
            duplicate_percent: chance.u32(0..30),
            max_delay: SECOND * chance.u32(0..60),
        },
        clients,
        import,
    }
}

/// Draws a plan of three turns that call remote tools, with clients that retry until they have an answer.
pub(super) fn draw_effects(seed: u64) -> Plan {
    let chance = &mut fastrand::Rng::with_seed(seed ^ 0xeffe_c700_0000);
    let words = ["e", "ee", "k", "ek", "E", "Ek", "rk", "kk"];
    let clients: Vec<Client> = (0..3)
        .map(|turn| {
            let (first, second) = (words[chance.usize(0..words.len())], words[chance.usize(0..words.len())]);
            let instruction = format!("s0 t{turn} calls: {first} {second}");
            let sent = ClientRequest::new("ann", "s0", &format!("t{turn}"), &instruction);
            let at = SECOND * 30 * turn;
            Client { sent, at, tries: 5, tool_behavior: ToolBehavior::PROMPT }
        })
        .collect();
    let cancelled = chance.usize(0..20);
    let cancels =
        if cancelled < clients.len() { vec![(cancelled, SECOND * chance.u32(0..10))] } else { vec![] };
    Plan {
        clients,
        import: None,
        cancels,
        rates: Rates {
            crash: 20,
            not_applied: 10,
            reply_lost: 20,
            applied_late: 10,
            throttled: 10,
            partition: 0,
        },
        kill_percent: 20,
        budget: SECOND * 840,
        recovery: Recovery::ClientsReturn,
        script: Script { max_latency: SECOND * 5, error_percent: 0, chain_loss_percent: 4 },
        ..draw(seed)
    }
}

/// The default timing, except for what a simulation shortens.
fn timing(short_grace: bool, tool_wait: Option<Duration>) -> Timing {
    let usual = Timing::default();
    Timing {
        abandon_grace: if short_grace { SECOND * 5 } else { usual.abandon_grace },
        max_tool_wait: tool_wait.unwrap_or(usual.max_tool_wait),
        ..usual
    }
}

fn clients(chance: &mut fastrand::Rng) -> Vec<Client> {
    let mut clients = Vec::new();
    let sessions = if chance.u32(0..3) == 0 { 2 } else { 1 };
    for session in 0..sessions {
        let session = format!("s{session}");
        let contexts = first_contexts(chance);
        let mut at = Duration::ZERO;
        for turn in 0..chance.u32(1..=4) {
            let is_first = turn == 0;
            // Every other request is too large to be inline.
            let padding = ".".repeat(if turn % 2 == 1 { MAX_INLINE_REQUEST_BYTES } else { 0 });
            let turn = format!("t{turn}");
            let user = if chance.u32(0..4) == 0 { "ben" } else { "ann" };
            let instruction = format!("{session} {turn}{padding}{}", calls(chance));
            let sent = ClientRequest::new(user, &session, &turn, &instruction);
            let (agent, conversation) = if is_first { contexts } else { later_contexts(contexts, chance) };
            let sent = sent.with_contexts(agent, conversation);
            let tries = chance.u32(1..6);
            for _ in 0..[1, 1, 2, 3][chance.usize(0..4)] {
                let late = Duration::from_millis(chance.u64(0..4_000));
                clients.push(Client {
                    sent: sent.clone(),
                    at: at + late,
                    tries,
                    tool_behavior: tool_behavior(chance),
                });
            }
            if chance.u32(0..8) == 0 {
                // Another request with the same ids.
                let other = ClientRequest::new(user, &session, &turn, &format!("Something else{padding}"));
                let late = Duration::from_millis(chance.u64(0..4_000));
                clients.push(Client {
                    sent: other,
                    at: at + late,
                    tries: 2,
                    tool_behavior: ToolBehavior::PROMPT,
                });
            }
            at += SECOND * chance.u32(0..40);
        }
    }
    clients
}

/// An import of the first session in every other seed.
fn import(chance: &mut fastrand::Rng) -> Option<Import> {
    let import = Import {
        session: "s0".to_owned(),
        at: Duration::from_millis(chance.u64(2_000..60_000)),
        apart: Duration::from_millis(chance.u64(0..3_000)) / chance.u32(1..30),
        tries: chance.u32(1..5),
    };
    chance.bool().then_some(import)
}

/// The contexts that a request names: the agent's and the conversation's.
type ContextPair = (Option<&'static str>, Option<&'static str>);

/// The contexts in a session's first request: none in half of the sessions.
fn first_contexts(chance: &mut fastrand::Rng) -> ContextPair {
    match chance.u32(0..10) {
        0..5 => (None, None),
        5 => (Some(ROLLED_OUT), [None, Some(ROLLED_OUT)][chance.usize(0..2)]),
        6 => (Some(AGENT), None),
        7 => (None, Some(LOCAL)),
        8 => (Some(AGENT), Some(COMPACTED)),
        _ => (Some(AGENT), Some(CUSTOM)),
    }
}

/// The contexts in a later request: the same, none, or occasionally ones that the session can't have.
fn later_contexts(contexts: ContextPair, chance: &mut fastrand::Rng) -> ContextPair {
    match chance.u32(0..10) {
        0..5 => contexts,
        5..9 => (None, None),
        _ => (contexts.0, Some(CUSTOM)),
    }
}

/// The calls of the turn's model, see [`crate::model`]: none, or up to three replies with calls.
fn calls(chance: &mut fastrand::Rng) -> String {
    let local = ["s", "c", "ss", "sc", "cc", "csc", "m", "mc", "f", "uc"];
    let remote = ["e", "ee", "k", "ek", "re", "sec", "E", "Ek", "kc", "rp"];
    let replies = if chance.u32(0..3) == 0 { remote } else { local };
    let mut reply = || format!(" {}", replies[chance.usize(0..replies.len())]);
    let (some, more, most) = (reply(), reply(), reply());
    match chance.u32(0..8) {
        0..5 => String::new(),
        5 => format!(" calls:{some}"),
        6 => format!(" calls:{some}{more}"),
        _ => format!(" calls:{some}{more}{most}"),
    }
}

impl ToolBehavior {
    /// Correct results at once.
    pub(super) const PROMPT: Self = Self { says: 0, takes: Duration::ZERO, policy: ResultPolicy::Once };
}

fn tool_behavior(chance: &mut fastrand::Rng) -> ToolBehavior {
    let late = chance.u32(0..5) == 0;
    let wrong = Mutation::LIST_MUTATIONS[chance.usize(0..Mutation::LIST_MUTATIONS.len())];
    ToolBehavior {
        says: chance.u32(0..2),
        takes: Duration::from_millis(chance.u64(0..if late { 60_000 } else { 3_000 })),
        policy: match chance.u32(0..10) {
            0..5 => ResultPolicy::Once,
            5..7 => ResultPolicy::Twice,
            7..9 => ResultPolicy::WrongFirst(wrong, chance.usize(0..3)),
            _ => ResultPolicy::Nothing,
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
