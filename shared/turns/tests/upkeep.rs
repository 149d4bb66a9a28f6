//! A delete and a restore that meet any fault at any of their effects, in whatever state the session's open turn is:
//! sent again they come to their end, and no invariant is broken.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test, run to read its figures"
)]

use std::{collections::BTreeMap, time::Duration};

use protocol::id::SessionKey;
use testkit::{
    build,
    deployment::{Deployment, Done, Sent, Settings, Upkeep},
    fault::{Effect, Fault},
    schedule::Faults,
};
use turns::refusal::Refusal;

/// What a function has of its own time.
const BUDGET: Duration = Duration::from_secs(840);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How the session stands when it is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    Finalized,
    Settled,
    Running,
    Dead,
    Awaiting,
}

const ALL: [Stands; 5] =
    [Stands::Finalized, Stands::Settled, Stands::Running, Stands::Dead, Stands::Awaiting];

fn key() -> SessionKey {
    build::session_key("s")
}

fn sent(stands: Stands) -> Sent {
    Sent::new("ann", "s", "t1", if stands == Stands::Awaiting { "one calls: c" } else { "one" })
}

fn deployment(stands: Stands) -> Deployment {
    let mut deployment = Deployment::new(Settings::quiet());
    let faults = match stands {
        Stands::Running | Stands::Dead => Faults::Reaching(Effect::CallModel, Fault::CrashBefore),
        Stands::Finalized | Stands::Settled | Stands::Awaiting => Faults::None,
    };
    let process = deployment.execute(&sent(stands), BUDGET, faults);
    deployment.finish(&process);
    match stands {
        Stands::Finalized => deployment.wait(Duration::from_secs(5)),
        Stands::Dead => deployment.wait(Duration::from_secs(40)),
        Stands::Settled | Stands::Running | Stands::Awaiting => {}
    }
    deployment
}

fn keep(deployment: &mut Deployment, upkeep: Upkeep, faults: Faults) -> (usize, Option<Done>) {
    let process = deployment.keep(&build::caller("ann"), &key(), upkeep, faults);
    let done = deployment.finish(&process);
    (process.reached().len(), done)
}

/// The same again, as a client does that was not answered.
fn kept(deployment: &mut Deployment, upkeep: Upkeep) {
    let (_, done) = keep(deployment, upkeep, Faults::None);
    assert!(matches!(done, Some(Done::Kept(Ok(())))), "{upkeep:?}: {done:?}");
}

fn is_deleted(deployment: &Deployment) -> bool {
    deployment.table.contents().sessions[&key()].deleted.is_some()
}

/// Sends a turn, and says whether it was answered.
fn answered(deployment: &mut Deployment, turn: &str) -> Result<(), Refusal> {
    let process = deployment.execute(&Sent::new("ann", "s", turn, "next"), BUDGET, Faults::None);
    match deployment.finish(&process) {
        Some(Done::Executed(answer)) => answer.map(|_| ()),
        done => panic!("{done:?}"),
    }
}

/// Everything comes to rest: then every turn is terminal, and all that is told holds.
fn rests(deployment: &mut Deployment, what: &str) {
    for _ in 0..3 {
        deployment.wait(DAY);
        let process = deployment.sweep(Faults::None);
        deployment.finish(&process);
    }
    assert!(
        deployment.table.contents().heads.values().all(|turn| turn.due.is_none()),
        "{what}: a turn is not terminal"
    );
    let violations = deployment.violations();
    assert!(violations.is_empty(), "{what}: {violations:#?}");
}

#[test]
fn a_delete_that_meets_any_fault_and_is_sent_again_ends_the_open_turn_and_refuses_the_next() {
    let mut cells = 0;
    for stands in ALL {
        let (effects, _) = keep(&mut deployment(stands), Upkeep::Delete, Faults::None);
        for at in 0..effects {
            for fault in Fault::ALL {
                let what = format!("{stands:?}, {fault:?} at effect {at}");
                let mut deployment = deployment(stands);
                keep(&mut deployment, Upkeep::Delete, Faults::At(BTreeMap::from([(at, fault)])));
                kept(&mut deployment, Upkeep::Delete);
                assert!(is_deleted(&deployment), "{what}");
                let decided =
                    deployment.table.contents().heads.values().all(|turn| turn.settlement().is_some());
                assert!(decided, "{what}: a turn is open");
                let refused = answered(&mut deployment, "t2");
                assert!(matches!(refused, Err(Refusal::SessionDeleted)), "{what}: {refused:?}");
                rests(&mut deployment, &what);
                assert!(is_deleted(&deployment), "{what}: a finalization undid it");
                cells += 1;
            }
        }
    }
    println!("{cells} cells");
}

#[test]
fn a_restore_that_meets_any_fault_and_is_sent_again_opens_the_session_again() {
    let mut cells = 0;
    for stands in ALL {
        let deleted = || {
            let mut deployment = deployment(stands);
            kept(&mut deployment, Upkeep::Delete);
            deployment
        };
        let (effects, _) = keep(&mut deleted(), Upkeep::Restore, Faults::None);
        for at in 0..effects {
            for fault in Fault::ALL {
                let what = format!("{stands:?}, {fault:?} at effect {at}");
                let mut deployment = deleted();
                keep(&mut deployment, Upkeep::Restore, Faults::At(BTreeMap::from([(at, fault)])));
                kept(&mut deployment, Upkeep::Restore);
                assert!(!is_deleted(&deployment), "{what}");
                let next = answered(&mut deployment, "t2");
                assert!(next.is_ok(), "{what}: {next:?}");
                rests(&mut deployment, &what);
                cells += 1;
            }
        }
    }
    println!("{cells} cells");
}
