//! Turns that refund orders while functions are killed at random moments: what the shop performed is known, or said to be
//! unknown, and nothing is performed twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use aws_sdk_dynamodb::types::AttributeValue;
use contracts::paths::EFFECTS;
use futures::{
    StreamExt,
    future::{Either, join, select},
    stream,
};
use local::{Function, Options};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::{
    chaos::insist,
    export::operator,
    shop::{Kill, Moment, Shop, asks, call},
    support::{Answer, Client, LEASE, PATIENCE, System, options, turn_path},
};

/// The number of seeds. `EFFECT_SEEDS=1000` is the long form.
const SEEDS: u64 = 30;
/// The model calls between two kills that the shop didn't ask for.
const WORK: usize = 10;
/// The number of turns at a time.
const CLIENTS: usize = 10;

/// The calls that a seed's turn makes, and what was found out about them.
#[derive(Debug, Default)]
struct Table {
    /// Calls that models made.
    asked: usize,
    /// Effects that the shop counted.
    performed: usize,
    /// Effects beyond the first of a call.
    duplicated: usize,
    /// Calls with a result.
    results: usize,
    /// Calls whose outcome is said to be unknown.
    unknown: usize,
    /// Effects that nobody knows of.
    lost: usize,
    kills: usize,
}

/// A turn of a seed: the script of its model, the orders, and the moments of kills.
struct Plan {
    script: String,
    orders: Vec<String>,
    kills: Vec<(String, Moment)>,
}

impl Plan {
    fn new(seed: u64) -> Self {
        let chance = &mut fastrand::Rng::with_seed(seed);
        let orders: Vec<String> = (0..2).map(|call| format!("{seed}-{call}")).collect();
        let mut one = |order: &String| call(["refund", "refund", "refund_keyed"][chance.usize(..3)], order);
        let (first, second) = (one(&orders[0]), one(&orders[1]));
        let between = if chance.bool() { "then; " } else { "" };
        let script = format!("delay 100ms; {first}; {between}{second}");
        let mut kills = Vec::new();
        for order in &orders {
            match chance.u32(..8) {
                0 => kills.push((order.clone(), Moment::Lost)),
                1 => kills.push((order.clone(), Moment::Late)),
                2 => kills.push((order.clone(), Moment::Performed)),
                _ => {}
            }
        }
        Self { script, orders, kills }
    }
}

/// Kills functions when the shop asks for it, and at random moments, until the turns are over. Without a ledger it also
/// removes the intents of the dead.
async fn kill(
    system: &System,
    mut wanted: UnboundedReceiver<Kill>,
    done: &AtomicBool,
    keeps_intents: bool,
) -> usize {
    let (mut kills, mut seen) = (0, 0);
    let model = system.cloud.model().expect("the mock model");
    while !done.load(Ordering::Relaxed) {
        // Kills come at random instants, whatever the functions are doing, but only after some work: a slow machine would
        // otherwise get none done.
        let pause = Duration::from_millis(300 + fastrand::u64(..2_000));
        let next = select(Box::pin(wanted.recv()), Box::pin(tokio::time::sleep(pause))).await;
        let asks = match next {
            Either::Left((asks, _)) => asks,
            Either::Right(_) if model.count() < seen + WORK => continue,
            Either::Right(_) => None,
        };
        seen = model.count();
        system.cloud.crash(Function::Execute);
        kills += 1;
        if !keeps_intents {
            remove_intents(system).await;
        }
        if let Some(killed) = asks {
            killed.send(()).ok();
        }
    }
    kills
}

/// Removes every intent from the table, as if calls were sent without one.
async fn remove_intents(system: &System) {
    let (table, client) = (system.cloud.table(), system.cloud.dynamodb());
    let scan = client.scan().table_name(table).projection_expression("PK, SK").consistent_read(true);
    let items = scan.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await.expect("a scan");
    for item in items {
        let is_intent = |value: &AttributeValue| value.as_s().is_ok_and(|key| key.starts_with("EFFECTS#"));
        if item.get("SK").is_some_and(is_intent) {
            client.delete_item().table_name(table).set_key(Some(item)).send().await.expect("a deletion");
        }
    }
}

/// Runs a turn per seed under kills, and counts.
async fn run(seeds: u64, keeps_intents: bool) -> Table {
    let sweep = Some(Duration::from_secs(2));
    let system = System::measured(Options { lease: Some(LEASE), sweep, ..options() }).await;
    let (shop, wanted) = Shop::start(false).await;
    let olga = operator(&system, "acme");
    shop.open(&olga, "http").await;
    // Ends a test that hangs.
    let give_up = Instant::now() + Duration::from_secs(3_600);
    let done = AtomicBool::new(false);
    let work = async {
        let send = |seed: u64| {
            let (shop, client) = (&shop, system.client("acme", "ada"));
            async move {
                let plan = Plan::new(seed);
                plan.kills.iter().for_each(|(order, moment)| shop.kill_at(order, *moment));
                let sent = asks(&plan.script);
                insist(&client, &sent, give_up).await;
                (plan, sent)
            }
        };
        let turns: Vec<_> = stream::iter(0..seeds).map(send).buffer_unordered(CLIENTS).collect().await;
        done.store(true, Ordering::Relaxed);
        turns
    };
    let (turns, kills) = join(work, kill(&system, wanted, &done, keeps_intents)).await;
    count(&system, &shop, &olga, &turns, kills).await
}

async fn count(system: &System, shop: &Shop, olga: &Client, turns: &[(Plan, Value)], kills: usize) -> Table {
    let ada = system.client("acme", "ada");
    let mut table = Table { kills, ..Table::default() };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (order, _) in shop.performed() {
        *counts.entry(order).or_default() += 1;
    }
    table.performed = counts.len();
    table.duplicated = counts.values().map(|count| count - 1).sum();
    let mut known = BTreeSet::new();
    for (_, sent) in turns {
        let has_ended = |read: &Answer| {
            let status = &read.json()["Result"]["Status"]["Id"];
            status != "pending" && !status.is_null()
        };
        ada.until(&turn_path(sent), PATIENCE, has_ended).await.result();
        let steps = ada.get(&format!("{}/steps", turn_path(sent))).await.result();
        let calls = steps["Items"].as_array().unwrap().iter().filter_map(|step| step["Calls"].as_array());
        for call in calls.flatten() {
            let arguments: Value = serde_json::from_str(call["ArgumentsJson"].as_str().unwrap()).unwrap();
            table.asked += 1;
            if call.get("ResultJson").is_some() {
                table.results += 1;
                known.insert(arguments["order"].as_str().unwrap().to_owned());
            }
        }
    }
    let mut unknown = BTreeMap::<String, usize>::new();
    let mut path = format!("{EFFECTS}?pageSize=100");
    loop {
        let page = olga.get(&path).await.result();
        for effect in page["Items"].as_array().unwrap() {
            table.unknown += 1;
            *unknown.entry(effect["TurnId"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        let Some(token) = page["ContinuationToken"].as_str() else { break };
        path = format!("{EFFECTS}?pageSize=100&continuationToken={token}");
    }
    for (plan, sent) in turns {
        let nobody_knows = |order: &&String| counts.contains_key(*order) && !known.contains(*order);
        let open = plan.orders.iter().filter(nobody_knows).count();
        let said = unknown.get(sent["TurnId"].as_str().unwrap()).copied().unwrap_or_default();
        table.lost += open.saturating_sub(said);
    }
    println!("{} turns: {table:?}", turns.len());
    table
}

#[tokio::test]
async fn refunds_under_kills_happen_once_and_are_known_or_said_to_be_unknown() {
    let seeds = std::env::var("EFFECT_SEEDS").map_or(SEEDS, |text| text.parse().expect("a number of seeds"));
    let table = run(seeds, true).await;
    assert_eq!((table.duplicated, table.lost), (0, 0), "{table:?}");
    assert!(table.results <= table.performed, "{table:?}");
    assert!(table.performed <= table.results + table.unknown, "{table:?}");
    assert!(table.performed > 0 && table.unknown > 0 && table.kills > 3, "{table:?}");
}

#[tokio::test]
async fn refunds_without_intents_are_found_to_happen_twice() {
    let table = run(SEEDS, false).await;
    assert!(table.duplicated > 0, "{table:?}");
}
