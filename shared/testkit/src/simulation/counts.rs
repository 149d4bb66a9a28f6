//! Counts of a run's events. They show that the simulation does exercise faults.

use std::ops::AddAssign;

use protocol::turn::{EndReason, State, Turn, Verdict};

use super::drive::Driver;
use crate::{fault::Fault, ledger::Event, model::is_clients};

macro_rules! counts {
    ($($name:ident),* $(,)?) => {
        /// The counts of a run.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counts {
            $(pub $name: u64,)*
        }

        impl AddAssign for Counts {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }

        impl Counts {
            /// Returns each count with its name.
            #[must_use]
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name)),*]
            }
        }
    };
}

counts! {
    turns, model_calls, answers, refusals, crashes, kills, not_applied, lost_replies, late_landings,
    throttled, clock_jumps, renewals, takeovers, fenced_to_salvage, settled_from_an_earlier_outcome,
    suspended, superseded, cancelled, abandoned, past_tool_deadline, storage_unavailable, completed,
    failed, folded, moved_due, resumed, continued, mismatches,
    answered_calls, mixed_replies,
    sessions_of_an_agent, sessions_with_a_context, replayed_histories, is_compaction, unstored_replies, other_contexts,
    fell_back, imported,
    intents, effects, unknown_effects,
}

pub(super) fn count(driver: &Driver) -> Counts {
    let mut counts = Counts {
        crashes: driver.crashes,
        kills: driver.kills,
        refusals: driver.refused,
        mismatches: driver.mismatches,
        other_contexts: driver.other_contexts,
        not_applied: driver.fault_count(|fault| *fault == Fault::NotApplied),
        lost_replies: driver
            .fault_count(|fault| matches!(fault, Fault::ReplyLost | Fault::ReplyLostThenRetried)),
        late_landings: driver.fault_count(|fault| *fault == Fault::AppliedLate),
        throttled: driver.fault_count(|fault| matches!(fault, Fault::Throttled(_))),
        clock_jumps: driver.plan.jumps.len() as u64,
        ..Counts::default()
    };
    let entries = driver.deployment.ledger.entries();
    let mut born_just_now = false;
    for entry in entries.iter() {
        match &entry.event {
            Event::Head { before: None, .. } => counts.turns += 1,
            Event::Head { before: Some(before), after } => {
                step(before, after, &mut counts);
                let finalized = matches!(after.state, State::Finalized(_));
                counts.folded += u64::from(born_just_now && finalized);
            }
            Event::ModelCalled { sent, .. } => {
                counts.model_calls += 1;
                counts.replayed_histories += u64::from(!sent.earlier_turns.is_empty());
                counts.is_compaction += u64::from(sent.is_compaction);
                counts.unstored_replies += u64::from(!sent.store);
            }
            Event::Session { before: None, after } => {
                counts.sessions_of_an_agent += u64::from(after.contexts.agent.is_some());
                counts.sessions_with_a_context += u64::from(after.contexts.conversation.is_some());
            }
            Event::Session { before: Some(before), after } => {
                counts.imported += u64::from(before.is_purged() && !after.is_purged());
            }
            Event::Result(ended) => counts.fell_back += u64::from(!ended.report.fallbacks.is_empty()),
            Event::Intended(_) => counts.intents += 1,
            Event::Performed { call, .. } => counts.effects += u64::from(call.class.has_intent()),
            Event::Unknown(_) => counts.unknown_effects += 1,
            Event::Answered { .. } => counts.answers += 1,
            Event::Continued { .. } => counts.continued += 1,
            Event::Chained { calls, .. } => {
                counts.answered_calls += calls.len() as u64;
                let clients = calls.iter().filter(|call| is_clients(call)).count();
                counts.mixed_replies += u64::from(clients > 0 && clients < calls.len());
            }
            _ => {}
        }
        born_just_now = matches!(&entry.event, Event::Head { before: None, .. });
    }
    counts
}

fn step(before: &Turn, after: &Turn, counts: &mut Counts) {
    match (&before.state, &after.state) {
        (State::Running { lease_ends: was, stage: old }, State::Running { lease_ends: is, stage: new }) => {
            if before.attempt == after.attempt {
                counts.renewals += u64::from(is > was);
                counts.moved_due += u64::from(is == was);
            } else if new.attempts.len() > old.attempts.len() {
                counts.takeovers += 1;
            } else {
                counts.fenced_to_salvage += 1;
            }
        }
        (State::Running { .. }, State::AwaitingTools { .. }) => counts.suspended += 1,
        (State::AwaitingTools { .. }, State::Running { .. }) => counts.resumed += 1,
        _ => {}
    }
    if before.settlement().is_none()
        && let Some(settlement) = after.settlement()
    {
        let by = settlement.verdict.writer();
        counts.settled_from_an_earlier_outcome += u64::from(by.is_some_and(|by| *by != before.attempt));
        *match &settlement.verdict {
            Verdict::Completed { .. } => &mut counts.completed,
            Verdict::Failed { .. } => &mut counts.failed,
            Verdict::Ended(EndReason::Cancelled) => &mut counts.cancelled,
            Verdict::Ended(EndReason::Abandoned) => &mut counts.abandoned,
            Verdict::Ended(EndReason::Superseded) => &mut counts.superseded,
            Verdict::Ended(EndReason::ToolDeadline) => &mut counts.past_tool_deadline,
            Verdict::Ended(EndReason::StorageUnavailable) => &mut counts.storage_unavailable,
        } += 1;
    }
}
