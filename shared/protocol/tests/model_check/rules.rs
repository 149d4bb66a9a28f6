//! The rules that can be disabled.
//!
//! The model's glue code follows each rule at the point where a flow does. The transitions themselves stay as they
//! are.

/// A rule of a turn's life, numbered as in docs/internals/correctness.md. Each comment ends with the behaviour if the
/// rule is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// 1: an attempt's payloads are stored under its own id. Disabled: under the turn.
    PayloadsCarryTheirWriter,
    /// 2: the instruction's key carries the request's fingerprint. Disabled: only the turn.
    InstructionCarriesFingerprint,
    /// 3: the fence is a fresh random id. Disabled: the attempt's number.
    FreshAttemptId,
    /// 4: the session's `Rev` is the condition. Disabled: its sequence number.
    SessionRev,
    /// 5: salvage fences, then looks for an outcome. Disabled: it looks first.
    FenceThenLook,
    /// 6: the loser of a settle or suspend answers from the stored head. Disabled: with its own text.
    LoserAnswersFromHead,
    /// 7: a replay decides on the turn's head. Disabled: it answers from any stored outcome.
    ReplayDecidesOnHead,
    /// 8: a mode change is staged. Disabled: the tool writes the session's mode at once.
    ModeIsStaged,
    /// 9: a takeover requires owner and lease end as read. Disabled: only the phase.
    TakeAsRead,
    /// 9: the index only nominates. Disabled: a nominated turn counts as dead.
    IndexProvesNothing,
    /// 10: a start that finds a dead turn salvages it. Disabled: it waits for the sweep.
    StartSalvages,
    /// 11: a supersede is part of the start transaction. Disabled: a separate write before it.
    SupersedeInStart,
    /// 11: finalize clears the session's open turn only if it names this turn. Disabled: always.
    ClearOwnOpenTurn,
    /// 12: a delete increments the session's `Rev`. Disabled: it does not.
    DeleteRaisesRev,
    /// 12: a delete ends the open turn in its own transaction. Disabled: it leaves the turn as it is.
    DeleteEndsOpenTurn,
    /// 12: a quarantine increments the session's `Rev`. Disabled: it does not.
    QuarantineRaisesRev,
    /// 12: a quarantine ends the open turn in its own transaction. Disabled: it leaves the turn as it is.
    QuarantineEndsOpenTurn,
    /// 12: a purge increments the session's `Rev`. Disabled: it does not.
    PurgeRaisesRev,
    /// 12: a purge ends the open turn in its own transaction. Disabled: it leaves the turn as it is.
    PurgeEndsOpenTurn,
    /// 12: the finalization of a purged session's turn leaves the tombstone as it is. Disabled: the session shows the turn.
    PurgedStaysTombstone,
    /// 12: a purge waits until its open turn is counted. Disabled: it removes the turn's data at once.
    PurgeCountsOpenTurn,
    /// 12: a purge leaves a tombstone. Disabled: it removes the session, too.
    PurgeLeavesTombstone,
    /// 12: a purge rechecks when no earlier function can be running. Disabled: it removes data only once.
    PurgeLooksAgain,
    /// 13: an import writes only under its reservation. Disabled: whatever is stored.
    ImportIsReserved,
    /// I8: what an ended turn has spent becomes final once. Disabled: a later figure replaces it.
    SpentIsFinalOnce,
    /// I5: the outcome is durable before it settles the turn. Disabled: it is never stored.
    OutcomeBeforeSettle,
    /// I9: a takeover uses the outcome that it finds. Disabled: it calls the model again.
    TakeoverUsesOutcome,
    /// I6: results are accepted only if they match exactly. Disabled: any results.
    ResultsMatchExactly,
}
