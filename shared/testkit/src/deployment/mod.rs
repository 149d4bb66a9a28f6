//! The flows over in-memory ports behind faults, one simulated process per invocation.

mod queue;
mod suspend;

use std::{collections::BTreeMap, time::Duration};

use contracts::{Caller, UserTurn, queue::FinalizeMessage};
use turns::{
    flow::{Executor, Finalizer, Refusal, Swept},
    id::{SessionKey, TurnKey},
    ports::Unavailable,
    stream::Live,
    timing::Timing,
};

pub use queue::{Delivery, Queue, Temper};

use crate::{
    build,
    faulty::Faulty,
    invariants::{Evidence, Violation},
    ledger::{Event, Ledger},
    memory::{Objects, Table},
    model::{Calls, Script, ScriptedModel},
    planted::{Bug, Planted, Role},
    schedule::{Faults, Happened, Pace, Process, ProcessId, Schedule},
};

/// What a process came to.
#[derive(Debug)]
pub enum Done {
    /// A user turn: its body, or why there is none.
    Executed(Result<Vec<u8>, Refusal>),
    /// A user turn whose model called client tools: whether it got as far as to suspend.
    Suspended(bool),
    Cancelled(Result<(), Refusal>),
    Finalized(Delivery, Result<bool, Unavailable>),
    Swept(Result<Swept, Unavailable>),
}

/// What a deployment is like.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub seed: u64,
    pub pace: Pace,
    pub verbose: bool,
    pub timing: Timing,
    pub script: Script,
    pub temper: Temper,
    pub bug: Option<Bug>,
}

impl Settings {
    /// Nothing is left to chance: for tests that say themselves what fails.
    #[must_use]
    pub fn quiet() -> Self {
        Self {
            seed: 1,
            pace: Pace::Instant,
            verbose: false,
            timing: Timing::default(),
            script: Script::PROMPT,
            temper: Temper::RELIABLE,
            bug: None,
        }
    }
}

/// A client's request.
#[derive(Debug, Clone)]
pub struct Sent {
    pub caller: Caller,
    pub request: UserTurn,
}

impl Sent {
    #[must_use]
    pub fn new(user: &str, session: &str, turn: &str, instruction: &str) -> Self {
        Self { caller: build::caller(user), request: build::request(session, turn, instruction) }
    }

    #[must_use]
    pub fn turn(&self) -> TurnKey {
        let session = SessionKey { org: self.caller.org.clone(), session: self.request.session_id.clone() };
        session.turn(self.request.turn_id.clone())
    }
}

type Store = Planted<Table>;
type Payloads = Planted<Objects>;
type SimulatedExecutor = Executor<Store, Payloads, Faulty<Queue>, ScriptedModel, Process>;

/// A deployment.
pub struct Deployment {
    pub settings: Settings,
    pub schedule: Schedule<Done>,
    pub ledger: Ledger,
    pub table: Table,
    pub objects: Objects,
    pub queue: Queue,
    pub calls: Calls,
    processes: u32,
    /// Messages that a finalizer is working on: they come again when it crashes.
    handled: BTreeMap<ProcessId, Delivery>,
}

impl Deployment {
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let schedule = Schedule::new(settings.seed, settings.pace, settings.verbose);
        let clock = schedule.clock().clone();
        let ledger = Ledger::new(clock.clone());
        Self {
            settings,
            table: Table::new(ledger.clone()),
            objects: Objects::new(ledger.clone()),
            queue: Queue::new(clock, settings.temper),
            calls: Calls::default(),
            schedule,
            ledger,
            processes: 0,
            handled: BTreeMap::new(),
        }
    }

    fn process(&mut self, name: &str, faults: Faults) -> Process {
        let id = ProcessId(self.processes);
        self.processes += 1;
        let name = format!("{name}-{}", id.0);
        Process::new(id, name, self.schedule.clock().clone(), self.ledger.clone(), faults)
    }

    fn ports(&self, process: &Process, role: Role) -> (Store, Payloads) {
        let bug = self.settings.bug;
        Planted::pair(&self.table, &self.objects, process, bug, role)
    }

    fn executor(&self, process: &Process, turn: TurnKey) -> SimulatedExecutor {
        let (store, payloads) = self.ports(process, Role::Executor);
        let (script, calls) = (self.settings.script, self.calls.clone());
        Executor {
            store,
            payloads,
            announcements: Faulty::new(self.queue.clone(), process.clone()),
            model: ScriptedModel { script, calls, process: process.clone(), turn },
            world: process.clone(),
            timing: self.settings.timing,
            design: build::design(),
        }
    }

    fn finalizer(&self, process: &Process) -> Finalizer<Store, Payloads, Process> {
        let (store, payloads) = self.ports(process, Role::Finalizer);
        Finalizer { store, payloads, world: process.clone(), timing: self.settings.timing }
    }

    /// A function starts to execute a user turn.
    pub fn execute(&mut self, sent: &Sent, budget: Duration, faults: Faults) -> Process {
        let process = self.process("execute", faults);
        let executor = self.executor(&process, sent.turn());
        let (sent, ledger) = (sent.clone(), self.ledger.clone());
        self.schedule.spawn(&process, async move {
            let answer = executor.execute(&sent.caller, &sent.request, budget, &Live::silent()).await;
            Done::Executed(answer.map(|response| {
                let (turn, asked, body) = (sent.turn(), sent.request.fingerprint(), response.to_bytes());
                ledger.note(Event::Answered { turn, asked, body: body.clone() });
                body
            }))
        });
        process
    }

    /// A function starts a user turn whose model calls client tools.
    pub fn suspend(&mut self, sent: &Sent, faults: Faults) -> Process {
        let process = self.process("suspend", faults);
        let (store, payloads) = self.ports(&process, Role::Executor);
        let (sent, world, timing) = (sent.clone(), process.clone(), self.settings.timing);
        self.schedule.spawn(&process, async move {
            Done::Suspended(suspend::start(&store, &payloads, &world, &timing, &sent).await.is_some())
        });
        process
    }

    /// A function starts to cancel a turn.
    pub fn cancel(&mut self, caller: &Caller, turn: &TurnKey, faults: Faults) -> Process {
        let process = self.process("cancel", faults);
        let executor = self.executor(&process, turn.clone());
        let (caller, turn, ledger) = (caller.clone(), turn.clone(), self.ledger.clone());
        self.schedule.spawn(&process, async move {
            let (session, id) = (turn.session.session.clone(), turn.turn.clone());
            let told = executor.cancel(&caller, session, id).await;
            if told.is_ok() {
                ledger.note(Event::CancelTold(turn));
            }
            Done::Cancelled(told)
        });
        process
    }

    /// The finalizer starts to handle a message about a turn.
    pub fn finalize(&mut self, delivery: Delivery, faults: Faults) -> Process {
        let process = self.process("finalize", faults);
        let finalizer = self.finalizer(&process);
        let ledger = self.ledger.clone();
        self.handled.insert(process.id(), delivery.clone());
        self.schedule.spawn(&process, async move {
            let FinalizeMessage::TurnSettled { org, session, turn, .. } = &delivery.message else {
                return Done::Finalized(delivery, Ok(false));
            };
            let key = SessionKey { org: org.clone(), session: session.clone() }.turn(turn.clone());
            let done = finalizer.finalize(&key).await;
            if matches!(done, Ok(true)) {
                ledger.note(Event::FinalizeTold(key));
            }
            Done::Finalized(delivery, done)
        });
        process
    }

    /// The finalizer starts to sweep.
    pub fn sweep(&mut self, faults: Faults) -> Process {
        let process = self.process("sweep", faults);
        let finalizer = self.finalizer(&process);
        self.schedule
            .spawn(&process, async move { Done::Swept(finalizer.sweep(Duration::from_secs(50)).await) });
        process
    }

    /// Runs until something happens that concerns the driver. The queue is looked after: messages are
    /// delivered to finalizers with these faults, and come again when nobody acknowledged them.
    pub fn step(&mut self, until: Duration, finalizers: &Faults) -> Option<Happened<Done>> {
        loop {
            let happened = self.schedule.next(until)?;
            match &happened {
                Happened::Cue(cue) => {
                    if let Some(delivery) = self.queue.take(*cue) {
                        self.finalize(delivery, finalizers.clone());
                        continue;
                    }
                }
                Happened::Crashed(process) => {
                    if let Some(delivery) = self.handled.remove(process) {
                        self.queue.again(delivery);
                    }
                }
                Happened::Finished(process, done) => {
                    self.handled.remove(process);
                    if let Done::Finalized(delivery, Err(_)) = done {
                        self.queue.again(delivery.clone());
                    }
                }
            }
            return Some(happened);
        }
    }

    /// Runs for a while, with nothing that fails.
    pub fn wait(&mut self, time: Duration) {
        let until = self.schedule.clock().monotonic() + time;
        while self.step(until, &Faults::None).is_some() {}
    }

    /// Runs until a process is over; none when it crashed.
    pub fn finish(&mut self, process: &Process) -> Option<Done> {
        loop {
            match self.step(Duration::MAX, &Faults::None)? {
                Happened::Finished(id, done) if id == process.id() => return Some(done),
                Happened::Crashed(id) if id == process.id() => return None,
                _ => {}
            }
        }
    }

    /// What the invariants say about everything that happened so far.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let entries = self.ledger.entries();
        let (table, objects) = (self.table.contents(), self.objects.stored());

        let evidence = Evidence {
            entries: &entries,
            table: &table,
            objects: &objects,
            timing: &self.settings.timing,
            key: &|payload| Bug::key(self.settings.bug, payload),
        };
        evidence.violations()
    }
}
