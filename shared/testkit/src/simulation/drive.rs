//! The driver: starts processes at their time and retries for clients.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    conversation::Conversation,
    import_state::Imports,
    plan::{Client, Plan, ResultPolicy},
};
use crate::{
    deployment::{Deployment, ProcessOutcome},
    fault::Fault,
    schedule::{Alarm, Faults, ProcessId, RunEvent},
};
use contracts::ErrorCode;

/// A scheduled action.
#[derive(Debug, Clone, Copy)]
enum Action {
    /// A client sends its request: the user turn, or its tool results.
    Send(usize),
    /// A client sends wrong results.
    SendWrong(usize),
    Cancel(usize),
    Kill(ProcessId),
    Jump(i64),
    /// A client sends one of the identical imports.
    Import(usize),
    /// The timer triggers the sweep.
    Sweep,
}

/// The interval between sweeps.
pub(super) const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// The most tries of a client before its retries count as endless.
const MAX_TRIES: u32 = 1_000;

pub(super) struct Driver {
    pub(super) deployment: Deployment,
    pub(super) plan: Plan,
    actions: BTreeMap<Alarm, Action>,
    /// The client whose request a process works on.
    client_of: BTreeMap<ProcessId, usize>,
    tries: Vec<u32>,
    pub(super) imports: Imports,
    pub(super) conversations: Vec<Conversation>,
    pub(super) answered: BTreeSet<usize>,
    /// Clients that are told to retry endlessly.
    pub(super) endless: BTreeSet<usize>,
    pub(super) kills: u64,
    pub(super) refused: u64,
    pub(super) mismatches: u64,
    pub(super) other_contexts: u64,
    pub(super) crashes: u64,
    /// Set if clients retry until they get an answer.
    pub(super) patient: bool,
}

impl Driver {
    pub(super) fn new(deployment: Deployment, plan: Plan) -> Self {
        Self {
            tries: vec![0; plan.clients.len()],
            conversations: vec![Conversation::default(); plan.clients.len()],
            deployment,
            plan,
            actions: BTreeMap::new(),
            imports: Imports::default(),
            client_of: BTreeMap::new(),
            answered: BTreeSet::new(),
            endless: BTreeSet::new(),
            kills: 0,
            refused: 0,
            mismatches: 0,
            other_contexts: 0,
            crashes: 0,
            patient: false,
        }
    }

    /// Runs the period with faults.
    pub(super) fn run_with_faults(&mut self) {
        for client in 0..self.plan.clients.len() {
            self.after(self.plan.clients[client].at, Action::Send(client));
        }
        for (client, at) in self.plan.cancels.clone() {
            self.after(self.plan.clients[client].at + at, Action::Cancel(client));
        }
        for (at, millis) in self.plan.jumps.clone() {
            self.after(at, Action::Jump(millis));
        }
        if let Some(import) = self.plan.import.clone() {
            self.after(import.at, Action::Import(0));
            self.after(import.at + import.apart, Action::Import(1));
        }
        self.after(SWEEP_INTERVAL, Action::Sweep);
        self.run_until(self.plan.faults_stop);
    }

    pub(super) fn import_after(&mut self, time: Duration, number: usize) {
        self.after(time, Action::Import(number));
    }

    pub(super) fn kill_after(&mut self, time: Duration, process: ProcessId) {
        self.after(time, Action::Kill(process));
    }

    fn after(&mut self, time: Duration, action: Action) {
        let alarm = self.deployment.schedule.clock().alarm(time);
        self.actions.insert(alarm, action);
    }

    pub(super) fn run_until(&mut self, until: Duration) {
        let faults = self.faults();
        while let Some(event) = self.deployment.step(until, &faults) {
            match event {
                RunEvent::Alarm(alarm) => {
                    if let Some(action) = self.actions.remove(&alarm) {
                        self.act(action);
                    }
                }
                RunEvent::Finished(process, done) => self.finished(process, &done),
                RunEvent::Crashed(process) => {
                    self.crashes += 1;
                    self.lost(process);
                }
            }
        }
    }

    pub(super) fn faults(&self) -> Faults {
        Faults::Random(self.plan.rates)
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Send(client) => self.send(client),
            Action::SendWrong(client) => self.send_wrong(client),
            Action::Cancel(client) => {
                let sent = self.plan.clients[client].sent.clone();
                let faults = self.faults();
                self.deployment.cancel(&sent.caller, &sent.turn(), faults);
            }
            Action::Import(number) => self.import(number),
            Action::Kill(process) => {
                if self.deployment.schedule.kill(process) {
                    self.kills += 1;
                    self.lost(process);
                }
            }
            // Faults have stopped, so this one is too late.
            Action::Jump(_) if self.deployment.schedule.clock().faults_stopped() => {}
            Action::Jump(millis) => self.deployment.schedule.clock().jump(millis),
            Action::Sweep => {
                let faults = self.faults();
                self.deployment.sweep(faults);
                self.after(SWEEP_INTERVAL, Action::Sweep);
            }
        }
    }

    /// Sends a client's request once more.
    pub(super) fn send(&mut self, client: usize) {
        self.tries[client] += 1;
        if self.tries[client] > MAX_TRIES {
            self.endless.insert(client);
            return;
        }
        let (faults, budget) = (self.faults(), self.plan.budget);
        let sent = self.plan.clients[client].sent.clone();
        let process = match self.conversations[client].results.clone() {
            Some(results) => self.deployment.resume(&sent.caller, &results, budget, faults),
            None => self.deployment.execute(&sent, budget, faults),
        };
        self.client_of.insert(process.id(), client);
        let (killed, at) = self
            .deployment
            .schedule
            .clock()
            .draw(|chance| (chance.u32(0..100), Duration::from_millis(chance.u64(0..40_000))));
        if killed < self.plan.kill_percent && !self.deployment.schedule.clock().faults_stopped() {
            self.after(at, Action::Kill(process.id()));
        }
        // No function outlives its time limit.
        self.after(budget, Action::Kill(process.id()));
    }

    /// Nobody waits for the response. The invariants judge it.
    fn send_wrong(&mut self, client: usize) {
        let ResultPolicy::WrongFirst(mutation, at) = self.plan.clients[client].tool_behavior.policy else {
            return;
        };
        let Some(wrong) = self.conversations[client].wrong_results(mutation, at) else { return };
        let caller = self.plan.clients[client].sent.caller.clone();
        let process = self.deployment.resume(&caller, &wrong, self.plan.budget, self.faults());
        self.after(self.plan.budget, Action::Kill(process.id()));
    }

    fn finished(&mut self, process: ProcessId, done: &ProcessOutcome) {
        let mismatch = matches!(done, ProcessOutcome::Executed(Err(refusal)) if refusal.error().error_code == ErrorCode::ToolResultsMismatch);
        self.mismatches += u64::from(mismatch);
        let others = matches!(done, ProcessOutcome::Executed(Err(refusal)) if refusal.error().error_code == ErrorCode::SessionContextMismatch);
        self.other_contexts += u64::from(others);
        if let ProcessOutcome::Imported(done) = done {
            self.imported(process, done);
        }
        let Some(client) = self.client_of.remove(&process) else { return };
        match done {
            ProcessOutcome::Executed(Ok(body)) => self.deliver_response(client, body),
            ProcessOutcome::Executed(Err(refusal)) => {
                self.refused += 1;
                match refusal.retry_after() {
                    Some(wait) => self.retry(client, wait),
                    // Another client's results were faster, so ask for the turn's outcome.
                    None if self.conversations[client].results.take().is_some() => {
                        self.retry(client, Duration::ZERO);
                    }
                    None => {}
                }
            }
            _ => {}
        }
    }

    /// A client got a response: it is done, or runs its tools.
    fn deliver_response(&mut self, client: usize, body: &[u8]) {
        let tool_behavior = self.plan.clients[client].tool_behavior;
        let faults_stopped = self.deployment.schedule.clock().faults_stopped();
        let goes_on = self.patient || !faults_stopped;
        if !self.conversations[client].receive(body, tool_behavior.says)
            || tool_behavior.policy == ResultPolicy::Nothing
        {
            self.answered.insert(client);
            return;
        }
        let takes = if faults_stopped { Duration::ZERO } else { tool_behavior.takes };
        match tool_behavior.policy {
            _ if !goes_on => {}
            ResultPolicy::WrongFirst(..) => {
                self.after(takes, Action::SendWrong(client));
                self.after(takes + Duration::from_secs(1), Action::Send(client));
            }
            ResultPolicy::Twice => {
                self.after(takes, Action::Send(client));
                self.after(takes, Action::Send(client));
            }
            ResultPolicy::Once => self.after(takes, Action::Send(client)),
            ResultPolicy::Nothing => {}
        }
    }

    /// The connection broke.
    fn lost(&mut self, process: ProcessId) {
        if let Some(client) = self.client_of.remove(&process) {
            self.retry(client, Duration::from_secs(1));
        }
        self.import_lost(process);
    }

    fn retry(&mut self, client: usize, wait: Duration) {
        let calm = self.deployment.schedule.clock().faults_stopped();
        if self.patient || !calm && self.tries[client] < self.plan.clients[client].tries {
            let jitter = self.deployment.schedule.clock().draw(|chance| chance.u64(0..500));
            self.after(wait + Duration::from_millis(jitter), Action::Send(client));
        }
    }

    /// Adds a client that sends at once.
    pub(super) fn add(&mut self, client: Client) {
        self.plan.clients.push(client);
        self.tries.push(0);
        self.conversations.push(Conversation::default());
        self.send(self.tries.len() - 1);
    }

    /// Drops all scheduled actions.
    pub(super) fn forget_timers(&mut self) {
        self.actions.clear();
    }

    /// Kills every process that works for a client, and stops the clients' retries.
    pub(super) fn cut_power(&mut self) {
        self.actions.retain(|_, action| {
            !matches!(action, Action::Send(_) | Action::SendWrong(_) | Action::Cancel(_) | Action::Import(_))
        });
        for process in std::mem::take(&mut self.client_of).into_keys() {
            self.kills += u64::from(self.deployment.schedule.kill(process));
        }
        for process in self.imports.take_processes() {
            self.kills += u64::from(self.deployment.schedule.kill(process));
        }
    }

    /// Returns the number of faults of a kind so far.
    pub(super) fn fault_count(&self, kind: fn(&Fault) -> bool) -> u64 {
        self.deployment.schedule.clock().fault_count(kind)
    }
}
