//! The rules that can be taken out.
//!
//! Each is followed by the glue of the model, in the place where a flow follows it; the transitions
//! themselves stay as they are.

/// A rule of the turn's life, as the page of the law numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// 1: an attempt's payloads lie under its own id. Out: under the turn.
    PayloadsCarryTheirWriter,
    /// 2: the instruction's key carries the request's fingerprint. Out: the turn alone.
    InstructionCarriesFingerprint,
    /// 3: the fence is a fresh random id. Out: the attempt's number.
    FreshAttemptId,
    /// 4: the session's `Rev` is the condition. Out: its sequence number.
    SessionRev,
    /// 5: salvage fences, then looks. Out: it looks, then fences.
    FenceThenLook,
    /// 6: whoever loses a settle or a suspend answers with what is stored. Out: with its own text.
    LoserAnswersWithWhatStands,
    /// 7: a replay decides on the turn's head. Out: it answers with whatever outcome lies there.
    ReplayDecidesOnHead,
    /// 8: a mode change is staged. Out: the tool writes the session's mode at once.
    ModeIsStaged,
    /// 9: a taking is conditioned on owner and lease end as read. Out: on the phase alone.
    TakeAsRead,
    /// 9: the index nominates, it proves nothing. Out: what it nominates counts as dead.
    IndexProvesNothing,
    /// 10: a start that meets a dead turn salvages it. Out: it waits for the sweep.
    StartSalvages,
    /// 11: supersede happens inside the start transaction. Out: by a write of its own before it.
    SupersedeInStart,
    /// 11: finalize clears the session's open turn only if it names this turn. Out: always.
    ClearOwnOpenTurn,
    /// 12: a delete raises the session's `Rev`. Out: it leaves it.
    DeleteRaisesRev,
    /// 12: a delete ends the open turn in its own transaction. Out: it leaves the turn as it is.
    DeleteEndsOpenTurn,
    /// 12: a purge raises the session's `Rev`. Out: it leaves it.
    PurgeRaisesRev,
    /// 12: a purge ends the open turn in its own transaction. Out: it leaves the turn as it is.
    PurgeEndsOpenTurn,
    /// 12: what is purged is not finalized. Out: it is.
    PurgeEndsFinalizing,
    /// 12: a purge leaves a tombstone. Out: it removes the session too.
    PurgeLeavesTombstone,
    /// 12: a purge looks once more when nobody is at work any longer. Out: it looks once.
    PurgeLooksAgain,
    /// I5: the outcome is durable before the turn is settled by it. Out: it is stored afterwards, never.
    OutcomeBeforeSettle,
    /// I9: a takeover uses the outcome it finds. Out: it calls the model again.
    TakeoverUsesOutcome,
    /// I6: results are taken when they match exactly. Out: whatever comes.
    ResultsMatchExactly,
}
