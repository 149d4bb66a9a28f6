//! Functions start: each invocation is a process of its own.

use std::time::Duration;

use contracts::{ToolContinuation, id::TurnId};
use protocol::id::{SessionKey, TurnKey};
use protocol::{Caller, announcement::FinalizeMessage};
use turns::{
    flow::{Invocation, Purger},
    ports::Adapters,
    stream::Writer,
};

use super::{Delivery, Deployment, Done, Sent, Upkeep};
use crate::{
    faulty::Faulty,
    ledger::Event,
    schedule::{Faults, Process},
};

impl Deployment {
    /// A function starts to execute a user turn.
    pub fn execute(&mut self, sent: &Sent, budget: Duration, faults: Faults) -> Process {
        let process = self.process("execute", faults);
        let executor = self.executor(&process, sent.turn());
        let (sent, ledger) = (sent.clone(), self.ledger.clone());
        self.schedule.spawn(&process, async move {
            let answer = executor
                .execute(&sent.caller, &sent.request, &Invocation::lasting(budget), &Writer::silent())
                .await;
            Done::Executed(answer.map(|response| {
                let (turn, request, body) = (sent.turn(), sent.request.fingerprint(), response.to_bytes());
                ledger.note(Event::Answered { turn, request, body: body.clone() });
                body
            }))
        });
        process
    }

    /// A function starts to go on with a turn from the results of its client's tools.
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
                executor.resume(&caller, &sent, &Invocation::lasting(budget), &Writer::silent()).await;
            Done::Executed(answer.map(|response| {
                let (results, body) = (sent.fingerprint(), response.to_bytes());
                ledger.note(Event::Continued { turn, results, body: body.clone() });
                body
            }))
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
            let told = executor.cancel(&caller, session, id, &Invocation::lasting(Duration::ZERO)).await;
            if told.is_ok() {
                ledger.note(Event::CancelTold(turn));
            }
            Done::Cancelled(told.map(|_| ()))
        });
        process
    }

    /// A function starts to delete a session, or to take that back.
    pub fn keep(&mut self, caller: &Caller, session: &SessionKey, upkeep: Upkeep, faults: Faults) -> Process {
        let process = self.process("upkeep", faults);
        // No model is asked.
        let executor = self.executor(&process, session.turn(TurnId::new("none").unwrap()));
        let (caller, session) = (caller.clone(), session.session.clone());
        self.schedule.spawn(&process, async move {
            Done::Kept(match upkeep {
                Upkeep::Delete => {
                    executor.delete(&caller, session, &Invocation::lasting(Duration::ZERO)).await
                }
                Upkeep::Restore => executor.restore(&caller, session).await,
            })
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

    /// A function starts to begin the purge of a session.
    pub fn order_purge(&mut self, caller: &Caller, session: &SessionKey, faults: Faults) -> Process {
        let process = self.process("order-purge", faults);
        let nowhere = session.turn(TurnId::new("none").unwrap());
        let executor = self.executor(&process, nowhere);
        let (caller, session) = (caller.clone(), session.session.clone());
        self.schedule
            .spawn(&process, async move { Done::Ordered(executor.order_purge(&caller, session).await) });
        process
    }

    /// The finalizer starts to look for purges that are due.
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
        self.schedule
            .spawn(&process, async move { Done::Purged(purger.sweep(Duration::from_secs(50)).await) });
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
}
