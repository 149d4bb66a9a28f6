//! The target of remote tools. It records every effect, which is what the invariants of effects count.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agent::tool::{
    ToolSuccess,
    remote::{EffectClass, RemoteCall, RemoteOutcome, RemoteTools},
};
use protocol::id::TurnKey;
use serde_json::{Value, json};
use turns::ports::Timer;

use crate::{
    fault::{Effect, Fault},
    ledger::{Event, PerformedCall},
    planted_bugs::Bug,
    schedule::Process,
};

/// The most delay of a request that arrives after its sender has given up.
const MAX_DELAY_MILLIS: u64 = 40_000;

/// The target of a run. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Target(Arc<Mutex<Memory>>);

#[derive(Debug, Default)]
struct Memory {
    /// The results, by the keys of their calls.
    results: BTreeMap<String, Value>,
    /// The time until a request can be written.
    connecting: Duration,
    /// The time from the effect to the response.
    latency: Duration,
}

impl Target {
    /// Sets the time until a request can be written; at first there is none.
    pub fn connect_after(&self, time: Duration) {
        self.memory().connecting = time;
    }

    /// Sets the time from the effect to the response; at first there is none.
    pub fn answer_after(&self, latency: Duration) {
        self.memory().latency = latency;
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs a call and returns its result. A call of class `keyed` is performed once per key.
    fn perform(&self, process: &Process, turn: &TurnKey, call: PerformedCall) -> Value {
        let mut memory = self.memory();
        if let (EffectClass::Keyed, Some(result)) = (call.class, memory.results.get(&call.key)) {
            return result.clone();
        }
        let result = json!({ "order": call.order });
        memory.results.insert(call.key.clone(), result.clone());
        process.ledger().record(Event::Performed { turn: turn.clone(), call });
        result
    }
}

/// The target as one process of one turn calls it.
#[derive(Debug, Clone)]
pub struct RemoteTarget {
    /// The target.
    pub target: Target,
    /// The process.
    pub process: Process,
    /// The turn.
    pub turn: TurnKey,
    /// The planted bug.
    pub bug: Option<Bug>,
}

impl agent::connection::ToolOffers for RemoteTarget {}

impl RemoteTools for RemoteTarget {
    async fn call(&self, call: RemoteCall<'_>, may_send: &(dyn Fn() -> bool + Send + Sync)) -> RemoteOutcome {
        let Self { target, process, turn, bug } = self;
        let connecting = target.memory().connecting;
        if !connecting.is_zero() {
            process.sleep(connecting).await;
        }
        if !may_send() {
            return RemoteOutcome::NotSent("The call was given up.".to_owned());
        }
        // The request may take long, as that of a process which is frozen after it was asked.
        let fault = process.reach(Effect::CallTarget).await;
        if fault == Some(Fault::NotApplied) {
            process.leave(fault).await;
            return RemoteOutcome::NotSent("The target can't be reached.".to_owned());
        }
        let key = match bug {
            Some(Bug::KeyPerAttempt) => format!("{}-{}", call.key, process.id().0),
            _ => call.key.to_owned(),
        };
        let order = call.arguments["order"].as_str().unwrap_or_default().to_owned();
        let sent = PerformedCall { key, class: call.tool.class, order };
        let outcome = match fault {
            Some(Fault::Throttled(_)) => RemoteOutcome::Refused("The target limits the rate.".to_owned()),
            Some(Fault::AppliedLate) => {
                let (target, late, turn) = (target.clone(), process.clone(), turn.clone());
                let millis = process.clock().draw(|chance| chance.u64(1..MAX_DELAY_MILLIS));
                process.clock().apply_later(Duration::from_millis(millis), async move {
                    target.perform(&late, &turn, sent);
                });
                RemoteOutcome::Unknown("The target did not answer in time.".to_owned())
            }
            Some(Fault::ReplyLost | Fault::ReplyLostThenRetried) => {
                target.perform(process, turn, sent);
                RemoteOutcome::Unknown("The connection to the target broke.".to_owned())
            }
            Some(Fault::NotApplied | Fault::CrashBefore | Fault::CrashAfter) | None => {
                RemoteOutcome::Done(ToolSuccess::from(target.perform(process, turn, sent)))
            }
        };
        let latency = target.memory().latency;
        process.sleep(latency).await;
        process.leave(fault).await;
        outcome
    }
}
