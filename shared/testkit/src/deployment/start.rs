//! Starts functions. Each invocation is its own process.

use std::time::Duration;

use contracts::ToolContinuation;
use protocol::id::{SessionKey, TurnKey};
use protocol::{Caller, queue_message::FinalizeMessage};
use turns::{
    flow::{
        External, Invocation, SessionOperation, SessionPolicy, cancel_turn, change_session, finalize_turn,
        restore_session, sweep_purges, sweep_turns,
    },
    ports::{Adapters, ArchivedSession},
    stream::Writer,
};

use super::{ClientRequest, Delivery, Deployment, ProcessOutcome, SessionEdit};
use crate::{
    faulty::Faulty,
    ledger::Event,
    memory::NoTurnQueue,
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
        let deps = self.adapters_without_turn(&process, session);
        let (caller, session) = (caller.clone(), session.session.clone());
        self.schedule.spawn(&process, async move {
            let invocation = Invocation::with_budget(Duration::ZERO);
            let operation = match edit {
                SessionEdit::Delete => SessionOperation::Delete(&invocation),
                SessionEdit::Restore => SessionOperation::Restore,
                SessionEdit::Quarantine => SessionOperation::Quarantine(&invocation),
            };
            let edited = change_session(&deps, SessionPolicy::default(), &caller, &session, &operation).await;
            ProcessOutcome::SessionEdited(edited)
        });
        process
    }

    /// Starts the finalizer on a message.
    pub fn finalize(&mut self, delivery: Delivery, faults: Faults) -> Process {
        let process = self.process("finalize", faults);
        let (deps, provider) = self.finalizer(&process);
        let ledger = self.ledger.clone();
        self.in_flight.insert(process.id(), delivery.clone());
        self.schedule.spawn(&process, async move {
            let FinalizeMessage::TurnSettled { org, session, turn, .. } = &delivery.message else {
                return ProcessOutcome::Finalized(delivery, Ok(false));
            };
            let key = SessionKey { org: org.clone(), session: session.clone() }.turn(turn.clone());
            let done = finalize_turn(&deps, &provider, &key).await.map(|finalized| finalized.is_done());
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
        let deps = self.adapters_without_turn(&process, session);
        let (caller, session) = (caller.clone(), session.session.clone());
        self.schedule.spawn(&process, async move {
            let (policy, purge) = (SessionPolicy::default(), SessionOperation::Purge);
            ProcessOutcome::PurgeOrdered(change_session(&deps, policy, &caller, &session, &purge).await)
        });
        process
    }

    /// Starts to import a session.
    pub fn import(&mut self, caller: &Caller, archived: &ArchivedSession, faults: Faults) -> Process {
        let process = self.process("import", faults);
        let deps = self.adapters_without_turn(&process, &archived.session.key);
        let (caller, archived, ledger) = (caller.clone(), archived.clone(), self.ledger.clone());
        self.schedule.spawn(&process, async move {
            let done = restore_session(&deps, SessionPolicy::default(), &caller, &archived).await;
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
        let external = External {
            providers: Faulty::new(self.provider.clone(), process.clone()),
            index: Faulty::new(self.index.clone(), process.clone()),
        };
        self.schedule.spawn(&process, async move {
            ProcessOutcome::Purged(sweep_purges(&adapters, &external, Duration::from_secs(50)).await)
        });
        process
    }

    /// Starts the sweep.
    pub fn sweep(&mut self, faults: Faults) -> Process {
        let process = self.process("sweep", faults);
        let (deps, provider) = self.finalizer(&process);
        self.schedule.spawn(&process, async move {
            ProcessOutcome::Swept(sweep_turns(&deps, &provider, &NoTurnQueue, Duration::from_secs(50)).await)
        });
        process
    }
}
