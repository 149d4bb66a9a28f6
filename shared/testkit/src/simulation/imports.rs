//! The clients of the imports: each sends the same copy until it is imported.

use std::time::Duration;

use contracts::ErrorCode;
use turns::refusal::Refusal;

use super::{
    drive::Driver,
    plan::{COPY, Client, ToolBehavior},
};
use crate::{build, deployment::ClientRequest, schedule::ProcessId};

/// The interval at which a client looks again for a session that it can copy.
const LOOK_AGAIN: Duration = Duration::from_secs(3);

impl Driver {
    /// Sends an import, once there is a session to copy.
    pub(super) fn import(&mut self, sender: usize) {
        let Some(import) = self.plan.import.clone() else { return };
        if self.imports.copy.is_none() {
            let (from, to) = (build::session_key(&import.session), build::session_key(COPY));
            let objects = &self.deployment.objects;
            self.imports.copy = self.deployment.table.contents().copy_of(&from, &to, objects);
        }
        let faults_stopped = self.deployment.schedule.clock().faults_stopped();
        let Some(copy) = self.imports.copy.clone() else {
            if !faults_stopped {
                self.import_after(LOOK_AGAIN, sender);
            }
            return;
        };
        self.imports.tries[sender] += 1;
        let (faults, budget) = (self.faults(), self.plan.budget);
        let process = self.deployment.import(&build::caller("ann"), &copy, faults);
        self.imports.sender_of.insert(process.id(), sender);
        let (killed, at) = self
            .deployment
            .schedule
            .clock()
            .draw(|chance| (chance.u32(0..100), Duration::from_millis(chance.u64(0..2_000))));
        if killed < self.plan.kill_percent && !faults_stopped {
            self.kill_after(at, process.id());
        }
        self.kill_after(budget, process.id());
    }

    /// Handles the response to an import.
    pub(super) fn imported(&mut self, process: ProcessId, done: &Result<(), Refusal>) {
        let Some(sender) = self.imports.sender_of.remove(&process) else { return };
        let Err(refusal) = done else { return self.go_on() };
        self.imports.false_refusals += u64::from(refusal.error().error_code == ErrorCode::SessionDeleted);
        if let Some(wait) = refusal.retry_after() {
            self.import_again(sender, wait);
        }
    }

    /// Continues the imported session at once.
    fn go_on(&mut self) {
        if !std::mem::replace(&mut self.imports.is_continued, true) {
            let sent = ClientRequest::new("ann", COPY, "after", "Go on");
            self.add(Client { sent, at: Duration::ZERO, tries: 3, tool_behavior: ToolBehavior::PROMPT });
        }
    }

    /// The connection of an import broke.
    pub(super) fn import_lost(&mut self, process: ProcessId) {
        if let Some(sender) = self.imports.sender_of.remove(&process) {
            self.import_again(sender, Duration::from_secs(1));
        }
    }

    fn import_again(&mut self, sender: usize, wait: Duration) {
        let most = self.plan.import.as_ref().map_or(0, |import| import.tries);
        let calm = self.deployment.schedule.clock().faults_stopped();
        if self.patient || !calm && self.imports.tries[sender] < most {
            self.import_after(wait, sender);
        }
    }
}
