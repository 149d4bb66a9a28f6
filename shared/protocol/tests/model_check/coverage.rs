//! Coverage: the events that must happen somewhere in the state space, so that no property holds vacuously.
//!
//! Most events are steps, not states. They are recorded outside of the state, which would otherwise grow many times
//! by remembering them. A `sometimes` property reads the record.

use std::sync::atomic::{AtomicU64, Ordering};

use stateright::Property;

use crate::model::Lifecycle;

/// The events that have happened so far, on any path.
#[derive(Debug, Default)]
pub(crate) struct Coverage(AtomicU64);

impl Coverage {
    pub(crate) fn note(&self, event: Event) {
        // The event is almost always recorded already, and reading shares the cache line between the checker's
        // threads.
        if !self.has(event) {
            self.0.fetch_or(1 << event as u32, Ordering::Relaxed);
        }
    }

    pub(crate) fn has(&self, event: Event) -> bool {
        self.0.load(Ordering::Relaxed) & (1 << event as u32) != 0
    }
}

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $name:literal),+ $(,)?) => {
        /// Something that must be reachable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Event {
            $($(#[$doc])* $event),+
        }

        impl Event {
            /// The event as a property of the checker.
            pub(crate) fn property(self) -> Property<Lifecycle> {
                match self {
                    $(Event::$event => Property::sometimes($name, |model: &Lifecycle, _| {
                        model.coverage.has(Event::$event)
                    })),+
                }
            }
        }
    };
}

events! {
    /// A retry took a turn over and continued its work.
    TakenOver = "an attempt is taken over and the work goes on",
    /// A takeover or a salvage settled from an outcome that a dead attempt had stored.
    Salvaged = "a dead attempt's outcome settles the turn",
    /// Nothing was found, the turn was given up.
    Abandoned = "a turn is abandoned",
    /// Every attempt was used up and a retry could only salvage.
    AttemptsUsedUp = "every attempt is used up",
    /// An attempt lost its settle and answered from the stored head.
    LostSettle = "an attempt loses its settle",
    /// A slow attempt stored its outcome after it was fenced.
    LateOutcome = "an outcome is stored after its writer was fenced",
    /// A start folded a settled turn.
    Folded = "a start folds a settled turn",
    /// A start ended a turn that awaited tool results.
    Superseded = "a start supersedes a turn that awaits tool results",
    /// A start salvaged a turn whose lease was over, without the sweep.
    StartSalvaged = "a start salvages a dead turn",
    /// A start found a running turn.
    Busy = "a start meets a running turn",
    /// The attempt of a turn that was ended told the final figure.
    SpentTold = "the attempt of an ended turn tells what it has spent",
    /// The finalizer was faster.
    ToldTooLate = "an attempt tells what it has spent too late",
    /// The attempt of an ended turn told nothing.
    SpentSealed = "the finalizer seals what an ended turn has spent",
    /// A provider told the usage of a call that was cut off.
    SpentRead = "the finalizer seals what the provider tells",
    /// A start's transaction was refused, and the start decided again.
    StartLost = "a start loses its condition",
    /// A cancel came first.
    CancelWon = "a cancel decides the turn",
    /// A cancel came too late.
    CancelLost = "a cancel comes too late",
    /// A write was applied, its reply was lost, and reading back resolved it.
    LostReplyApplied = "a lost reply is resolved as applied",
    /// A write was applied, its reply was lost, and another process moved on before it was read back.
    LostReplyOvertaken = "a lost reply is read back after somebody else moved on",
    /// A write was not applied, its reply was lost, and the same write was sent again.
    LostReplySentAgain = "a write that was not applied is sent again",
    /// A second delivery found nothing to do.
    DuplicateHarmless = "a second delivery finds nothing to do",
    /// A finalization lost its condition, since another process had done it.
    FinalizedElsewhere = "a finalization finds that somebody else did it",
    /// The sweep finalized a turn whose message was lost.
    SweepFinalized = "the sweep finalizes what nobody announced",
    /// The sweep moved the due time of a turn that lives.
    DueMoved = "the sweep moves the due time of a live turn",
    /// The tool results did not come.
    ToolDeadline = "the tool deadline ends a turn",
    /// The tool results came after their deadline.
    TooLate = "tool results that come too late end the turn",
    /// Tool results were accepted.
    Resumed = "tool results are accepted",
    /// The same tool results came again.
    ResumedAgain = "the same tool results come again",
    /// Results that do not match were refused.
    Mismatch = "results that do not match are refused",
    /// Other results for a round that was answered were refused.
    OtherResults = "other results for an answered round are refused",
    /// A renewal kept the lease.
    Renewed = "a renewal keeps the lease",
    /// A renewal found that another attempt owned the turn.
    RenewalLost = "a renewal finds the lease lost",
    /// The same request was answered from the store.
    Replayed = "the same request is answered from what is stored",
    /// Another request under the same ids was refused.
    Conflict = "another request under the same ids is refused",
    /// A write reached the table after its sender had died.
    LateWrite = "a write arrives after its sender died",
    /// A turn failed because its outcome could not be stored.
    Unstorable = "an outcome can't be stored",
    /// A session's mode changed with a completed turn.
    ModeChanged = "a completed turn changes the mode",
    /// A turn continued from another's response.
    Chained = "a turn continues from the turn before",
    /// A delete ended the session's open turn.
    DeleteEnded = "a delete ends the open turn",
    /// A delete lost its condition, and read again.
    DeleteLost = "a delete finds the session changed",
    /// A deletion was undone by a restore.
    Restored = "a deletion is taken back",
    /// A new turn was refused, since its session was deleted.
    RefusedAsDeleted = "a deleted session refuses a turn",
    /// A quarantine ended the session's open turn.
    QuarantineEnded = "a quarantine ends the open turn",
    /// A quarantined session was released.
    Released = "a quarantine is lifted",
    /// A new turn was refused, since its session was quarantined.
    RefusedAsQuarantined = "a quarantined session refuses a turn",
    /// A turn reran an earlier one.
    Rerun = "a turn is run again",
    /// A purge ended the session's open turn.
    PurgeEnded = "a purge ends the open turn",
    /// A turn of a purged session was counted.
    PurgeCounted = "a turn of a purged session is counted",
    /// A purge finalized the turn that was open at its start.
    PurgeFinalizes = "a purge finalizes the open turn itself",
    /// A purge was done.
    Purged = "a purge is done",
    /// A purge's recheck found data that was stored meanwhile.
    PurgedLate = "a purge that looks again finds something",
    /// A request was refused, since its session was purged.
    RefusedAsPurged = "a purged session refuses a request",
    /// An import published its session.
    Imported = "an import publishes its session",
    /// An import continued under the reservation of an identical one.
    ImportJoined = "an import joins an identical one",
    /// An import found its session published.
    ImportOvertaken = "an import finds that an identical one was faster",
    /// A write of an import came after its session was published.
    ImportLate = "a late write of an import changes nothing",
}
