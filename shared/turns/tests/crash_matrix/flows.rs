//! The flows: what came before, and the process that meets the faults.

use std::time::Duration;

use contracts::ToolContinuation;
use testkit::{
    build,
    client::{Calls, Mutation, mutated},
    deployment::{Delivery, Deployment, Done, Sent},
    fault::{Effect, Fault},
    ledger::Event,
    schedule::{Faults, Process},
};

/// What a function has of its own time.
pub(crate) const BUDGET: Duration = Duration::from_secs(840);
/// Long enough that a lease is over for everybody.
const DEAD: Duration = Duration::from_secs(33);
/// A tool deadline, which is a day by default, is past.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A flow, put into its situation.
pub(crate) struct Flow {
    pub(crate) name: &'static str,
    /// What came before, fault-free or with the crash that makes the situation.
    pub(crate) before: fn(&mut Deployment),
    /// The process that meets the faults.
    pub(crate) act: fn(&mut Deployment, Faults) -> Process,
    /// The user turn that the flow is about: its client sends it again.
    pub(crate) request: fn() -> Sent,
    /// Whether its client sends results again, not the user turn.
    pub(crate) continues: bool,
}

const fn flow(
    name: &'static str,
    before: fn(&mut Deployment),
    act: fn(&mut Deployment, Faults) -> Process,
    request: fn() -> Sent,
) -> Flow {
    Flow { name, before, act, request, continues: false }
}

const fn resume(
    name: &'static str,
    before: fn(&mut Deployment),
    act: fn(&mut Deployment, Faults) -> Process,
    request: fn() -> Sent,
) -> Flow {
    Flow { name, before, act, request, continues: true }
}

pub(crate) const FLOWS: &[Flow] = &[
    flow("execute a new session", |_| {}, send_first, first),
    flow("execute a new session of an agent", |_| {}, send_first_of_agent, first_of_agent),
    flow("execute after a turn that left nothing behind", finalized_local, send_second, second),
    flow("take over a dead turn of an agent", died_of_agent, send_first_of_agent, first_of_agent),
    flow(
        "execute, summing up what is left out",
        finalized_to_be_summed_up,
        send_third_summed_up,
        third_summed_up,
    ),
    flow("execute, folding a settled turn", answered, send_second, second),
    flow("execute after a finalized turn", finalized, send_second, second),
    flow("execute as another user", finalized, send_third, third),
    flow("execute with a server tool", |_| {}, |d, faults| send(d, &served(), faults), served),
    flow(
        "execute with a file that the turn before carried",
        finalized_with_file,
        send_second_with_file,
        second_with_file,
    ),
    flow("take over a dead turn with a file", died_with_file, send_second_with_file, second_with_file),
    flow("replay a settled turn", answered, send_first, first),
    flow("take over a dead turn", died_thinking, send_first, first),
    flow("take over after a tool round", died_in_round, |d, faults| send(d, &served(), faults), served),
    flow("take over with an outcome", died_settling, send_first, first),
    flow("take over without an attempt left", died_thrice, send_first, first),
    flow("abandon a dead turn on the way", died_thinking, send_second, second),
    flow("salvage an outcome on the way", died_settling, send_second, second),
    flow("suspend a turn", |_| {}, |d, faults| send(d, &calling(), faults), calling),
    flow("supersede an awaiting turn", awaiting, send_second, second),
    flow("cancel a running turn", died_just_now, cancel_first, first),
    flow("cancel an awaiting turn", awaiting, cancel_first, calling),
    resume("resume with the results", awaiting, |d, faults| answer(d, &calling(), faults), calling),
    resume("resume into another round", awaiting_twice, |d, faults| answer(d, &twice(), faults), twice),
    resume("take over a dead resume", died_resuming, |d, faults| answer(d, &calling(), faults), calling),
    resume("resume with wrong results", awaiting, answer_wrongly, calling),
    flow("finalize", answered, finalize_first, first),
    flow("sweep", overdue, sweep, first),
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

/// Its session gets the conversation context that the agent brings.
fn first_of_agent() -> Sent {
    first().naming(Some(build::AGENT), None)
}

/// Its calls are told again with the instruction, since the provider keeps nothing.
fn first_local() -> Sent {
    served().naming(None, Some(build::LOCAL))
}

/// Its session's budget has no room for both turns before it.
fn third_summed_up() -> Sent {
    Sent::new("ann", "s", "t3", "three").naming(None, Some(build::SUMMED_UP))
}

fn third() -> Sent {
    Sent::new("ben", "s", "t3", "three")
}

/// The server runs a tool, then there is an answer.
fn served() -> Sent {
    Sent::new("ann", "s", "t1", "one calls: s")
}

/// A mixed reply, then an answer.
fn calling() -> Sent {
    Sent::new("ann", "s", "t1", "one calls: csc")
}

/// Two rounds for the client.
fn twice() -> Sent {
    Sent::new("ann", "s", "t1", "one calls: c sc")
}

fn send(deployment: &mut Deployment, sent: &Sent, faults: Faults) -> Process {
    deployment.execute(sent, BUDGET, faults)
}

fn send_first(deployment: &mut Deployment, faults: Faults) -> Process {
    send(deployment, &first(), faults)
}

fn send_first_of_agent(deployment: &mut Deployment, faults: Faults) -> Process {
    send(deployment, &first_of_agent(), faults)
}

fn send_second(deployment: &mut Deployment, faults: Faults) -> Process {
    send(deployment, &second(), faults)
}

fn send_second_with_file(deployment: &mut Deployment, faults: Faults) -> Process {
    deployment.execute(&second_with_file(), BUDGET, faults)
}

fn send_third(deployment: &mut Deployment, faults: Faults) -> Process {
    send(deployment, &third(), faults)
}

/// The calls that the turn first waited for, as its client was told them.
pub(crate) fn calls(deployment: &Deployment) -> Calls {
    let entries = deployment.ledger.entries();
    let told = entries.iter().find_map(|entry| match &entry.event {
        Event::Answered { body, .. } => Calls::read(body),
        _ => None,
    });
    told.expect("the turn was suspended")
}

/// The right results of the first suspension.
pub(crate) fn right(deployment: &Deployment) -> ToolContinuation {
    calls(deployment).answered("client")
}

fn answer(deployment: &mut Deployment, sent: &Sent, faults: Faults) -> Process {
    let results = right(deployment);
    deployment.resume(&sent.caller, &results, BUDGET, faults)
}

fn answer_wrongly(deployment: &mut Deployment, faults: Faults) -> Process {
    let calls = calls(deployment);
    let wrong = mutated(&calls.results("client"), Mutation::Swapped, 0, &[]).expect("there are two calls");
    deployment.resume(&calling().caller, &calls.request(&wrong), BUDGET, faults)
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
    finishes(deployment, &first());
}

fn finalized(deployment: &mut Deployment) {
    answered(deployment);
    deployment.wait(Duration::from_secs(5));
}

fn finalized_local(deployment: &mut Deployment) {
    finishes(deployment, &first_local());
    deployment.wait(Duration::from_secs(5));
}

fn finalized_to_be_summed_up(deployment: &mut Deployment) {
    for sent in [served(), Sent::new("ann", "s", "t2", "two calls: s")] {
        finishes(deployment, &sent.naming(None, Some(build::SUMMED_UP)));
        deployment.wait(Duration::from_secs(5));
    }
}

fn send_third_summed_up(deployment: &mut Deployment, faults: Faults) -> Process {
    send(deployment, &third_summed_up(), faults)
}

fn died_of_agent(deployment: &mut Deployment) {
    dies_at(deployment, &first_of_agent(), Effect::CallModel, Fault::CrashBefore);
    deployment.wait(DEAD);
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
    finishes(deployment, &calling());
}

fn awaiting_twice(deployment: &mut Deployment) {
    finishes(deployment, &twice());
}

/// Its process crashed in the model call, a moment ago.
fn died_just_now(deployment: &mut Deployment) {
    dies_at(deployment, &first(), Effect::CallModel, Fault::CrashBefore);
}

fn died_thinking(deployment: &mut Deployment) {
    died_just_now(deployment);
    deployment.wait(DEAD);
}

/// Its tool ran and the round is recorded, as the second object after the instruction; the model's reply to
/// it was lost with the process.
fn died_in_round(deployment: &mut Deployment) {
    let process = send(deployment, &served(), Faults::Nth(Effect::PutPayload, 2, Fault::CrashBefore));
    assert!(deployment.finish(&process).is_none(), "it crashes");
    deployment.wait(DEAD);
}

/// Its results were accepted, and then its process crashed.
fn died_resuming(deployment: &mut Deployment) {
    awaiting(deployment);
    let results = right(deployment);
    let faults = Faults::Reaching(Effect::CallModel, Fault::CrashBefore);
    let process = deployment.resume(&calling().caller, &results, BUDGET, faults);
    assert!(deployment.finish(&process).is_none(), "it crashes");
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
    finishes(deployment, &Sent::new("ann", "s-awaiting", "t", "wait calls: c"));
    deployment.wait(DAY);
    dies_at(deployment, &Sent::new("ann", "s-outcome", "t", "settle"), Effect::WriteTurn, Fault::CrashBefore);
    died_just_now(deployment);
    deployment.wait(Duration::from_secs(200));
    // Its announcement is never sent.
    dies_at(deployment, &Sent::new("ann", "s-settled", "t", "tell"), Effect::Announce, Fault::CrashBefore);
    deployment.wait(Duration::from_secs(31));
}

fn finishes(deployment: &mut Deployment, sent: &Sent) {
    let process = send(deployment, sent, Faults::None);
    let done = deployment.finish(&process);
    assert!(matches!(done, Some(Done::Executed(Ok(_)))), "{done:?}");
}

/// Executes a turn whose process meets a fault at its first effect of this kind.
fn dies_at(deployment: &mut Deployment, sent: &Sent, effect: Effect, fault: Fault) {
    let process = send(deployment, sent, Faults::Reaching(effect, fault));
    deployment.finish(&process);
}
