//! The driver: starts processes when their time has come, and is the clients' patience.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    conversation::Conversation,
    plan::{Client, Plan, Sends},
};
use crate::{
    deployment::{Deployment, Done},
    fault::Fault,
    schedule::{Cue, Faults, Happened, ProcessId},
};
use turns::refusal::Refusal;

/// Something to do at an instant.
#[derive(Debug, Clone, Copy)]
enum Action {
    /// A client sends its request: the user turn, or the results of its tools.
    Send(usize),
    /// A client sends wrong results.
    SendWrong(usize),
    Cancel(usize),
    Kill(ProcessId),
    Jump(i64),
    /// The timer that triggers the sweep.
    Sweep,
}

/// How often the sweep is triggered.
pub(super) const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// How often a client sends until something is wrong with what it is told.
const MOST_TRIES: u32 = 1_000;

pub(super) struct Driver {
    pub(super) deployment: Deployment,
    pub(super) plan: Plan,
    actions: BTreeMap<Cue, Action>,
    /// Whose request a process works on.
    serves: BTreeMap<ProcessId, usize>,
    tries: Vec<u32>,
    pub(super) conversations: Vec<Conversation>,
    pub(super) answered: BTreeSet<usize>,
    /// Clients who are told to send again without end.
    pub(super) endless: BTreeSet<usize>,
    pub(super) kills: u64,
    pub(super) refused: u64,
    pub(super) mismatches: u64,
    pub(super) other_contexts: u64,
    pub(super) crashes: u64,
    /// What recovery sends again until it is answered.
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
            serves: BTreeMap::new(),
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

    /// The time in which things go wrong.
    pub(super) fn storm(&mut self) {
        for client in 0..self.plan.clients.len() {
            self.after(self.plan.clients[client].at, Action::Send(client));
        }
        for (client, at) in self.plan.cancels.clone() {
            self.after(self.plan.clients[client].at + at, Action::Cancel(client));
        }
        for (at, millis) in self.plan.jumps.clone() {
            self.after(at, Action::Jump(millis));
        }
        self.after(SWEEP_EVERY, Action::Sweep);
        self.run_until(self.plan.faults_stop);
    }

    fn after(&mut self, time: Duration, action: Action) {
        let cue = self.deployment.schedule.clock().cue(time);
        self.actions.insert(cue, action);
    }

    pub(super) fn run_until(&mut self, until: Duration) {
        let faults = self.faults();
        while let Some(happened) = self.deployment.step(until, &faults) {
            match happened {
                Happened::Cue(cue) => {
                    if let Some(action) = self.actions.remove(&cue) {
                        self.act(action);
                    }
                }
                Happened::Finished(process, done) => self.finished(process, &done),
                Happened::Crashed(process) => {
                    self.crashes += 1;
                    self.lost(process);
                }
            }
        }
    }

    fn faults(&self) -> Faults {
        Faults::Drawn(self.plan.rates)
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
            Action::Kill(process) => {
                if self.deployment.schedule.kill(process) {
                    self.kills += 1;
                    self.lost(process);
                }
            }
            // Faults have stopped: this one came too late.
            Action::Jump(_) if self.deployment.schedule.clock().is_calm() => {}
            Action::Jump(millis) => self.deployment.schedule.clock().jump(millis),
            Action::Sweep => {
                let faults = self.faults();
                self.deployment.sweep(faults);
                self.after(SWEEP_EVERY, Action::Sweep);
            }
        }
    }

    /// Sends a client's request once more.
    pub(super) fn send(&mut self, client: usize) {
        self.tries[client] += 1;
        if self.tries[client] > MOST_TRIES {
            self.endless.insert(client);
            return;
        }
        let (faults, budget) = (self.faults(), self.plan.budget);
        let sent = self.plan.clients[client].sent.clone();
        let process = match self.conversations[client].results.clone() {
            Some(results) => self.deployment.resume(&sent.caller, &results, budget, faults),
            None => self.deployment.execute(&sent, budget, faults),
        };
        self.serves.insert(process.id(), client);
        let (killed, at) = self
            .deployment
            .schedule
            .clock()
            .draw(|chance| (chance.u32(0..100), Duration::from_millis(chance.u64(0..40_000))));
        if killed < self.plan.killed && !self.deployment.schedule.clock().is_calm() {
            self.after(at, Action::Kill(process.id()));
        }
        // No function outlasts its time.
        self.after(budget, Action::Kill(process.id()));
    }

    /// Nobody waits for the answer: the invariants judge it.
    fn send_wrong(&mut self, client: usize) {
        let Sends::WrongFirst(mutation, at) = self.plan.clients[client].manner.sends else { return };
        let Some(wrong) = self.conversations[client].wrong(mutation, at) else { return };
        let caller = self.plan.clients[client].sent.caller.clone();
        let process = self.deployment.resume(&caller, &wrong, self.plan.budget, self.faults());
        self.after(self.plan.budget, Action::Kill(process.id()));
    }

    fn finished(&mut self, process: ProcessId, done: &Done) {
        let mismatch = matches!(done, Done::Executed(Err(Refusal::ToolResultsMismatch(_))));
        self.mismatches += u64::from(mismatch);
        let others = matches!(done, Done::Executed(Err(Refusal::OtherContexts)));
        self.other_contexts += u64::from(others);
        let Some(client) = self.serves.remove(&process) else { return };
        match done {
            Done::Executed(Ok(body)) => self.observer(client, body),
            Done::Executed(Err(refusal)) => {
                self.refused += 1;
                match refusal.retry_after() {
                    Some(wait) => self.again(client, wait),
                    // Another's results were faster, so it asks what became of the turn.
                    None if self.conversations[client].results.take().is_some() => {
                        self.again(client, Duration::ZERO);
                    }
                    None => {}
                }
            }
            _ => {}
        }
    }

    /// A client has an answer: it is done, or runs its tools.
    fn observer(&mut self, client: usize, body: &[u8]) {
        let manner = self.plan.clients[client].manner;
        let is_calm = self.deployment.schedule.clock().is_calm();
        let goes_on = self.patient || !is_calm;
        if !self.conversations[client].hears(body, manner.says) || manner.sends == Sends::Nothing {
            self.answered.insert(client);
            return;
        }
        let takes = if is_calm { Duration::ZERO } else { manner.takes };
        match manner.sends {
            _ if !goes_on => {}
            Sends::WrongFirst(..) => {
                self.after(takes, Action::SendWrong(client));
                self.after(takes + Duration::from_secs(1), Action::Send(client));
            }
            Sends::Twice => {
                self.after(takes, Action::Send(client));
                self.after(takes, Action::Send(client));
            }
            Sends::Once => self.after(takes, Action::Send(client)),
            Sends::Nothing => {}
        }
    }

    /// The connection broke.
    fn lost(&mut self, process: ProcessId) {
        if let Some(client) = self.serves.remove(&process) {
            self.again(client, Duration::from_secs(1));
        }
    }

    fn again(&mut self, client: usize, wait: Duration) {
        let calm = self.deployment.schedule.clock().is_calm();
        if self.patient || !calm && self.tries[client] < self.plan.clients[client].tries {
            let jitter = self.deployment.schedule.clock().draw(|chance| chance.u64(0..500));
            self.after(wait + Duration::from_millis(jitter), Action::Send(client));
        }
    }

    /// One more client, who sends at once.
    pub(super) fn add(&mut self, client: Client) {
        self.plan.clients.push(client);
        self.tries.push(0);
        self.conversations.push(Conversation::default());
        self.send(self.tries.len() - 1);
    }

    /// Nothing that was to come from outside comes any more.
    pub(super) fn forget_timers(&mut self) {
        self.actions.clear();
    }

    /// Kills every function process that works for a client, and the clients' patience with it.
    pub(super) fn cut_power(&mut self) {
        self.actions.retain(|_, action| {
            !matches!(action, Action::Send(_) | Action::SendWrong(_) | Action::Cancel(_))
        });
        for process in std::mem::take(&mut self.serves).into_keys() {
            self.kills += u64::from(self.deployment.schedule.kill(process));
        }
    }

    /// How often faults of a kind struck.
    pub(super) fn struck(&self, kind: fn(&Fault) -> bool) -> u64 {
        self.deployment.schedule.clock().struck(kind)
    }
}
