//! Deployments: the flows over in-memory ports with faults, one simulated process per invocation.

mod start;

use std::{collections::BTreeMap, time::Duration};

use agent::retrieval::NoSources;
use contracts::{
    UserTurn,
    id::{AgentContextId, ConversationContextId, TurnId},
};
use protocol::Caller;
use protocol::{
    id::{SessionKey, TurnKey},
    payload::{Kind, Payload},
    timing::Timing,
};
use turns::{
    flow::{Executor, SweepSummary},
    ports::{Adapters, AgentAdapters, Unavailable},
    refusal::Refusal,
};

pub use crate::memory::{Delivery, Queue, QueueFaults};
use crate::{
    build,
    faulty::Faulty,
    invariants::{RunRecord, Violation},
    ledger::Ledger,
    memory::{Index, Objects, Table},
    model::{MockModel, Provider, Script},
    planted_bugs::{Bug, Role},
    schedule::{Faults, Latency, Process, ProcessId, RunEvent, Schedule},
    target::{RemoteTarget, Target},
};

/// The outcome of a process.
#[derive(Debug)]
pub enum ProcessOutcome {
    /// A user turn or its tool results: the response body, or the refusal.
    Executed(Result<Vec<u8>, Refusal>),
    Cancelled(Result<(), Refusal>),
    SessionEdited(Result<(), Refusal>),
    Finalized(Delivery, Result<bool, Unavailable>),
    Swept(Result<SweepSummary, Unavailable>),
    PurgeOrdered(Result<(), Refusal>),
    Purged(Result<usize, Unavailable>),
    Imported(Result<(), Refusal>),
}

/// A change that the session's owner or an operator makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEdit {
    Delete,
    Restore,
    /// By an operator.
    Quarantine,
}

/// The settings of a deployment.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub seed: u64,
    pub latency: Latency,
    pub verbose: bool,
    pub timing: Timing,
    pub script: Script,
    pub queue_faults: QueueFaults,
    pub bug: Option<Bug>,
}

impl Settings {
    /// Settings without randomness, for tests that inject faults themselves.
    #[must_use]
    pub fn quiet() -> Self {
        Self {
            seed: 1,
            latency: Latency::Instant,
            verbose: false,
            timing: Timing::default(),
            script: Script::PROMPT,
            queue_faults: QueueFaults::RELIABLE,
            bug: None,
        }
    }
}

/// A client's request.
#[derive(Debug, Clone)]
pub struct ClientRequest {
    pub caller: Caller,
    pub request: UserTurn,
}

impl ClientRequest {
    #[must_use]
    pub fn new(user: &str, session: &str, turn: &str, instruction: &str) -> Self {
        Self { caller: build::caller(user), request: build::request(session, turn, instruction) }
    }

    /// Sets the contexts that the request names.
    #[must_use]
    pub fn with_contexts(mut self, agent: Option<&str>, conversation: Option<&str>) -> Self {
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

type Store = Faulty<Table>;
type Payloads = Faulty<Objects>;
type Base = Adapters<Store, Payloads, Process>;
type SimulatedAdapters = AgentAdapters<Base, Faulty<Queue>, MockModel, NoSources, RemoteTarget>;

/// A simulated deployment.
pub struct Deployment {
    pub settings: Settings,
    pub schedule: Schedule<ProcessOutcome>,
    pub ledger: Ledger,
    pub table: Table,
    pub objects: Objects,
    pub queue: Queue,
    pub provider: Provider,
    pub target: Target,
    pub index: Index,
    processes: u32,
    /// Messages that a finalizer is handling. They are redelivered if it crashes.
    in_flight: BTreeMap<ProcessId, Delivery>,
}

impl Deployment {
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let schedule = Schedule::new(settings.seed, settings.latency, settings.verbose);
        let clock = schedule.clock().clone();
        let ledger = Ledger::new(clock.clone());
        let table = Table::new(ledger.clone());
        for document in build::contexts() {
            table.put_context(&build::org(), document);
        }
        for (document, rollout) in build::rollouts() {
            table.roll_out(&build::org(), document, rollout);
        }
        Self {
            settings,
            table,
            objects: Objects::new(ledger.clone()),
            queue: Queue::new(clock, settings.queue_faults),
            provider: Provider::default(),
            target: Target::default(),
            index: Index::default(),
            schedule,
            ledger,
            processes: 0,
            in_flight: BTreeMap::new(),
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
        Faulty::pair(&self.table, &self.objects, process, bug, role)
    }

    fn base(&self, process: &Process, role: Role) -> Base {
        let (store, payloads) = self.ports(process, role);
        Adapters { store, payloads, host: process.clone(), timing: self.settings.timing }
    }

    fn executor(&self, process: &Process, turn: TurnKey) -> Executor<SimulatedAdapters> {
        Executor::new(self.adapters(process, turn))
    }

    /// Returns the adapters of a process that calls no model.
    fn adapters_without_turn(&self, process: &Process, session: &SessionKey) -> SimulatedAdapters {
        self.adapters(process, session.turn(TurnId::new("none").unwrap()))
    }

    fn adapters(&self, process: &Process, turn: TurnKey) -> SimulatedAdapters {
        let (script, provider) = (self.settings.script, self.provider.clone());
        AgentAdapters {
            base: self.base(process, Role::Executor),
            queue: Faulty::new(self.queue.clone(), process.clone()),
            model: MockModel { script, provider, process: process.clone(), turn: turn.clone() },
            retrieval: NoSources,
            remote_tools: RemoteTarget {
                target: self.target.clone(),
                process: process.clone(),
                turn,
                bug: self.settings.bug,
            },
            config: build::config(),
        }
    }

    fn finalizer(&self, process: &Process) -> (Base, Faulty<Provider>) {
        let provider = Faulty::new(self.provider.clone(), process.clone());
        (self.base(process, Role::Finalizer), provider)
    }

    /// Runs until something happens that concerns the driver. Handles the queue: delivers messages to finalizers with
    /// these faults, and redelivers unacknowledged ones.
    pub fn step(&mut self, until: Duration, finalizers: &Faults) -> Option<RunEvent<ProcessOutcome>> {
        loop {
            let event = self.schedule.next(until)?;
            match &event {
                RunEvent::Alarm(alarm) => {
                    if let Some(delivery) = self.queue.take(*alarm) {
                        self.finalize(delivery, finalizers.clone());
                        continue;
                    }
                }
                RunEvent::Crashed(process) => {
                    if let Some(delivery) = self.in_flight.remove(process) {
                        self.queue.redeliver(delivery);
                    }
                }
                RunEvent::Finished(process, done) => {
                    self.in_flight.remove(process);
                    if let ProcessOutcome::Finalized(delivery, Err(_)) = done {
                        self.queue.redeliver(delivery.clone());
                    }
                }
            }
            return Some(event);
        }
    }

    /// Runs for a while without faults.
    pub fn wait(&mut self, time: Duration) {
        let until = self.schedule.clock().monotonic() + time;
        while self.step(until, &Faults::None).is_some() {}
    }

    /// Runs until a process ends. Returns `None` if it crashed.
    pub fn finish(&mut self, process: &Process) -> Option<ProcessOutcome> {
        loop {
            match self.step(Duration::MAX, &Faults::None)? {
                RunEvent::Finished(id, done) if id == process.id() => return Some(done),
                RunEvent::Crashed(id) if id == process.id() => return None,
                _ => {}
            }
        }
    }

    /// Returns the request that started a turn, as its client would retry it.
    #[must_use]
    pub fn request_detail(&self, turn: &TurnKey) -> Option<ClientRequest> {
        let by = self
            .table
            .contents()
            .heads
            .get(turn)
            .map(|head| (head.requested_by.clone(), head.stored_request()))?;
        let payload = Payload { turn: turn.clone(), kind: Kind::Instruction(by.1) };
        let object = self.objects.stored().get(&Bug::key(self.settings.bug, &payload)).cloned();
        let inline = || self.table.contents().requests.get(turn)?.inline_json.clone().map(String::into_bytes);
        let stored = object.map(Into::into).or_else(inline)?;
        let request = UserTurn::from_canonical(&stored).ok()?;
        Some(ClientRequest { caller: build::caller(by.0.as_str()), request })
    }

    /// Checks the invariants over everything so far.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let entries = self.ledger.entries();
        let (table, objects) = (self.table.contents(), self.objects.stored());

        let record = RunRecord {
            entries: &entries,
            table: &table,
            objects: &objects,
            timing: &self.settings.timing,
            key: &|payload| Bug::key(self.settings.bug, payload),
        };
        record.violations()
    }
}
