//! Many concurrent turns while processes are killed at random.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use contracts::paths;
use futures::{
    StreamExt,
    future::{join, join3},
    stream,
};
use local::{Function, Options};
use protocol::turn::MAX_TAKEOVERS;
use reqwest::Method;
use serde_json::Value;

use crate::support::{Answer, Client, LEASE, System, id, options, turn, turn_in, turn_path};

/// Statuses and codes after which a client sends the same request again.
const LATER: [&str; 6] = [
    "TooManyRequests",
    "FunctionFailed",
    "FunctionTimedOut",
    "StorageUnavailable",
    "TurnInProgress",
    "SessionBusy",
];

/// Sends a request again until it is answered, as a client with retries does.
pub(crate) async fn insist(client: &Client, request: &Value, give_up: Instant) -> Answer {
    let json = [("content-type", "application/json")];
    loop {
        let body = request.to_string().into_bytes();
        match client.attempt(Method::POST, paths::EXECUTE, &json, body).await {
            Ok(answer) if answer.status == 200 || !LATER.contains(&answer.error().as_str()) => return answer,
            Ok(answer) if Instant::now() > give_up => return answer,
            // The pause of a client that sends again.
            _ => tokio::time::sleep(Duration::from_millis(50 + fastrand::u64(..200))).await,
        }
    }
}

/// The shortest time between two observations.
const BEAT: Duration = Duration::from_millis(250);

/// The observation at which each turn was accepted and became terminal. One observation is a read of the whole table and a
/// read through a function, so a machine that is busy with other work slows the watch as it slows the service.
#[derive(Default)]
struct Watch {
    beat: u32,
    seen: BTreeMap<String, (u32, Option<u32>)>,
}

impl Watch {
    /// Looks until nothing is open after the storm is over, but no longer than `give_up`.
    async fn run(system: &System, client: &Client, over: &AtomicBool, give_up: Instant) -> Self {
        let mut watch = Self::default();
        loop {
            let was_over = over.load(Ordering::Relaxed);
            let open = watch.look(system).await;
            if was_over && open == 0 || Instant::now() > give_up {
                return watch;
            }
            let path = format!("{}?pageSize=1", paths::SESSIONS);
            let answered = client.attempt(Method::GET, &path, &[], Vec::new());
            join(answered, tokio::time::sleep(BEAT)).await.0.ok();
            watch.beat += 1;
        }
    }

    /// Returns the number of open turns.
    async fn look(&mut self, system: &System) -> usize {
        let scan = system.cloud.dynamodb().scan().table_name(system.cloud.table()).consistent_read(true);
        let scan = scan.projection_expression("PK, SK, Phase");
        let items =
            scan.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await.expect("a scan");
        for item in items {
            let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok());
            let (Some(key), Some(of), Some(phase)) = (text("SK"), text("PK"), text("Phase")) else {
                continue;
            };
            let (_, terminal) = self.seen.entry(format!("{of} {key}")).or_insert((self.beat, None));
            if phase == "finalized" {
                terminal.get_or_insert(self.beat);
            }
        }
        self.seen.values().filter(|(_, terminal)| terminal.is_none()).count()
    }
}

#[tokio::test]
async fn thousand_identical_requests_are_one_turn_and_one_model_call() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("Only once [[script: pace 20ms; words 30]]");
    let give_up = Instant::now() + Duration::from_secs(120);
    // Twice as many at once as the cap allows, so that some are told to come back.
    let answers = stream::iter(0..1_000).map(|_| insist(&ada, &request, give_up)).buffer_unordered(16);
    let bodies: BTreeSet<(u16, String)> = answers.map(|answer| (answer.status, answer.text)).collect().await;
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    assert_eq!(bodies.first().unwrap().0, 200);
    assert_eq!(system.model_calls().len(), 1);
    let session = ada.get(&crate::support::session_path(&request)).await.result();
    assert_eq!(session["TurnCount"], 1);
}

/// Sessions of ten turns each that run under kills. `CHAOS_SESSIONS=20` is the long form.
const SESSIONS: usize = 3;

#[tokio::test]
async fn turns_end_under_random_kills_and_none_is_stuck() {
    const TURNS: usize = 10;
    let session_count =
        std::env::var("CHAOS_SESSIONS").map_or(SESSIONS, |text| text.parse().expect("a number of sessions"));
    let sweep = Duration::from_secs(2);
    let system = System::measured(Options { lease: Some(LEASE), sweep: Some(sweep), ..options() }).await;
    let ada = system.client("acme", "ada");
    // Kills come by the clock, so a machine that is busy with other work gets less done between them. These
    // bounds end a test that hangs; how long it takes proves nothing.
    let give_up = Instant::now() + Duration::from_secs(900);
    let sessions: Vec<String> = (0..session_count).map(|_| id()).collect();

    let done = AtomicBool::new(false);
    let killer = async {
        let mut kills = 0;
        while !done.load(Ordering::Relaxed) {
            // Kills come at random instants, whatever the functions are doing, but leave time for some of the work.
            tokio::time::sleep(Duration::from_millis(400 + fastrand::u64(..800))).await;
            let function = if fastrand::u8(..4) == 0 { Function::TurnFinalizer } else { Function::Execute };
            system.cloud.crash(function);
            kills += 1;
        }
        kills
    };
    let work = async {
        let talk = |session: String| {
            let ada = &ada;
            async move {
                let mut request = Vec::new();
                for number in 0..TURNS {
                    let words = "Tell [[script: pace 10ms; words 15]]";
                    let turn = turn_in(&session, &format!("{number} {words}"));
                    let answer = insist(ada, &turn, give_up).await;
                    request.push((turn, answer));
                }
                request
            }
        };
        let turns: Vec<_> =
            stream::iter(sessions.clone()).map(talk).buffer_unordered(session_count).concat().await;
        done.store(true, Ordering::Relaxed);
        turns
    };
    let reader = system.client("acme", "reader");
    let (turns, kills, watch) = join3(work, killer, Watch::run(&system, &reader, &done, give_up)).await;

    // What an attempt's death may cost, for each of the attempts that a turn has. The sweeps that look for it are killed
    // as well, several times in a row on a slow machine.
    let bound = (LEASE + sweep + Duration::from_secs(30)) * (1 + MAX_TAKEOVERS);
    let took = watch.seen.iter().map(|(turn, (accepted, terminal))| {
        let terminal = terminal.unwrap_or_else(|| panic!("{turn} is open after {} beats", watch.beat));
        (BEAT * (terminal - accepted), turn)
    });
    let longest = took.max().expect("there are turns");
    println!(
        "the longest: {:?} of {bound:?} from acceptance to terminal, in {} beats",
        longest.0, watch.beat
    );
    assert!(longest.0 <= bound, "{longest:?}");

    let objects = system.objects().await;
    let outcomes = |turn: &Value| {
        let prefix =
            format!("acme/{}/{}/", turn["SessionId"].as_str().unwrap(), turn["TurnId"].as_str().unwrap());
        objects.iter().filter(|key| key.starts_with(&prefix) && key.ends_with("/result.json")).count()
    };
    let mut statuses: BTreeMap<String, usize> = BTreeMap::new();
    for (turn, answer) in &turns {
        let read = ada.get(&turn_path(turn)).await.result();
        let status = read["Status"]["Id"].as_str().unwrap().to_owned();
        assert_ne!(status, "pending", "{turn}");
        assert!(outcomes(turn) <= 1, "a model was asked again although an outcome was durable");
        assert!(outcomes(turn) == 0 || status == "completed", "a durable answer was lost: {read}");
        assert_eq!(answer.status == 200, status == "completed", "{} {read}", answer.text);
        assert_eq!(ada.execute(turn).await.text, answer.text, "what was acknowledged is what stands");
        *statuses.entry(status).or_default() += 1;
    }
    for session in &sessions {
        let next =
            insist(&ada, &turn_in(session, "Still there?"), Instant::now() + Duration::from_secs(120)).await;
        assert_eq!(next.result()["Kind"], "final");
        let read = ada.get(&paths::SESSION.fill(&session.parse().unwrap())).await.result();
        let numbers: Vec<u64> = read["Turns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|turn| turn["SequenceNumber"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers, (1..=read["TurnCount"].as_u64().unwrap()).collect::<Vec<_>>());
    }
    println!(
        "{} turns, {kills} kills, {} model calls, {statuses:?}",
        turns.len(),
        system.model_calls().len()
    );
    assert!(kills > 10 && turns.len() == session_count * TURNS);
}
