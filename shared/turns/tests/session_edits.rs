//! Deleting, restoring and quarantining a session complete after a retry, whichever fault hits whichever effect and whatever the
//! state of the open turn. No invariant is violated.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test, run to read its figures"
)]

use std::{collections::BTreeMap, time::Duration};

use contracts::ErrorCode;
use protocol::{Caller, id::SessionKey};
use testkit::{
    build,
    deployment::{ClientRequest, Deployment, ProcessOutcome, SessionEdit, Settings},
    fault::{Effect, Fault},
    schedule::Faults,
};
use turns::refusal::Refusal;

/// The time budget of a function.
const BUDGET: Duration = Duration::from_secs(840);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The state of the session's turn before the delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnState {
    Finalized,
    Settled,
    Running,
    Dead,
    Awaiting,
}

const ALL: [TurnState; 5] =
    [TurnState::Finalized, TurnState::Settled, TurnState::Running, TurnState::Dead, TurnState::Awaiting];

fn key() -> SessionKey {
    build::session_key("s")
}

fn sent(state: TurnState) -> ClientRequest {
    ClientRequest::new("ann", "s", "t1", if state == TurnState::Awaiting { "one calls: c" } else { "one" })
}

fn deployment(state: TurnState) -> Deployment {
    let mut deployment = Deployment::new(Settings::quiet());
    let faults = match state {
        TurnState::Running | TurnState::Dead => Faults::EveryOfKind(Effect::CallModel, Fault::CrashBefore),
        TurnState::Finalized | TurnState::Settled | TurnState::Awaiting => Faults::None,
    };
    let process = deployment.execute(&sent(state), BUDGET, faults);
    deployment.finish(&process);
    match state {
        TurnState::Finalized => deployment.wait(Duration::from_secs(5)),
        TurnState::Dead => deployment.wait(Duration::from_secs(40)),
        TurnState::Settled | TurnState::Running | TurnState::Awaiting => {}
    }
    deployment
}

fn edit_session(
    deployment: &mut Deployment,
    edit: SessionEdit,
    faults: Faults,
) -> (usize, Option<ProcessOutcome>) {
    let caller = Caller { operator: edit == SessionEdit::Quarantine, ..build::caller("ann") };
    let process = deployment.edit_session(&caller, &key(), edit, faults);
    let done = deployment.finish(&process);
    (process.reached().len(), done)
}

/// Repeats the request, as a client without a response does.
fn retry_edit(deployment: &mut Deployment, edit: SessionEdit) {
    let (_, done) = edit_session(deployment, edit, Faults::None);
    assert!(matches!(done, Some(ProcessOutcome::SessionEdited(Ok(())))), "{edit:?}: {done:?}");
}

fn is_deleted(deployment: &Deployment) -> bool {
    deployment.table.contents().sessions[&key()].deleted.is_some()
}

fn is_closed(deployment: &Deployment) -> bool {
    deployment.table.contents().sessions[&key()].ensure_open().is_err()
}

/// Sends a turn and returns its refusal, if any.
fn send_turn(deployment: &mut Deployment, turn: &str) -> Result<(), Refusal> {
    let process = deployment.execute(&ClientRequest::new("ann", "s", turn, "next"), BUDGET, Faults::None);
    match deployment.finish(&process) {
        Some(ProcessOutcome::Executed(answer)) => answer.map(|_| ()),
        done => panic!("{done:?}"),
    }
}

/// Lets everything finish. Then every turn is terminal, and every response was right.
fn settle_everything(deployment: &mut Deployment, what: &str) {
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
fn retried_delete_ends_open_turn_after_any_fault() {
    retried_edit_closes_session(SessionEdit::Delete, |refusal| {
        refusal.error().error_code == ErrorCode::SessionDeleted
    });
}

#[test]
fn retried_quarantine_ends_open_turn_after_any_fault() {
    retried_edit_closes_session(SessionEdit::Quarantine, |refusal| {
        refusal.error().error_code == ErrorCode::SessionQuarantined
    });
}

fn retried_edit_closes_session(edit: SessionEdit, is_expected: fn(&Refusal) -> bool) {
    let mut cells = 0;
    for state in ALL {
        let (effects, _) = edit_session(&mut deployment(state), edit, Faults::None);
        for at in 0..effects {
            for fault in Fault::ALL {
                let what = format!("{state:?}, {fault:?} at effect {at}");
                let mut deployment = deployment(state);
                edit_session(&mut deployment, edit, Faults::AtIndex(BTreeMap::from([(at, fault)])));
                retry_edit(&mut deployment, edit);
                assert!(is_closed(&deployment), "{what}");
                let decided =
                    deployment.table.contents().heads.values().all(|turn| turn.settlement().is_some());
                assert!(decided, "{what}: a turn is open");
                let refused = send_turn(&mut deployment, "t2");
                assert!(refused.as_ref().is_err_and(is_expected), "{what}: {refused:?}");
                settle_everything(&mut deployment, &what);
                assert!(is_closed(&deployment), "{what}: a finalization undid it");
                cells += 1;
            }
        }
    }
    println!("{cells} cells");
}

#[test]
fn retried_restore_reopens_session_after_any_fault() {
    let mut cells = 0;
    for state in ALL {
        let deleted = || {
            let mut deployment = deployment(state);
            retry_edit(&mut deployment, SessionEdit::Delete);
            deployment
        };
        let (effects, _) = edit_session(&mut deleted(), SessionEdit::Restore, Faults::None);
        for at in 0..effects {
            for fault in Fault::ALL {
                let what = format!("{state:?}, {fault:?} at effect {at}");
                let mut deployment = deleted();
                edit_session(
                    &mut deployment,
                    SessionEdit::Restore,
                    Faults::AtIndex(BTreeMap::from([(at, fault)])),
                );
                retry_edit(&mut deployment, SessionEdit::Restore);
                assert!(!is_deleted(&deployment), "{what}");
                let next = send_turn(&mut deployment, "t2");
                assert!(next.is_ok(), "{what}: {next:?}");
                settle_everything(&mut deployment, &what);
                cells += 1;
            }
        }
    }
    println!("{cells} cells");
}
