//! A budget that many concurrent turns use up while processes are killed at random.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use contracts::paths::USAGE;
use futures::{StreamExt, future::join, stream};
use local::{Function, Options};
use serde_json::json;

use crate::{
    budget_limits::{Item, is_meter, open_entries},
    budgets::{budget, count, limit},
    chaos::insist,
    export::operator,
    support::{Answer, LEASE, PATIENCE, System, options, turn, turn_path},
};

/// The number of turns. `BUDGET_TURNS=1000` is the long form.
const TURNS: usize = 200;
/// The tokens of a turn, which are 1 % of the room for a hundred turns. As many as the prompt has, so that the estimate of
/// a killed call is about as much.
const TOKENS: u64 = 2_303;
/// The number of requests at a time, which is more than the cap of processes.
const CLIENTS: usize = 24;
const KILLS: usize = 12;

/// Returns the tokens of the open entries of a meter.
fn reserved(meter: &Item) -> u64 {
    let tokens =
        |name: &String| meter[name].as_s().unwrap().split(' ').next().unwrap().parse::<u64>().unwrap();
    open_entries(meter).into_iter().map(tokens).sum()
}

#[tokio::test]
async fn budget_holds_under_kills_and_its_meter_equals_the_usage_of_all_turns() {
    let turns = std::env::var("BUDGET_TURNS").map_or(TURNS, |text| text.parse().expect("a number of turns"));
    // One turn in ten has room.
    let room = turns as u64 / 10;
    let sweep = Some(Duration::from_secs(2));
    let system = System::with(Options { lease: Some(LEASE), sweep, ..options() }).await;
    limit(&system, budget(json!({"Scope": "org", "Limit": room * TOKENS}))).await;
    // Ends a test that hangs.
    let give_up = Instant::now() + Duration::from_secs(600);
    let done = AtomicBool::new(false);
    let work = async {
        let send = |number: usize| {
            let client = system.client("acme", &format!("u{}", number % 50));
            async move {
                let sent = turn("Go [[script: delay 300ms; usage 2300 3; say \"Done.\"]]");
                let answer = insist(&client, &sent, give_up).await;
                (client, sent, answer)
            }
        };
        let answers: Vec<_> = stream::iter(0..turns).map(send).buffer_unordered(CLIENTS).collect().await;
        done.store(true, Ordering::Relaxed);
        answers
    };
    let kill = async {
        let mut kills = 0;
        while kills < KILLS && !done.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(400 + fastrand::u64(..800))).await;
            let function = if fastrand::u8(..4) == 0 { Function::TurnFinalizer } else { Function::Execute };
            system.cloud.crash(function);
            kills += 1;
        }
        kills
    };
    let (answers, kills) = join(work, kill).await;

    let (mut used, mut started) = (0, 0);
    for (client, sent, answer) in &answers {
        // A turn whose call was killed may have used up the budget itself, and then fails as `TurnOverBudget`.
        if answer.status == 429 && answer.error() == "BudgetExceeded" {
            continue;
        }
        let has_ended = |read: &Answer| read.json()["Result"]["Status"]["Id"] != "pending";
        let read = client.until(&turn_path(sent), PATIENCE, has_ended).await.result();
        assert_eq!(answer.status == 200, read["Status"]["Id"] == "completed", "{} {read}", answer.text);
        used += read["Usage"]["TotalTokens"].as_u64().unwrap_or_default();
        started += 1;
    }
    // A killed call counts, and so does the one that repeats it.
    let in_flight = 2 * CLIENTS as u64;
    assert!(used <= (room + in_flight) * TOKENS, "{used} of {} tokens", room * TOKENS);
    assert!(started >= room / 2, "only {started} turns had room");

    let counted = |answer: &Answer| answer.json()["Result"]["Total"]["Turns"] == started;
    let total = operator(&system, "acme").until(USAGE, PATIENCE, counted).await.result()["Total"].clone();
    assert_eq!(total["Usage"]["TotalTokens"].as_u64().unwrap_or_default(), used);
    // A start that died before its turn began may have left an entry. It counts until a refusal finds it.
    let is_closed = |item: &Item| is_meter(item) && count(item, "Tokens") == used + reserved(item);
    let meter = system.until_item(is_closed).await;
    let left = open_entries(&meter).len() as u64;
    assert_eq!(count(&meter, "Turns"), started + left);
    println!(
        "{started} of {turns} turns started, {used} tokens, {kills} kills, {left} entries left by dead starts"
    );
}
