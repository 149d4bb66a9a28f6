//! A request is stored inline or as an object by its size. Its turn works the same either way, and a terminal turn always
//! has the object.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::time::Duration;

use futures::FutureExt;
use protocol::{
    payload::{Kind, MAX_INLINE_REQUEST_BYTES, Payload},
    turn::{State, Turn},
};
use testkit::{
    build,
    deployment::{ClientRequest, Deployment, ProcessOutcome, Settings},
    fault::{Effect, Fault},
    schedule::{Faults, Process},
};
use turns::{
    flow::{PayloadName, SessionReader},
    refusal::Refusal,
};

/// The time budget of a function.
const BUDGET: Duration = Duration::from_secs(840);
/// Long enough that a lease has expired on every clock.
const DEAD: Duration = Duration::from_secs(33);
/// Long enough that an announced turn is finalized.
const FINALIZED: Duration = Duration::from_secs(5);
/// Longer than any function runs.
const LATER: Duration = Duration::from_secs(1_000);

fn small() -> ClientRequest {
    ClientRequest::new("ann", "s", "t1", "What is a lease?")
}

fn large() -> ClientRequest {
    ClientRequest::new("ann", "s", "t1", &"?".repeat(MAX_INLINE_REQUEST_BYTES))
}

/// The largest request that is inline.
fn largest_inline() -> ClientRequest {
    let empty = ClientRequest::new("ann", "s", "t1", "?").request.canonical_json().len() - 1;
    ClientRequest::new("ann", "s", "t1", &"?".repeat(MAX_INLINE_REQUEST_BYTES - empty))
}

fn deployment() -> Deployment {
    Deployment::new(Settings::quiet())
}

fn send(deployment: &mut Deployment, sent: &ClientRequest, faults: Faults) -> Process {
    deployment.execute(sent, BUDGET, faults)
}

/// Sends a request whose process dies before it calls the model.
fn crash_before_reply(deployment: &mut Deployment, sent: &ClientRequest) {
    let process = send(deployment, sent, Faults::EveryOfKind(Effect::CallModel, Fault::CrashBefore));
    assert!(deployment.finish(&process).is_none(), "it crashes");
}

fn answer(deployment: &mut Deployment, sent: &ClientRequest) -> Result<Vec<u8>, Refusal> {
    let process = send(deployment, sent, Faults::None);
    let Some(ProcessOutcome::Executed(answer)) = deployment.finish(&process) else { panic!("no answer") };
    answer
}

fn head(deployment: &Deployment, sent: &ClientRequest) -> Turn {
    deployment.table.contents().heads[&sent.turn()].clone()
}

/// Returns the request as the table and as the bucket have it.
fn stored(deployment: &Deployment, sent: &ClientRequest) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let turn = head(deployment, sent);
    let payload = Payload { turn: turn.key.clone(), kind: Kind::Instruction(turn.stored_request()) };
    let inline = deployment.table.contents().requests[&turn.key].inline_json.clone();
    let object = deployment.objects.stored().get(&payload).map(|bytes| bytes.to_vec());
    (inline.map(String::into_bytes), object)
}

#[test]
fn small_request_is_inline_until_its_turn_is_final() {
    for sent in [small(), largest_inline()] {
        let mut deployment = deployment();
        crash_before_reply(&mut deployment, &sent);
        let canonical = sent.request.canonical_json();
        assert_eq!(stored(&deployment, &sent), (Some(canonical.clone()), None));
        deployment.wait(DEAD);
        answer(&mut deployment, &sent).unwrap();
        deployment.wait(FINALIZED);
        assert!(matches!(head(&deployment, &sent).state, State::Finalized(_)));
        assert_eq!(stored(&deployment, &sent).1, Some(canonical));
        assert_eq!(deployment.violations(), []);
    }
}

#[test]
fn large_request_is_an_object_before_its_turn_starts() {
    let (mut deployment, sent) = (deployment(), large());
    crash_before_reply(&mut deployment, &sent);
    assert_eq!(stored(&deployment, &sent), (None, Some(sent.request.canonical_json())));
    deployment.wait(DEAD);
    answer(&mut deployment, &sent).unwrap();
    deployment.wait(FINALIZED);
    assert_eq!(stored(&deployment, &sent), (None, Some(sent.request.canonical_json())));
    assert_eq!(deployment.violations(), []);
}

#[test]
fn repeated_request_is_replayed_and_another_one_refused() {
    for sent in [small(), large()] {
        let mut deployment = deployment();
        let first = answer(&mut deployment, &sent).unwrap();
        for wait in [Duration::ZERO, FINALIZED] {
            deployment.wait(wait);
            assert_eq!(answer(&mut deployment, &sent).unwrap(), first);
            for text in ["Another question".to_owned(), "!".repeat(MAX_INLINE_REQUEST_BYTES)] {
                let other = ClientRequest::new("ann", "s", "t1", &text);
                assert!(matches!(answer(&mut deployment, &other), Err(Refusal::TurnIdConflict)));
            }
        }
        let stored = deployment.objects.stored();
        let requests = stored.keys().filter(|payload| matches!(payload.kind, Kind::Instruction(_)));
        assert_eq!(requests.count(), 1, "the turn's own");
        drop(stored);
        assert_eq!(deployment.violations(), []);
    }
}

#[test]
fn next_turn_publishes_the_request_of_the_turn_that_it_folds() {
    let (mut deployment, sent) = (deployment(), small());
    answer(&mut deployment, &sent).unwrap();
    assert_eq!(stored(&deployment, &sent).1, None, "nothing has finalized it");
    crash_before_reply(&mut deployment, &ClientRequest::new("ann", "s", "t2", "Another question"));
    assert!(matches!(head(&deployment, &sent).state, State::Finalized(_)));
    assert_eq!(stored(&deployment, &sent).1, Some(sent.request.canonical_json()));
    assert_eq!(deployment.violations(), []);
}

#[test]
fn request_is_read_and_linked_before_and_after_its_turn_is_final() {
    for sent in [small(), large()] {
        let mut deployment = deployment();
        answer(&mut deployment, &sent).unwrap();
        let reader = SessionReader::new(deployment.table.clone(), deployment.objects.clone());
        let (session, turn) = (sent.request.session_id.clone(), sent.request.turn_id.clone());
        for _ in ["settled", "final"] {
            let read = reader.turn_snapshot(&sent.caller, session.clone(), turn.clone());
            let snapshot = read.now_or_never().unwrap().unwrap();
            assert_eq!(snapshot.request.canonical_json(), sent.request.canonical_json());
            let link =
                reader.payload_link(&sent.caller, session.clone(), turn.clone(), PayloadName::Instruction);
            link.now_or_never().unwrap().unwrap();
            assert_eq!(stored(&deployment, &sent).1, Some(sent.request.canonical_json()));
            deployment.wait(FINALIZED);
        }
    }
}

#[test]
fn purge_removes_open_requests() {
    for sent in [small(), large()] {
        let mut deployment = deployment();
        crash_before_reply(&mut deployment, &sent);
        let session = build::session_key("s");
        let process = deployment.order_purge(&sent.caller, &session, Faults::None);
        deployment.finish(&process);
        for _ in 0..4 {
            deployment.wait(LATER);
            let process = deployment.sweep_purges(Faults::None);
            deployment.finish(&process);
        }
        assert_eq!(deployment.table.contents().items_left(&session), 0);
        assert!(deployment.objects.stored().keys().all(|payload| payload.turn.session != session));
    }
}
