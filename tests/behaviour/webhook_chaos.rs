//! Webhooks under kills: every event is delivered, and a duplicate has the id of the first.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use futures::{StreamExt, future::join, stream};
use local::{Function, Options};

use crate::{
    chaos::insist,
    export::operator,
    support::{LEASE, System, id, options, turn_in},
    webhooks::{Receiver, document, subscribe},
};

/// The number of events. `WEBHOOK_EVENTS=10000` is the long form.
const EVENTS: usize = 200;
/// The turns of a session, whose events arrive in order.
const TURNS: usize = 10;
/// The number of sessions at a time.
const CLIENTS: usize = 8;

#[tokio::test]
async fn every_event_is_delivered_in_order_under_kills() {
    let events =
        std::env::var("WEBHOOK_EVENTS").map_or(EVENTS, |text| text.parse().expect("a number of events"));
    let sweep = Some(Duration::from_secs(2));
    let system = System::measured(Options { lease: Some(LEASE), sweep, ..options() }).await;
    let receiver = Receiver::start().await;
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    subscribe(&olga, "hook", &document(&receiver.url)).await;
    // It ends a test that hangs.
    let give_up = Instant::now() + Duration::from_secs(900).max(Duration::from_millis(500) * events as u32);
    let done = AtomicBool::new(false);
    let killer = async {
        let mut kills = 0;
        while !done.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(500 + fastrand::u64(..1_500))).await;
            let function = if fastrand::u8(..4) == 0 { Function::Execute } else { Function::TurnFinalizer };
            system.cloud.crash(function);
            kills += 1;
        }
        kills
    };
    let work = async {
        let talk = |session: String| {
            let ada = &ada;
            async move {
                let mut turns = Vec::new();
                for number in 0..TURNS {
                    let turn = turn_in(&session, &format!("Number {number}"));
                    let answer = insist(ada, &turn, give_up).await;
                    assert!(answer.status != 503 && answer.status != 429, "{}", answer.text);
                    turns.push(turn["TurnId"].as_str().unwrap().to_owned());
                }
                (session, turns)
            }
        };
        let sessions = (0..events.div_ceil(TURNS)).map(|_| id());
        let sessions: BTreeMap<String, Vec<String>> =
            stream::iter(sessions).map(talk).buffer_unordered(CLIENTS).collect().await;
        // Kills go on while the events are delivered.
        let wanted = sessions.values().map(Vec::len).sum::<usize>();
        while distinct(&receiver) < wanted && Instant::now() < give_up {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        done.store(true, Ordering::Relaxed);
        sessions
    };
    let (kills, sessions) = join(killer, work).await;

    let (mut ids, mut order): (BTreeMap<String, BTreeSet<String>>, BTreeMap<String, Vec<String>>) =
        Default::default();
    for received in receiver.received() {
        let data = received.event()["data"].clone();
        let text = |member: &str| data[member].as_str().unwrap().to_owned();
        ids.entry(text("TurnId")).or_default().insert(received.id());
        let turns = order.entry(text("SessionId")).or_default();
        if !turns.contains(&text("TurnId")) {
            turns.push(text("TurnId"));
        }
    }
    let total = receiver.received().len();
    println!("{} events, {total} requests, {kills} kills", ids.len());
    assert_eq!(order, sessions, "every event arrived, in the order of its session");
    assert!(ids.values().all(|ids| ids.len() == 1), "a duplicate has the id of the first");
    assert!(kills > 3, "{kills} kills");
}

fn distinct(receiver: &Receiver) -> usize {
    let ids: BTreeSet<String> = receiver.received().iter().map(crate::webhooks::Received::id).collect();
    ids.len()
}
