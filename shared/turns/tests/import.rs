//! An import changes nothing once its session is published, however late its writes arrive.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::time::Duration;

use protocol::id::SessionKey;
use testkit::{
    build,
    deployment::{ClientRequest, Delivery, Deployment, ProcessOutcome, Settings},
    fault::{Effect, Fault},
    schedule::Faults,
};
use turns::ports::ArchivedSession;

/// The time budget of a function.
const BUDGET: Duration = Duration::from_secs(840);
const MINUTE: Duration = Duration::from_secs(60);

fn copy_key() -> SessionKey {
    build::session_key("copy")
}

/// Creates a deployment, and a copy of a session whose last turn is settled and not finalized yet.
fn deployment() -> (Deployment, ArchivedSession) {
    let mut deployment = Deployment::new(Settings::quiet());
    for turn in ["t1", "t2"] {
        deployment.wait(Duration::from_secs(5));
        let sent = ClientRequest::new("ann", "s", turn, "What is a lease?");
        let process = deployment.execute(&sent, BUDGET, Faults::None);
        assert!(matches!(deployment.finish(&process), Some(ProcessOutcome::Executed(Ok(_)))));
    }
    let copy =
        deployment.table.contents().copy_of(&build::session_key("s"), &copy_key(), &deployment.objects);
    (deployment, copy.unwrap())
}

/// Finalizes every settled turn.
fn finalize(deployment: &mut Deployment) {
    deployment.wait(MINUTE * 5);
    let process = deployment.sweep(Faults::None);
    deployment.finish(&process);
    deployment.wait(Duration::from_secs(5));
}

/// Imports a copy until it is imported, as a client does that gets no answer.
fn import(deployment: &mut Deployment, copy: &ArchivedSession, faults: Faults) {
    let mut process = deployment.import(&build::caller("op"), copy, faults);
    for _ in 0..5 {
        match deployment.finish(&process) {
            Some(ProcessOutcome::Imported(Ok(()))) => return,
            Some(ProcessOutcome::Imported(Err(refusal))) => {
                assert!(refusal.retry_after().is_some(), "{refusal:?}")
            }
            Some(other) => panic!("{other:?}"),
            None => {}
        }
        process = deployment.import(&build::caller("op"), copy, Faults::None);
    }
    panic!("it is never imported");
}

#[test]
fn late_import_leaves_finalized_turn_alone() {
    let (mut calm, copy) = deployment();
    let process = calm.import(&build::caller("op"), &copy, Faults::None);
    calm.finish(&process);
    let writes = process.reached().into_iter().filter(|effect| *effect == Effect::PutArchive).count();
    assert!(writes > 0);
    for held in 0..writes {
        let (mut deployment, copy) = deployment();
        import(&mut deployment, &copy, Faults::Nth(Effect::PutArchive, held, Fault::AppliedLate));
        let settled = copy_key().turn("t2".parse().unwrap());
        let process = deployment.finalize(Delivery::first(&settled), Faults::None);
        assert!(matches!(deployment.finish(&process), Some(ProcessOutcome::Finalized(_, Ok(true)))));
        let before = deployment.table.contents().sessions[&copy_key()].clone();
        assert_eq!(before.open_turn, None);
        // The write that was held arrives.
        deployment.wait(MINUTE);
        finalize(&mut deployment);
        assert_eq!(deployment.table.contents().sessions[&copy_key()], before, "a turn was counted twice");
        assert_eq!(deployment.violations(), [], "write {held} of {writes}");
    }
}
