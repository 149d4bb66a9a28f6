//! The flows: what came before, and the process that meets the faults.

use std::time::Duration;

use testkit::{
    build,
    deployment::{Delivery, Deployment, Sent},
    faulty::{Effect, Fault},
    schedule::{Faults, Process},
};

/// What a function has of its own time.
pub(crate) const BUDGET: Duration = Duration::from_secs(840);
/// Long enough that a lease is over for everybody.
const DEAD: Duration = Duration::from_secs(33);

/// A flow, put into its situation.
pub(crate) struct Flow {
    pub(crate) name: &'static str,
    /// What came before, fault-free or with the crash that makes the situation.
    pub(crate) before: fn(&mut Deployment),
    /// The process that meets the faults.
    pub(crate) act: fn(&mut Deployment, Faults) -> Process,
    /// The request that the flow is about: its client sends it again.
    pub(crate) request: fn() -> Sent,
}

pub(crate) const FLOWS: &[Flow] = &[
    Flow { name: "execute a new session", before: |_| {}, act: send_first, request: first },
    Flow { name: "execute, folding a settled turn", before: answered, act: send_second, request: second },
    Flow { name: "execute after a finalized turn", before: finalized, act: send_second, request: second },
    Flow { name: "execute as another user", before: finalized, act: send_third, request: third },
    Flow {
        name: "execute with a file that the turn before carried",
        before: finalized_with_file,
        act: send_second_with_file,
        request: second_with_file,
    },
    Flow {
        name: "take over a dead turn with a file",
        before: died_with_file,
        act: send_second_with_file,
        request: second_with_file,
    },
    Flow { name: "replay a settled turn", before: answered, act: send_first, request: first },
    Flow { name: "take over a dead turn", before: died_thinking, act: send_first, request: first },
    Flow { name: "take over with an outcome", before: died_settling, act: send_first, request: first },
    Flow { name: "take over without an attempt left", before: died_thrice, act: send_first, request: first },
    Flow { name: "abandon a dead turn on the way", before: died_thinking, act: send_second, request: second },
    Flow { name: "salvage an outcome on the way", before: died_settling, act: send_second, request: second },
    Flow { name: "supersede an awaiting turn", before: awaiting, act: send_second, request: second },
    Flow { name: "suspend a turn", before: |_| {}, act: suspend_first, request: first },
    Flow { name: "cancel a running turn", before: died_just_now, act: cancel_first, request: first },
    Flow { name: "cancel an awaiting turn", before: awaiting, act: cancel_first, request: first },
    Flow { name: "finalize", before: answered, act: finalize_first, request: first },
    Flow { name: "sweep", before: overdue, act: sweep, request: first },
];

fn first() -> Sent {
    Sent::new("ann", "s", "t1", "one")
}

fn second() -> Sent {
    Sent::new("ann", "s", "t2", "two")
}

fn second_with_file() -> Sent {
    with_file(second())
}

fn with_file(sent: Sent) -> Sent {
    Sent { request: build::with_file(sent.request), ..sent }
}

fn third() -> Sent {
    Sent::new("ben", "s", "t3", "three")
}

fn send_first(deployment: &mut Deployment, faults: Faults) -> Process {
    deployment.execute(&first(), BUDGET, faults)
}

fn send_second(deployment: &mut Deployment, faults: Faults) -> Process {
    deployment.execute(&second(), BUDGET, faults)
}

fn send_second_with_file(deployment: &mut Deployment, faults: Faults) -> Process {
    deployment.execute(&second_with_file(), BUDGET, faults)
}

fn send_third(deployment: &mut Deployment, faults: Faults) -> Process {
    deployment.execute(&third(), BUDGET, faults)
}

fn suspend_first(deployment: &mut Deployment, faults: Faults) -> Process {
    deployment.suspend(&first(), faults)
}

fn cancel_first(deployment: &mut Deployment, faults: Faults) -> Process {
    deployment.cancel(&first().caller, &first().turn(), faults)
}

fn finalize_first(deployment: &mut Deployment, faults: Faults) -> Process {
    deployment.finalize(Delivery::of(&first().turn()), faults)
}

fn sweep(deployment: &mut Deployment, faults: Faults) -> Process {
    deployment.sweep(faults)
}

/// Settled and announced, its message not delivered yet.
fn answered(deployment: &mut Deployment) {
    let process = deployment.execute(&first(), BUDGET, Faults::None);
    deployment.finish(&process);
}

fn finalized(deployment: &mut Deployment) {
    answered(deployment);
    deployment.wait(Duration::from_secs(5));
}

fn finalized_with_file(deployment: &mut Deployment) {
    let process = deployment.execute(&with_file(first()), BUDGET, Faults::None);
    deployment.finish(&process);
    deployment.wait(Duration::from_secs(5));
}

fn died_with_file(deployment: &mut Deployment) {
    finalized_with_file(deployment);
    dies_at(deployment, &second_with_file(), Effect::CallModel, Fault::CrashBefore);
    deployment.wait(DEAD);
}

fn awaiting(deployment: &mut Deployment) {
    let process = deployment.suspend(&first(), Faults::None);
    deployment.finish(&process);
}

/// Its process crashed in the model call, a moment ago.
fn died_just_now(deployment: &mut Deployment) {
    dies_at(deployment, &first(), Effect::CallModel, Fault::CrashBefore);
}

fn died_thinking(deployment: &mut Deployment) {
    died_just_now(deployment);
    deployment.wait(DEAD);
}

/// Its outcome object is durable, but nobody settled from it.
fn died_settling(deployment: &mut Deployment) {
    dies_at(deployment, &first(), Effect::WriteTurn, Fault::CrashBefore);
    deployment.wait(DEAD);
}

fn died_thrice(deployment: &mut Deployment) {
    for _ in 0..3 {
        died_thinking(deployment);
    }
}

/// One turn of each kind that a sweep has to do with.
fn overdue(deployment: &mut Deployment) {
    let process = deployment.suspend(&Sent::new("ann", "s-awaiting", "t", "wait"), Faults::None);
    deployment.finish(&process);
    deployment.wait(Duration::from_secs(24 * 60 * 60));
    dies_at(deployment, &Sent::new("ann", "s-outcome", "t", "settle"), Effect::WriteTurn, Fault::CrashBefore);
    died_just_now(deployment);
    deployment.wait(Duration::from_secs(200));
    // Its announcement is never sent.
    dies_at(deployment, &Sent::new("ann", "s-settled", "t", "tell"), Effect::Announce, Fault::CrashBefore);
    deployment.wait(Duration::from_secs(31));
}

/// Executes a turn whose process meets a fault at its first effect of this kind.
fn dies_at(deployment: &mut Deployment, sent: &Sent, effect: Effect, fault: Fault) {
    let process = deployment.execute(sent, BUDGET, Faults::Reaching(effect, fault));
    deployment.finish(&process);
}
