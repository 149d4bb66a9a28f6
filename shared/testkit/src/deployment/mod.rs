//! The flows over in-memory ports behind faults, one simulated process per invocation.

mod queue;
mod start;

use std::{collections::BTreeMap, time::Duration};

use agent::retrieval::NoSources;
use contracts::{
    UserTurn,
    id::{AgentContextId, ConversationContextId, OrgId},
};
use protocol::Caller;
use protocol::{
    id::{SessionKey, TurnKey},
    payload::{Kind, Payload},
    timing::Timing,
};
use turns::{
    flow::{Executor, Finalizer, Swept},
    ports::{Adapters, AgentAdapters, Unavailable},
    refusal::Refusal,
};

pub use queue::{Delivery, Queue, Temper};

use crate::{
    build,
    faulty::Faulty,
    invariants::{Evidence, Violation},
    ledger::Ledger,
    memory::{Index, Objects, Table},
    model::{Provider, Script, ScriptedModel},
    planted::{Bug, Planted, Role},
    schedule::{Faults, Happened, Pace, Process, ProcessId, Schedule},
};

/// What a process came to.
#[derive(Debug)]
pub enum Done {
    /// A user turn or its tool results: the body, or why there is none.
    Executed(Result<Vec<u8>, Refusal>),
    Cancelled(Result<(), Refusal>),
    Kept(Result<(), Refusal>),
    Finalized(Delivery, Result<bool, Unavailable>),
    Swept(Result<Swept, Unavailable>),
    Ordered(Result<(), Refusal>),
    Purged(Result<usize, Unavailable>),
}

/// What becomes of a session on its owner's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upkeep {
    Delete,
    Restore,
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

    /// The same, with the contexts that its session is to have.
    #[must_use]
    pub fn naming(mut self, agent: Option<&str>, conversation: Option<&str>) -> Self {
        self.request.agent_context_id = agent.map(|id| AgentContextId::new(id).unwrap());
        self.request.conversation_context_id = conversation.map(|id| ConversationContextId::new(id).unwrap());
        self
    }

    #[must_use]
    pub fn turn(&self) -> TurnKey {
        let session = SessionKey { org: self.caller.org.clone(), session: self.request.session_id.clone() };
        session.turn(self.request.turn_id.clone())
    }
}

type Store = Planted<Table>;
type Payloads = Planted<Objects>;
type Base = Adapters<Store, Payloads, Process>;
type SimulatedExecutor = Executor<AgentAdapters<Base, Faulty<Queue>, ScriptedModel, NoSources>>;

/// A deployment.
pub struct Deployment {
    pub settings: Settings,
    pub schedule: Schedule<Done>,
    pub ledger: Ledger,
    pub table: Table,
    pub objects: Objects,
    pub queue: Queue,
    pub provider: Provider,
    pub index: Index,
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
        let table = Table::new(ledger.clone());
        for document in build::contexts() {
            table.put_context(&OrgId::new(build::ORG).unwrap(), document);
        }
        Self {
            settings,
            table,
            objects: Objects::new(ledger.clone()),
            queue: Queue::new(clock, settings.temper),
            provider: Provider::default(),
            index: Index::default(),
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

    fn base(&self, process: &Process, role: Role) -> Base {
        let (store, payloads) = self.ports(process, role);
        Adapters { store, payloads, host: process.clone(), timing: self.settings.timing }
    }

    fn executor(&self, process: &Process, turn: TurnKey) -> SimulatedExecutor {
        let (script, provider) = (self.settings.script, self.provider.clone());
        Executor::new(AgentAdapters {
            base: self.base(process, Role::Executor),
            queue: Faulty::new(self.queue.clone(), process.clone()),
            model: ScriptedModel { script, provider, process: process.clone(), turn },
            retrieval: NoSources,
            config: build::config(),
        })
    }

    fn finalizer(&self, process: &Process) -> Finalizer<Base> {
        Finalizer::new(self.base(process, Role::Finalizer))
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

    /// The request that a turn was started with, as its client would send it again.
    #[must_use]
    pub fn request_detail(&self, turn: &TurnKey) -> Option<Sent> {
        let by = self
            .table
            .contents()
            .heads
            .get(turn)
            .map(|head| (head.requested_by.clone(), head.stored_request()))?;
        let payload = Payload { turn: turn.clone(), kind: Kind::Instruction(by.1) };
        let stored = self.objects.stored().get(&Bug::key(self.settings.bug, &payload)).cloned()?;
        let request = UserTurn::from_canonical(&stored).ok()?;
        Some(Sent { caller: build::caller(by.0.as_str()), request })
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
