//! The turn that is open when its session is purged counts once, and the sweep takes no refusal for contention.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test, run to read its figures"
)]

use std::{collections::BTreeMap, time::Duration};

use protocol::{
    id::{SessionKey, TurnKey},
    payload::Kind,
    purge::Stage,
    session::{Contexts, Session},
    turn::{State, Turn},
};
use testkit::{
    build,
    deployment::{ClientRequest, Deployment, ProcessOutcome, QueueFaults, Settings},
    fault::{Effect, Fault},
    schedule::Faults,
};
use turns::flow::SweepSummary;

/// The time budget of a function.
const BUDGET: Duration = Duration::from_secs(840);
/// Longer than any function runs.
const LATER: Duration = Duration::from_secs(1_000);

/// The state of the open turn when the purge starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Settled,
    Running,
    Dead,
    Awaiting,
}

const ALL: [Open; 4] = [Open::Settled, Open::Running, Open::Dead, Open::Awaiting];

fn key() -> SessionKey {
    build::session_key("s")
}

fn turn() -> TurnKey {
    build::turn_key("s", "t1")
}

/// A deployment whose queue loses every message.
fn without_messages() -> Settings {
    let queue_faults = QueueFaults { loss_percent: 100, ..QueueFaults::RELIABLE };
    Settings { queue_faults, ..Settings::quiet() }
}

fn deployment(open: Open, settings: Settings) -> Deployment {
    let mut deployment = Deployment::new(settings);
    deployment.table.put_budgets(&build::org(), &build::org_budgets());
    let faults = match open {
        Open::Running | Open::Dead => Faults::EveryOfKind(Effect::CallModel, Fault::CrashBefore),
        Open::Settled | Open::Awaiting => Faults::None,
    };
    execute(&mut deployment, "s", if open == Open::Awaiting { "one calls: c" } else { "one" }, faults);
    if open == Open::Dead {
        deployment.wait(Duration::from_secs(40));
    }
    deployment
}

fn execute(deployment: &mut Deployment, session: &str, instruction: &str, faults: Faults) {
    let sent = ClientRequest::new("ann", session, "t1", instruction);
    let process = deployment.execute(&sent, BUDGET, faults);
    deployment.finish(&process);
}

/// Orders the purge. Returns the number of effects.
fn order(deployment: &mut Deployment, faults: Faults) -> usize {
    let process = deployment.order_purge(&build::caller("ann"), &key(), faults);
    deployment.finish(&process);
    process.reached().len()
}

fn sweep_purges(deployment: &mut Deployment, faults: Faults) -> usize {
    let process = deployment.sweep_purges(faults);
    deployment.finish(&process);
    process.reached().len()
}

fn sweep(deployment: &mut Deployment, faults: Faults) -> SweepSummary {
    let process = deployment.sweep(faults);
    match deployment.finish(&process) {
        Some(ProcessOutcome::Swept(Ok(summary))) => summary,
        other => panic!("{other:?}"),
    }
}

/// Sweeps until the purge is done.
fn sweep_until_done(deployment: &mut Deployment) {
    for _ in 0..4 {
        deployment.wait(LATER);
        sweep_purges(deployment, Faults::None);
    }
    assert_eq!(deployment.table.contents().purges[&key()].stage, Stage::Done);
    assert_eq!(deployment.table.contents().items_left(&key()), 0, "items are left");
}

/// Returns the turns and tokens of the org's usage, and requires that the meters of a day or month count the same and
/// that no meter has an open entry.
fn usage(deployment: &Deployment) -> (u64, u64) {
    let contents = deployment.table.contents();
    let used = contents.usage.values().fold((0, 0), |(turns, tokens), amounts| {
        (turns + amounts.turns, tokens + amounts.usage.total_tokens)
    });
    assert!(!contents.meters.is_empty());
    for (meter, (counted, entries)) in &contents.meters {
        assert!(entries.is_empty(), "{meter:?} has {entries:?}");
        let is_concurrent = meter.start.is_empty();
        let expected = if is_concurrent { (0, 0) } else { used };
        assert_eq!((counted.turns, counted.sum.tokens), expected, "{meter:?}");
    }
    used
}

/// Returns what a purge without faults counts, and the effects of its order and first sweep.
fn expected(open: Open) -> ((u64, u64), usize, usize) {
    let mut deployment = deployment(open, Settings::quiet());
    let ordered = order(&mut deployment, Faults::None);
    let swept = sweep_purges(&mut deployment, Faults::None);
    sweep_until_done(&mut deployment);
    (usage(&deployment), ordered, swept)
}

#[test]
fn purge_counts_its_open_turn_once_after_any_fault() {
    for open in ALL {
        let (expected, ordered, swept) = expected(open);
        assert_eq!(expected.0, 1, "{open:?}");
        assert!(expected.1 > 0, "{open:?}: {expected:?}");
        let faults = |at, fault| Faults::AtIndex(BTreeMap::from([(at, fault)]));
        for (effects, is_order) in [(ordered, true), (swept, false)] {
            for at in 0..effects {
                for fault in Fault::ALL {
                    let mut deployment = deployment(open, Settings::quiet());
                    let fault_at = |hit: bool| if hit { faults(at, fault) } else { Faults::None };
                    order(&mut deployment, fault_at(is_order));
                    order(&mut deployment, Faults::None);
                    sweep_purges(&mut deployment, fault_at(!is_order));
                    sweep_until_done(&mut deployment);
                    let counted = usage(&deployment);
                    assert_eq!(counted, expected, "{open:?}: {fault:?} at effect {at}, order: {is_order}");
                }
            }
        }
        println!("{open:?}: {ordered} and {swept} effects, {} faults each", Fault::ALL.len());
    }
}

#[test]
fn purge_waits_for_an_unreachable_bucket_and_counts_afterwards() {
    let mut deployment = deployment(Open::Settled, without_messages());
    order(&mut deployment, Faults::None);
    let unreachable = || Faults::EveryOfKind(Effect::GetPayload, Fault::NotApplied);
    for _ in 0..3 {
        deployment.wait(LATER);
        sweep_purges(&mut deployment, unreachable());
        sweep(&mut deployment, unreachable());
        let contents = deployment.table.contents();
        assert!(contents.heads.contains_key(&turn()) && contents.usage.is_empty());
    }
    sweep_until_done(&mut deployment);
    assert_eq!(usage(&deployment), expected(Open::Settled).0);
}

#[test]
fn purge_ends_though_the_outcome_of_its_open_turn_is_lost() {
    let mut deployment = deployment(Open::Settled, without_messages());
    deployment.objects.stored().retain(|payload, _| !matches!(payload.kind, Kind::Outcome(_)));
    order(&mut deployment, Faults::None);
    sweep_until_done(&mut deployment);
    assert_eq!(usage(&deployment), (1, 0), "the turn counts, with what is known of it");
}

#[test]
fn settled_turn_under_unnamed_tombstone_is_counted_and_leaves_the_index() {
    let mut deployment = deployment(Open::Settled, without_messages());
    order(&mut deployment, Faults::None);
    // As purges left it that named no open turn.
    let tombstone = deployment.table.contents().sessions[&key()].clone();
    let unnamed = Session { open_turn: None, contexts: Contexts::default(), ..tombstone };
    deployment.table.contents().sessions.insert(key(), unnamed);
    deployment.wait(LATER);
    let swept = sweep(&mut deployment, Faults::None);
    assert_eq!((swept.examined, swept.finalized, swept.failed), (1, 1, 0));
    let head = deployment.table.contents().heads[&turn()].clone();
    assert!(head.due.is_none() && matches!(head.state, State::Finalized(_)), "{head:?}");
    assert_eq!(sweep(&mut deployment, Faults::None).examined, 0);
    sweep_until_done(&mut deployment);
    assert_eq!(usage(&deployment), expected(Open::Settled).0);
}

#[test]
fn sweep_leaves_a_turn_of_an_unpublished_import_after_one_try() {
    let mut deployment = deployment(Open::Settled, without_messages());
    order(&mut deployment, Faults::None);
    let tombstone = deployment.table.contents().sessions[&key()].clone();
    let reserved = Session { open_turn: None, ..tombstone };
    let mut record = deployment.table.contents().purges[&key()].clone();
    (record.started_at, record.import) = (None, Some(contracts::Fingerprint::hash_bytes(b"document")));
    deployment.table.contents().sessions.insert(key(), reserved.clone());
    deployment.table.contents().purges.insert(key(), record);
    deployment.wait(LATER);
    let process = deployment.sweep(Faults::None);
    let done = deployment.finish(&process);
    assert!(matches!(&done, Some(ProcessOutcome::Swept(Ok(swept))) if swept.failed == 0), "{done:?}");
    let reads = process.reached().iter().filter(|effect| **effect == Effect::ReadPurge).count();
    assert_eq!(reads, 1, "{:?}", process.reached());
    assert_eq!(deployment.table.contents().sessions[&key()], reserved);
}

#[test]
fn turn_that_fails_delays_no_other() {
    let mut deployment = deployment(Open::Settled, without_messages());
    for session in ["a", "b", "c", "d", "z"] {
        execute(&mut deployment, session, "one", Faults::None);
    }
    let lost = |payload: &protocol::payload::Payload| {
        payload.turn.session.session.as_str() != "z" && matches!(payload.kind, Kind::Outcome(_))
    };
    deployment.objects.stored().retain(|payload, _| !lost(payload));
    deployment.wait(LATER);
    let swept = sweep(&mut deployment, Faults::None);
    assert_eq!((swept.examined, swept.failed, swept.finalized), (6, 5, 1), "{swept:?}");
    // Those that failed are due after whatever is due by now, and are tried again.
    assert_eq!(sweep(&mut deployment, Faults::None).examined, 0);
    deployment.wait(Duration::from_secs(120));
    assert_eq!(sweep(&mut deployment, Faults::None).failed, 5);
    let is_due = |turn: &&Turn| turn.due.is_some();
    assert_eq!(deployment.table.contents().heads.values().filter(is_due).count(), 5);
}

#[test]
fn shard_that_cannot_be_read_delays_no_other() {
    let mut deployment = deployment(Open::Settled, without_messages());
    deployment.wait(LATER);
    let mut finalized = 0;
    for shard in 0..16 {
        let faults = Faults::Nth(Effect::Due, shard, Fault::NotApplied);
        let process = deployment.sweep(faults);
        match deployment.finish(&process) {
            Some(ProcessOutcome::Swept(Ok(swept))) => finalized += swept.finalized,
            other => panic!("{other:?}"),
        }
        let due = process.reached().iter().filter(|effect| **effect == Effect::Due).count();
        assert!(due >= 16, "{due}");
    }
    assert_eq!(finalized, 1);
}
