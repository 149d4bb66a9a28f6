//! The flows of the matrix: the preparation, and the process that hits the faults.

use std::time::Duration;

use contracts::ToolContinuation;
use protocol::payload::MAX_INLINE_REQUEST_BYTES;
use testkit::{
    build,
    client::{Mutation, PendingCalls, mutate},
    deployment::{ClientRequest, Delivery, Deployment, ProcessOutcome},
    fault::{Effect, Fault},
    ledger::Event,
    schedule::{Faults, Process},
};
use turns::ports::ArchivedSession;

/// The time budget of a function.
pub(crate) const BUDGET: Duration = Duration::from_secs(840);
/// Long enough that a lease has expired on every clock.
const DEAD: Duration = Duration::from_secs(33);
/// Long enough that a tool deadline, a day by default, has passed.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A flow with its starting state.
pub(crate) struct Flow {
    pub(crate) name: &'static str,
    /// Prepares the starting state, without faults or with the crash that produces it.
    pub(crate) before: fn(&mut Deployment),
    /// Starts the process that hits the faults.
    pub(crate) act: fn(&mut Deployment, Faults) -> Process,
    /// The flow's user turn, which its client retries.
    pub(crate) request: fn() -> ClientRequest,
    /// The request that the client retries.
    pub(crate) retry: Retry,
}

/// The request that a flow's client retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// The user turn.
    UserTurn,
    /// The tool results.
    ToolResults,
    /// The import.
    Import,
}

const fn flow(
    name: &'static str,
    before: fn(&mut Deployment),
    act: fn(&mut Deployment, Faults) -> Process,
    request: fn() -> ClientRequest,
) -> Flow {
    Flow { name, before, act, request, retry: Retry::UserTurn }
}

const fn resume(
    name: &'static str,
    before: fn(&mut Deployment),
    act: fn(&mut Deployment, Faults) -> Process,
    request: fn() -> ClientRequest,
) -> Flow {
    Flow { name, before, act, request, retry: Retry::ToolResults }
}

const fn import(name: &'static str, before: fn(&mut Deployment)) -> Flow {
    Flow { name, before, act: send_import, request: first, retry: Retry::Import }
}

pub(crate) const FLOWS: &[Flow] = &[
    flow("execute a new session", |_| {}, send_first, first),
    flow("execute a new session with a large request", |_| {}, send_first_large, first_large),
    flow("execute with effects", |_| {}, send_effects, effects),
    flow("take over in a round with effects", died_in_effects, send_effects, effects),
    flow("suspend after an effect", |_| {}, send_mixed_effects, mixed_effects),
    flow("execute a new session of an agent", |_| {}, send_first_of_agent, first_of_agent),
    flow("execute after a turn that left nothing behind", finalized_local, send_second, second),
    flow("take over a dead turn of an agent", died_of_agent, send_first_of_agent, first_of_agent),
    flow(
        "execute, summing up what is left out",
        finalized_to_be_summed_up,
        send_third_summed_up,
        third_summed_up,
    ),
    flow("execute, folding a settled turn", settled, send_second, second),
    flow("execute with a large request, folding a settled turn", settled, send_second_large, second_large),
    flow("execute after a finalized turn", finalized, send_second, second),
    flow("execute as another user", finalized, send_third, third),
    flow("execute with a server tool", |_| {}, |d, faults| send(d, &server_tool(), faults), server_tool),
    flow(
        "execute with a file that the turn before carried",
        finalized_with_file,
        send_second_with_file,
        second_with_file,
    ),
    flow("take over a dead turn with a file", died_with_file, send_second_with_file, second_with_file),
    flow("replay a settled turn", settled, send_first, first),
    flow("take over a dead turn", died_thinking, send_first, first),
    flow(
        "take over after a tool round",
        died_in_round,
        |d, faults| send(d, &server_tool(), faults),
        server_tool,
    ),
    flow("take over with an outcome", died_settling, send_first, first),
    flow("take over without an attempt left", died_thrice, send_first, first),
    flow("abandon a dead turn on the way", died_thinking, send_second, second),
    flow("salvage an outcome on the way", died_settling, send_second, second),
    flow("suspend a turn", |_| {}, |d, faults| send(d, &mixed_reply(), faults), mixed_reply),
    flow("supersede an awaiting turn", awaiting, send_second, second),
    flow("cancel a running turn", died_just_now, cancel_first, first),
    flow("cancel an awaiting turn", awaiting, cancel_first, mixed_reply),
    resume("resume with the results", awaiting, |d, faults| answer(d, &mixed_reply(), faults), mixed_reply),
    resume(
        "resume into another round",
        awaiting_twice,
        |d, faults| answer(d, &two_rounds(), faults),
        two_rounds,
    ),
    resume(
        "take over a dead resume",
        died_resuming,
        |d, faults| answer(d, &mixed_reply(), faults),
        mixed_reply,
    ),
    resume("resume with wrong results", awaiting, answer_wrongly, mixed_reply),
    flow("finalize", settled, finalize_first, first),
    flow("sweep", overdue_turns, sweep, first),
    import("import a settled session", settled),
    import("import a finalized session", finalized),
    import("import what an identical import has begun", half_imported),
    import("import what an identical import has published", imported),
];

fn first() -> ClientRequest {
    ClientRequest::new("ann", "s", "t1", "one")
}

fn second() -> ClientRequest {
    ClientRequest::new("ann", "s", "t2", "two")
}

/// A request that is too large to be inline.
fn first_large() -> ClientRequest {
    ClientRequest::new("ann", "s", "t1", &"one ".repeat(MAX_INLINE_REQUEST_BYTES))
}

fn second_large() -> ClientRequest {
    ClientRequest::new("ann", "s", "t2", &"two ".repeat(MAX_INLINE_REQUEST_BYTES))
}

fn second_with_file() -> ClientRequest {
    with_file(second())
}

fn with_file(sent: ClientRequest) -> ClientRequest {
    ClientRequest { request: build::with_file(sent.request), ..sent }
}

/// Its session gets the agent's default conversation context.
fn first_of_agent() -> ClientRequest {
    first().with_contexts(Some(build::AGENT), None)
}

/// Its requests repeat the instruction with the calls, since the provider stores nothing.
fn first_local() -> ClientRequest {
    server_tool().with_contexts(None, Some(build::LOCAL))
}

/// Its history budget is too small for both earlier turns.
fn third_summed_up() -> ClientRequest {
    ClientRequest::new("ann", "s", "t3", "three").with_contexts(None, Some(build::COMPACTED))
}

fn third() -> ClientRequest {
    ClientRequest::new("ben", "s", "t3", "three")
}

/// The server runs a tool, then the model answers.
fn server_tool() -> ClientRequest {
    ClientRequest::new("ann", "s", "t1", "one calls: s")
}

/// A round with a keyed call and an effect, then an answer.
fn effects() -> ClientRequest {
    ClientRequest::new("ann", "s", "t1", "one calls: ke")
}

/// An effect beside a call of the client, then another effect.
fn mixed_effects() -> ClientRequest {
    ClientRequest::new("ann", "s", "t1", "one calls: ec e")
}

fn send_effects(deployment: &mut Deployment, faults: Faults) -> Process {
    send(deployment, &effects(), faults)
}

fn send_mixed_effects(deployment: &mut Deployment, faults: Faults) -> Process {
    send(deployment, &mixed_effects(), faults)
}

/// The target performed both calls, and the process died before it stored the second result.
fn died_in_effects(deployment: &mut Deployment) {
    let process = send(deployment, &effects(), Faults::Nth(Effect::CallTarget, 1, Fault::CrashAfter));
    assert!(deployment.finish(&process).is_none(), "it crashes");
    deployment.wait(DEAD);
}

/// A mixed reply, then an answer.
fn mixed_reply() -> ClientRequest {
    ClientRequest::new("ann", "s", "t1", "one calls: csc")
}

/// Two rounds of client tools.
fn two_rounds() -> ClientRequest {
    ClientRequest::new("ann", "s", "t1", "one calls: c sc")
}

fn send(deployment: &mut Deployment, sent: &ClientRequest, faults: Faults) -> Process {
    deployment.execute(sent, BUDGET, faults)
}

fn send_first(deployment: &mut Deployment, faults: Faults) -> Process {
    send(deployment, &first(), faults)
}

fn send_first_large(deployment: &mut Deployment, faults: Faults) -> Process {
    send(deployment, &first_large(), faults)
}

fn send_second_large(deployment: &mut Deployment, faults: Faults) -> Process {
    send(deployment, &second_large(), faults)
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

/// The calls of the first suspension, as the client received them.
pub(crate) fn calls(deployment: &Deployment) -> PendingCalls {
    let entries = deployment.ledger.entries();
    let calls = entries.iter().find_map(|entry| match &entry.event {
        Event::Answered { body, .. } => PendingCalls::parse(body),
        _ => None,
    });
    calls.expect("the turn was suspended")
}

/// The correct results of the first suspension.
pub(crate) fn correct_results(deployment: &Deployment) -> ToolContinuation {
    calls(deployment).correct_request("client")
}

fn answer(deployment: &mut Deployment, sent: &ClientRequest, faults: Faults) -> Process {
    let results = correct_results(deployment);
    deployment.resume(&sent.caller, &results, BUDGET, faults)
}

fn answer_wrongly(deployment: &mut Deployment, faults: Faults) -> Process {
    let calls = calls(deployment);
    let wrong = mutate(&calls.results("client"), Mutation::Swapped, 0, &[]).expect("there are two calls");
    deployment.resume(&mixed_reply().caller, &calls.request(&wrong), BUDGET, faults)
}

fn cancel_first(deployment: &mut Deployment, faults: Faults) -> Process {
    deployment.cancel(&first().caller, &first().turn(), faults)
}

fn finalize_first(deployment: &mut Deployment, faults: Faults) -> Process {
    deployment.finalize(Delivery::first(&first().turn()), faults)
}

fn sweep(deployment: &mut Deployment, faults: Faults) -> Process {
    deployment.sweep(faults)
}

/// A copy of the session, with its turn settled.
pub(crate) fn copy(deployment: &Deployment) -> ArchivedSession {
    let (from, to) = (build::session_key("s"), build::session_key("copy"));
    let copy = deployment.table.contents().copy_of(&from, &to, &deployment.objects);
    copy.expect("its turns are over")
}

fn send_import(deployment: &mut Deployment, faults: Faults) -> Process {
    let copy = copy(deployment);
    deployment.import(&first().caller, &copy, faults)
}

/// Its process crashed before it published.
fn half_imported(deployment: &mut Deployment) {
    settled(deployment);
    let process = send_import(deployment, Faults::Nth(Effect::Commit, 1, Fault::CrashBefore));
    assert!(deployment.finish(&process).is_none(), "it crashes");
}

fn imported(deployment: &mut Deployment) {
    settled(deployment);
    let process = send_import(deployment, Faults::None);
    let done = deployment.finish(&process);
    assert!(matches!(done, Some(ProcessOutcome::Imported(Ok(())))), "{done:?}");
}

/// Settled and announced. The message isn't delivered yet.
fn settled(deployment: &mut Deployment) {
    run_to_end(deployment, &first());
}

fn finalized(deployment: &mut Deployment) {
    settled(deployment);
    deployment.wait(Duration::from_secs(5));
}

fn finalized_local(deployment: &mut Deployment) {
    run_to_end(deployment, &first_local());
    deployment.wait(Duration::from_secs(5));
}

fn finalized_to_be_summed_up(deployment: &mut Deployment) {
    for sent in [server_tool(), ClientRequest::new("ann", "s", "t2", "two calls: s")] {
        run_to_end(deployment, &sent.with_contexts(None, Some(build::COMPACTED)));
        deployment.wait(Duration::from_secs(5));
    }
}

fn send_third_summed_up(deployment: &mut Deployment, faults: Faults) -> Process {
    send(deployment, &third_summed_up(), faults)
}

fn died_of_agent(deployment: &mut Deployment) {
    crash_at(deployment, &first_of_agent(), Effect::CallModel, Fault::CrashBefore);
    deployment.wait(DEAD);
}

fn finalized_with_file(deployment: &mut Deployment) {
    let process = deployment.execute(&with_file(first()), BUDGET, Faults::None);
    deployment.finish(&process);
    deployment.wait(Duration::from_secs(5));
}

fn died_with_file(deployment: &mut Deployment) {
    finalized_with_file(deployment);
    crash_at(deployment, &second_with_file(), Effect::CallModel, Fault::CrashBefore);
    deployment.wait(DEAD);
}

fn awaiting(deployment: &mut Deployment) {
    run_to_end(deployment, &mixed_reply());
}

fn awaiting_twice(deployment: &mut Deployment) {
    run_to_end(deployment, &two_rounds());
}

/// Its process has just crashed in the model call.
fn died_just_now(deployment: &mut Deployment) {
    crash_at(deployment, &first(), Effect::CallModel, Fault::CrashBefore);
}

fn died_thinking(deployment: &mut Deployment) {
    died_just_now(deployment);
    deployment.wait(DEAD);
}

/// Its tool ran and the round is recorded, as the first object: the request is inline. The model's next reply was
/// lost with the process.
fn died_in_round(deployment: &mut Deployment) {
    let process = send(deployment, &server_tool(), Faults::Nth(Effect::PutPayload, 1, Fault::CrashBefore));
    assert!(deployment.finish(&process).is_none(), "it crashes");
    deployment.wait(DEAD);
}

/// Its results were accepted, and then its process crashed.
fn died_resuming(deployment: &mut Deployment) {
    awaiting(deployment);
    let results = correct_results(deployment);
    let faults = Faults::EveryOfKind(Effect::CallModel, Fault::CrashBefore);
    let process = deployment.resume(&mixed_reply().caller, &results, BUDGET, faults);
    assert!(deployment.finish(&process).is_none(), "it crashes");
    deployment.wait(DEAD);
}

/// Its outcome object is durable, but no settlement followed.
fn died_settling(deployment: &mut Deployment) {
    crash_at(deployment, &first(), Effect::WriteTurn, Fault::CrashBefore);
    deployment.wait(DEAD);
}

fn died_thrice(deployment: &mut Deployment) {
    for _ in 0..3 {
        died_thinking(deployment);
    }
}

/// One turn of each kind that the sweep handles.
fn overdue_turns(deployment: &mut Deployment) {
    run_to_end(deployment, &ClientRequest::new("ann", "s-awaiting", "t", "wait calls: c"));
    deployment.wait(DAY);
    crash_at(
        deployment,
        &ClientRequest::new("ann", "s-outcome", "t", "settle"),
        Effect::WriteTurn,
        Fault::CrashBefore,
    );
    died_just_now(deployment);
    deployment.wait(Duration::from_secs(200));
    // Its announcement is never sent.
    crash_at(
        deployment,
        &ClientRequest::new("ann", "s-settled", "t", "tell"),
        Effect::Announce,
        Fault::CrashBefore,
    );
    deployment.wait(Duration::from_secs(31));
}

fn run_to_end(deployment: &mut Deployment, sent: &ClientRequest) {
    let process = send(deployment, sent, Faults::None);
    let done = deployment.finish(&process);
    assert!(matches!(done, Some(ProcessOutcome::Executed(Ok(_)))), "{done:?}");
}

/// Executes a turn whose process hits a fault at its first effect of this kind.
fn crash_at(deployment: &mut Deployment, sent: &ClientRequest, effect: Effect, fault: Fault) {
    let process = send(deployment, sent, Faults::EveryOfKind(effect, fault));
    deployment.finish(&process);
}
