//! The usage of turns whose session is purged at once: it is counted once, and meters equal it.

use std::time::{Duration, Instant};

use contracts::paths::USAGE;
use futures::{StreamExt, future::join, stream};
use local::{Function, Options};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    budget_limits::{Item, is_meter, open_entries},
    budgets::{budget, count, limit},
    export::operator,
    support::{Answer, Client, LEASE, PATIENCE, System, options, session_path, turn, workspace_turn},
};

/// The number of pairs of a turn and a purge. `PURGE_PAIRS=2000` is the long form.
const PAIRS: usize = 200;
/// The number of pairs at a time.
const CLIENTS: usize = 8;
/// The most time that all pairs may take.
const AT_MOST: Duration = Duration::from_secs(240);
/// The tokens of a model call.
const TOKENS: u64 = 36;

async fn purge(client: &Client, turn: &Value) -> Answer {
    client.send(Method::DELETE, &format!("{}?purge=true", session_path(turn)), None).await
}

/// Waits until the usage report has this many turns, and the only meter is closed. Returns the tokens of both.
async fn counted(system: &System, turns: u64) -> (u64, u64) {
    let is_complete = |answer: &Answer| answer.json()["Result"]["Total"]["Turns"] == turns;
    let total =
        operator(system, "acme").until(USAGE, 3 * PATIENCE, is_complete).await.result()["Total"].clone();
    assert_eq!(total["Turns"], turns, "{total}");
    let meter = system.until_item(|item| is_meter(item) && open_entries(item).is_empty()).await;
    assert_eq!(count(&meter, "Turns"), turns);
    (total["Usage"]["TotalTokens"].as_u64().unwrap_or_default(), count(&meter, "Tokens"))
}

/// The tokens that the mock model was paid for.
fn paid(system: &System) -> u64 {
    TOKENS * system.model_calls().len() as u64
}

async fn system(more: Options) -> System {
    let environment = [("PURGE_RECHECK_SECONDS".to_owned(), "1".to_owned())].into();
    let system = System::with(Options { environment, ..more }).await;
    limit(&system, budget(json!({"Scope": "org", "Limit": 100_000_000}))).await;
    system
}

#[tokio::test]
async fn purge_after_each_answer_leaves_usage_and_meter_as_paid() {
    let pairs = std::env::var("PURGE_PAIRS").map_or(PAIRS, |text| text.parse().expect("a number of pairs"));
    let system = system(Options { sweep: Some(Duration::from_secs(2)), ..options() }).await;
    let began = Instant::now();
    let pair = |number: usize| {
        let ada = system.client("acme", &format!("u{}", number % 10));
        async move {
            let sent = turn("Go [[script: usage 30 6; say \"Done.\"]]");
            ada.execute(&sent).await.result();
            purge(&ada, &sent).await.result();
        }
    };
    stream::iter(0..pairs).map(pair).buffer_unordered(CLIENTS).collect::<Vec<()>>().await;
    let turns = pairs as u64;
    assert_eq!(counted(&system, turns).await, (turns * TOKENS, paid(&system)));
    assert!(began.elapsed() < AT_MOST, "{:?}", began.elapsed());
    // Every purge ends, and none of them is a failure of the sweep.
    let is_open = |item: &Item| {
        item.get("GSI1PK").is_some_and(|index| index.as_s().is_ok_and(|index| index.starts_with("OPEN#")))
    };
    let give_up = Instant::now() + PATIENCE;
    while system.items().await.iter().any(is_open) {
        assert!(Instant::now() < give_up, "a turn of a purged session stays due");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let failures = |line: &Value| line["message"] == "overdue turn failed";
    assert_eq!(system.log(Function::TurnFinalizer).iter().filter(|line| failures(line)).count(), 0);
}

#[tokio::test]
async fn purge_of_open_turn_counts_what_it_used() {
    let system =
        system(Options { lease: Some(LEASE), sweep: Some(Duration::from_secs(1)), ..options() }).await;
    let ada = system.client("acme", "ada");
    // One awaits results, one is settled and nobody has finalized it, one runs in its second call.
    let waits = workspace_turn("Wait [[script: usage 30 6; call workspace_read_file {\"path\":\"a\"}]]");
    ada.execute(&waits).await.result();
    purge(&ada, &waits).await.result();
    assert_eq!(counted(&system, 1).await, (TOKENS, paid(&system)));
    system.cloud.pause_finalizer().await;
    let settled = turn("Settle [[script: usage 30 6; say \"Done.\"]]");
    ada.execute(&settled).await.result();
    purge(&ada, &settled).await.result();
    system.cloud.resume_finalizer().await;
    assert_eq!(counted(&system, 2).await, (2 * TOKENS, paid(&system)));
    let runs = turn(
        "Run [[script: usage 30 6; call agent_list_modes {}; then; delay 20s; usage 30 6; say \"Done.\"]]",
    );
    let purged = async {
        system.model_called(4).await;
        purge(&ada, &runs).await.result();
    };
    join(ada.execute(&runs), purged).await;
    let (used, metered) = counted(&system, 3).await;
    assert_eq!(used, metered);
    assert!(used >= 3 * TOKENS, "the first call of the running turn was recorded: {used}");
}
