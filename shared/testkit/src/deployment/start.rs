//! Starts functions. Each invocation is its own process.

use std::time::Duration;

use contracts::ToolContinuation;
use protocol::id::{SessionKey, TurnKey};
use protocol::{Caller, queue_message::FinalizeMessage};
use turns::{
    flow::{Invocation, Purger, cancel_turn},
    ports::{Adapters, ArchivedSession},
    stream::Writer,
};

use super::{ClientRequest, Delivery, Deployment, ProcessOutcome, SessionEdit};
use crate::{
    faulty::Faulty,
    ledger::Event,
    schedule::{Faults, Process},
};

impl Deployment {
    /// Starts to execute a user turn.
    pub fn execute(&mut self, sent: &ClientRequest, budget: Duration, faults: Faults) -> Process {
        let process = self.process("execute", faults);
        let executor = self.executor(&process, sent.turn());
        let (sent, ledger) = (sent.clone(), self.ledger.clone());
        self.schedule.spawn(&process, async move {
            let answer = executor
                .execute(&sent.caller, &sent.request, &Invocation::with_budget(budget), &Writer::silent())
                .await;
            ProcessOutcome::Executed(answer.map(|response| {
                let (turn, request, body) = (sent.turn(), sent.request.fingerprint(), response.to_bytes());
                ledger.record(Event::Answered { turn, request, body: body.clone() });
                body
            }))
        });
        process
    }

    /// Starts to resume a turn with tool results.
    pub fn resume(
        &mut self,
        caller: &Caller,
        results: &ToolContinuation,
        budget: Duration,
        faults: Faults,
    ) -> Process {
        let process = self.process("resume", faults);
        let session = SessionKey { org: caller.org.clone(), session: results.session_id.clone() };
        let turn = session.turn(results.turn_id.clone());
        let executor = self.executor(&process, turn.clone());
        let (caller, sent, ledger) = (caller.clone(), results.clone(), self.ledger.clone());
        self.schedule.spawn(&process, async move {
            let answer =
                executor.resume(&caller, &sent, &Invocation::with_budget(budget), &Writer::silent()).await;
            ProcessOutcome::Executed(answer.map(|response| {
                let (results, body) = (sent.fingerprint(), response.to_bytes());
                ledger.record(Event::Continued { turn, results, body: body.clone() });
                body
            }))
        });
        process
    }

    /// Starts to cancel a turn.
    pub fn cancel(&mut self, caller: &Caller, turn: &TurnKey, faults: Faults) -> Process {
        let process = self.process("cancel", faults);
        let deps = self.adapters(&process, turn.clone());
        let (caller, turn, ledger) = (caller.clone(), turn.clone(), self.ledger.clone());
        self.schedule.spawn(&process, async move {
            let (session, id) = (turn.session.session.clone(), turn.turn.clone());
            let invocation = Invocation::with_budget(Duration::ZERO);
            let result = cancel_turn(&deps, &caller, session, id, &invocation).await;
            if result.is_ok() {
                ledger.record(Event::CancelAcknowledged(turn));
            }
            ProcessOutcome::Cancelled(result.map(|_| ()))
        });
        process
    }

    /// Starts to delete, restore or quarantine a session.
    pub fn edit_session(
        &mut self,
        caller: &Caller,
        session: &SessionKey,
        edit: SessionEdit,
        faults: Faults,
    ) -> Process {
        let process = self.process("upkeep", faults);
        let editor = self.session_editor(&process, session);
        let (caller, session) = (caller.clone(), session.session.clone());
        self.schedule.spawn(&process, async move {
            ProcessOutcome::SessionEdited(match edit {
                SessionEdit::Delete => {
                    editor.delete(&caller, session, &Invocation::with_budget(Duration::ZERO)).await
                }
                SessionEdit::Restore => editor.restore(&caller, session).await,
                SessionEdit::Quarantine => {
                    editor.quarantine(&caller, session, &Invocation::with_budget(Duration::ZERO)).await
                }
            })
        });
        process
    }

    /// Starts the finalizer on a message.
    pub fn finalize(&mut self, delivery: Delivery, faults: Faults) -> Process {
        let process = self.process("finalize", faults);
        let finalizer = self.finalizer(&process);
        let ledger = self.ledger.clone();
        self.in_flight.insert(process.id(), delivery.clone());
        self.schedule.spawn(&process, async move {
            let FinalizeMessage::TurnSettled { org, session, turn, .. } = &delivery.message else {
                return ProcessOutcome::Finalized(delivery, Ok(false));
            };
            let key = SessionKey { org: org.clone(), session: session.clone() }.turn(turn.clone());
            let done = finalizer.finalize(&key).await;
            if matches!(done, Ok(true)) {
                ledger.record(Event::FinalizeAcknowledged(key));
            }
            ProcessOutcome::Finalized(delivery, done)
        });
        process
    }

    /// Starts to order a session's purge.
    pub fn order_purge(&mut self, caller: &Caller, session: &SessionKey, faults: Faults) -> Process {
        let process = self.process("order-purge", faults);
        let editor = self.session_editor(&process, session);
        let (caller, session) = (caller.clone(), session.session.clone());
        self.schedule.spawn(&process, async move {
            ProcessOutcome::PurgeOrdered(editor.request_purge(&caller, session).await)
        });
        process
    }

    /// Starts to import a session.
    pub fn import(&mut self, caller: &Caller, archived: &ArchivedSession, faults: Faults) -> Process {
        let process = self.process("import", faults);
        let importer = self.importer(&process, &archived.session.key);
        let (caller, archived, ledger) = (caller.clone(), archived.clone(), self.ledger.clone());
        self.schedule.spawn(&process, async move {
            let done = importer.restore(&caller, &archived).await;
            if done.is_ok() {
                ledger.record(Event::ImportAcknowledged(archived.session.key.clone()));
            }
            ProcessOutcome::Imported(done)
        });
        process
    }

    /// Starts the sweep for due purges.
    pub fn sweep_purges(&mut self, faults: Faults) -> Process {
        let process = self.process("sweep-purges", faults);
        let adapters = Adapters {
            store: Faulty::new(self.table.clone(), process.clone()),
            payloads: Faulty::new(self.objects.clone(), process.clone()),
            host: process.clone(),
            timing: self.settings.timing,
        };
        let provider = Faulty::new(self.provider.clone(), process.clone());
        let purger = Purger::new(adapters, provider, Faulty::new(self.index.clone(), process.clone()));
        self.schedule.spawn(&process, async move {
            ProcessOutcome::Purged(purger.sweep(Duration::from_secs(50)).await)
        });
        process
    }

    /// Starts the sweep.
    pub fn sweep(&mut self, faults: Faults) -> Process {
        let process = self.process("sweep", faults);
        let finalizer = self.finalizer(&process);
        self.schedule.spawn(&process, async move {
            ProcessOutcome::Swept(finalizer.sweep(Duration::from_secs(50)).await)
        });
        process
    }
}
