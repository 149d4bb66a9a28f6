//! Configurations that are checked exhaustively and pass.

use crate::{
    check::check_exhaustively,
    config::{Config, Role, SessionEdit, usual_or_full},
    coverage::Event::*,
    state::OutcomeKind,
};

const ONE: (u8, u8) = (0, 0);
const TWO: (u8, u8) = (1, 0);
const THREE: (u8, u8) = (2, 0);

/// The first turn calls client tools once, then answers; every other turn answers.
fn tools_first(turn: u8, round: u32) -> &'static [OutcomeKind] {
    if (turn, round) == (0, 0) { &[OutcomeKind::Calls] } else { &[OutcomeKind::Answer] }
}

/// The first turn may do anything, once; then it answers or fails.
fn anything(turn: u8, round: u32) -> &'static [OutcomeKind] {
    match (turn, round) {
        (0, 0) => &[OutcomeKind::Answer, OutcomeKind::Failure, OutcomeKind::Calls],
        (0, _) => &[OutcomeKind::Answer, OutcomeKind::Failure],
        _ => &[OutcomeKind::Answer],
    }
}

#[test]
fn request_is_sent_three_times_through_two_crashes() {
    check_exhaustively(Config {
        crashes: vec![0, 1],
        ticks: 3,
        expected_events: vec![TakenOver, Salvaged, LateOutcome, LostSettle, Replayed, Abandoned],
        ..Config::new(
            "retries",
            vec![Role::client(&[ONE, ONE]), Role::client(&[ONE]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn attempts_are_used_up() {
    check_exhaustively(Config {
        crashes: vec![0, 1],
        ticks: 4,
        expected_events: vec![AttemptsUsedUp, Salvaged, Abandoned],
        ..Config::new("attempts used up", vec![Role::client(&[ONE, ONE, ONE]), Role::client(&[ONE, ONE])])
    });
}

#[test]
fn replies_are_lost() {
    check_exhaustively(Config {
        crashes: vec![0, 1],
        ticks: 2,
        lost_replies: 2,
        expected_events: vec![LostReplyApplied, LostReplyOvertaken, LostReplySentAgain, TakenOver, Salvaged],
        ..Config::new(
            "lost replies",
            vec![Role::client(&[ONE]), Role::client(&[ONE]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn leases_are_renewed_and_lost_under_live_holders() {
    check_exhaustively(Config {
        ticks: 2,
        renewals: 2,
        lost_replies: 1,
        expected_events: vec![Renewed, RenewalLost, TakenOver, DueMoved, LateOutcome],
        ..Config::new("renewals", vec![Role::client(&[ONE]), Role::client(&[ONE]), Role::Sweep])
    });
}

#[test]
fn writes_arrive_after_sender_died() {
    check_exhaustively(Config {
        crashes: usual_or_full(vec![0], vec![0, 1]),
        ticks: 2,
        late_writes: true,
        renewals: 1,
        expected_events: vec![LateWrite, TakenOver, Salvaged],
        ..Config::new("late writes", vec![Role::client(&[ONE, TWO]), Role::client(&[ONE]), Role::Sweep])
    });
}

#[test]
fn turn_is_cancelled_at_any_time() {
    check_exhaustively(Config {
        model_replies: anything,
        crashes: vec![0],
        ticks: 2,
        lost_replies: 1,
        expected_events: vec![
            CancelWon,
            CancelLost,
            LostSettle,
            LostReplyApplied,
            SpentTold,
            ToldTooLate,
            SpentSealed,
        ],
        ..Config::new(
            "cancel",
            vec![Role::client(&[ONE, ONE]), Role::Canceller { turn: 0 }, Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn provider_tells_usage_of_a_cancelled_turn_later() {
    check_exhaustively(Config {
        crashes: vec![0],
        pending_usage: true,
        lost_replies: 1,
        duplicates: 1,
        expected_events: vec![CancelWon, SpentTold, SpentSealed, SpentRead, Folded],
        ..Config::new(
            "pending usage",
            vec![Role::client(&[ONE, TWO]), Role::Canceller { turn: 0 }, Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn session_is_deleted_and_restored_at_any_time() {
    check_exhaustively(Config {
        model_replies: tools_first,
        crashes: vec![0],
        ticks: 1,
        lost_replies: usual_or_full(0, 1),
        expected_events: vec![DeleteEnded, DeleteLost, Restored, RefusedAsDeleted, LostSettle],
        ..Config::new(
            "delete and restore",
            vec![
                Role::client(&[ONE, TWO]),
                Role::Tools { turn: 0, results: vec![(0, true)] },
                Role::Admin { edits: vec![SessionEdit::Delete, SessionEdit::Restore] },
                Role::Finalizer,
                Role::Sweep,
            ],
        )
    });
}

#[test]
fn session_is_quarantined_and_released_at_any_time() {
    check_exhaustively(Config {
        model_replies: tools_first,
        crashes: vec![0],
        ticks: 1,
        lost_replies: usual_or_full(0, 1),
        expected_events: vec![QuarantineEnded, Released, RefusedAsQuarantined, LostSettle],
        ..Config::new(
            "quarantine and release",
            vec![
                Role::client(&[ONE, TWO]),
                Role::Tools { turn: 0, results: vec![(0, true)] },
                Role::Admin { edits: vec![SessionEdit::Quarantine, SessionEdit::Release] },
                Role::Finalizer,
                Role::Sweep,
            ],
        )
    });
}

#[test]
fn session_purged_at_any_time_leaves_nothing() {
    check_exhaustively(Config {
        model_replies: tools_first,
        crashes: vec![0],
        ticks: 1,
        expected_events: vec![
            PurgeEnded,
            PurgeCounted,
            PurgeFinalizes,
            Purged,
            PurgedLate,
            RefusedAsPurged,
            LostSettle,
        ],
        ..Config::new(
            "purge",
            vec![
                Role::client(&[ONE, ONE]),
                Role::Tools { turn: 0, results: vec![(0, true)] },
                Role::Admin { edits: vec![SessionEdit::Purge, SessionEdit::Restore] },
                Role::Finalizer,
                Role::Sweep,
                Role::Purger,
            ],
        )
    });
}

#[test]
fn purge_cancel_and_finalization_count_usage_once_in_every_order() {
    check_exhaustively(Config {
        model_replies: anything,
        crashes: vec![0],
        fine_grained: true,
        lost_replies: usual_or_full(0, 1),
        expected_events: vec![CancelWon, CancelLost, PurgeEnded, PurgeCounted, PurgeFinalizes, Purged],
        ..Config::new(
            "purge and cancel",
            vec![
                Role::client(&[ONE]),
                Role::Canceller { turn: 0 },
                Role::Admin { edits: vec![SessionEdit::Purge] },
                Role::Finalizer,
                Role::Sweep,
                Role::Purger,
            ],
        )
    });
}

#[test]
fn purge_races_starts_finalizations_and_late_writes() {
    check_exhaustively(Config {
        crashes: vec![0],
        fine_grained: true,
        late_writes: true,
        expected_events: vec![PurgeEnded, Purged, PurgedLate, RefusedAsPurged, StartLost],
        ..Config::new(
            "purge, fine",
            vec![
                Role::client(&[ONE, TWO]),
                Role::Admin { edits: vec![SessionEdit::Delete, SessionEdit::Restore, SessionEdit::Purge] },
                Role::Finalizer,
                Role::Purger,
            ],
        )
    });
}

#[test]
fn turns_are_rerun_at_any_time_and_session_is_purged() {
    let reruns = vec![(2, 0)];
    check_exhaustively(Config {
        crashes: vec![0, 1],
        ticks: 1,
        reruns: reruns.clone(),
        expected_events: vec![Rerun, Folded, Chained, StartLost, Busy],
        ..Config::new(
            "reruns",
            vec![Role::client(&[ONE, TWO]), Role::client(&[THREE, THREE]), Role::Finalizer, Role::Sweep],
        )
    });
    check_exhaustively(Config {
        crashes: vec![0],
        reruns,
        expected_events: vec![Rerun, PurgeEnded, Purged, PurgedLate, RefusedAsPurged],
        ..Config::new(
            "reruns, purged",
            vec![
                Role::client(&[ONE, THREE]),
                Role::Admin { edits: vec![SessionEdit::Purge] },
                Role::Finalizer,
                Role::Purger,
            ],
        )
    });
}

#[test]
fn delete_races_non_atomic_reads() {
    check_exhaustively(Config {
        crashes: vec![0, 1],
        ticks: 1,
        fine_grained: true,
        late_writes: true,
        expected_events: vec![DeleteEnded, DeleteLost, RefusedAsDeleted, StartLost],
        ..Config::new(
            "delete, fine",
            vec![
                Role::client(&[ONE, TWO]),
                Role::Admin { edits: vec![SessionEdit::Delete, SessionEdit::Restore] },
                Role::Finalizer,
            ],
        )
    });
}

#[test]
fn second_turn_starts_in_every_state_of_the_first() {
    check_exhaustively(Config {
        crashes: vec![0, 1],
        ticks: 2,
        stages_mode: Some(0),
        expected_events: vec![
            Folded,
            Busy,
            StartSalvaged,
            StartLost,
            Chained,
            ModeChanged,
            FinalizedElsewhere,
            Salvaged,
            Abandoned,
        ],
        ..Config::new(
            "two turns",
            vec![Role::client(&[ONE, ONE]), Role::client(&[TWO, TWO]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn reads_are_not_atomic() {
    check_exhaustively(Config {
        crashes: vec![0],
        ticks: 2,
        fine_grained: true,
        stages_mode: Some(0),
        expected_events: vec![Folded, StartLost, FinalizedElsewhere, Chained, ModeChanged],
        ..Config::new(
            "torn reads",
            vec![Role::client(&[ONE]), Role::client(&[TWO]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn every_read_is_a_separate_step() {
    check_exhaustively(Config {
        crashes: vec![0],
        ticks: 2,
        fine_grained: true,
        lost_replies: 1,
        expected_events: vec![TakenOver, Salvaged, LateOutcome, LostSettle, LostReplyApplied, Replayed],
        ..Config::new("fine steps", vec![Role::client(&[ONE, ONE]), Role::client(&[ONE]), Role::Sweep])
    });
}

#[test]
fn session_continues_without_sweep_and_finalizer() {
    check_exhaustively(Config {
        model_replies: anything,
        crashes: vec![0, 1],
        ticks: 2,
        expected_events: vec![Folded, StartSalvaged, Superseded, Busy],
        ..Config::new("no sweep", vec![Role::client(&[ONE, ONE]), Role::persistent_client(&[TWO])])
    });
}

#[test]
fn messages_are_repeated_reordered_and_lost() {
    check_exhaustively(Config {
        crashes: vec![2],
        duplicates: 2,
        lost_messages: 1,
        expected_events: vec![DuplicateHarmless, FinalizedElsewhere, SweepFinalized],
        ..Config::new(
            "messages",
            vec![Role::client(&[ONE]), Role::client(&[TWO]), Role::Finalizer, Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn ids_are_used_for_another_request() {
    check_exhaustively(Config {
        crashes: vec![0, 1],
        ticks: 2,
        lost_replies: 1,
        expected_events: vec![Conflict, TakenOver],
        ..Config::new(
            "conflict",
            vec![Role::client(&[ONE, ONE]), Role::client(&[(0, 1), ONE]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn tool_results_come_twice_late_or_never() {
    check_exhaustively(Config {
        model_replies: tools_first,
        crashes: vec![0, 1],
        ticks: 3,
        expected_events: vec![Resumed, ResumedAgain, ToolDeadline, TooLate, Salvaged, TakenOver],
        ..Config::new(
            "tools",
            vec![
                Role::client(&[ONE, ONE]),
                Role::Tools { turn: 0, results: vec![(1, true), (1, true)] },
                Role::Sweep,
            ],
        )
    });
}

#[test]
fn tool_results_do_not_match() {
    check_exhaustively(Config {
        model_replies: tools_first,
        lost_replies: 1,
        ticks: 1,
        expected_events: vec![Mismatch, OtherResults, Resumed, ToolDeadline],
        ..Config::new(
            "wrong results",
            vec![
                Role::client(&[ONE]),
                Role::Tools { turn: 0, results: vec![(1, false), (1, true)] },
                Role::Tools { turn: 0, results: vec![(2, true)] },
                Role::Finalizer,
                Role::Sweep,
            ],
        )
    });
}

#[test]
fn new_turn_supersedes_one_awaiting_results() {
    check_exhaustively(Config {
        model_replies: tools_first,
        crashes: usual_or_full(vec![0], vec![0, 1]),
        ticks: 2,
        lost_replies: 1,
        expected_events: vec![Superseded, Resumed, LostReplyApplied, StartLost],
        ..Config::new(
            "supersede",
            vec![
                Role::client(&[ONE]),
                Role::client(&[TWO, TWO]),
                Role::Tools { turn: 0, results: vec![(1, true)] },
                Role::Sweep,
            ],
        )
    });
}

#[test]
fn three_turns_in_a_row() {
    check_exhaustively(Config {
        crashes: vec![0, 1],
        ticks: 2,
        stages_mode: Some(1),
        expected_events: vec![Folded, Chained, ModeChanged, StartLost, Busy],
        ..Config::new(
            "three turns",
            vec![Role::client(&[ONE, THREE]), Role::client(&[TWO]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn outcome_cannot_be_stored() {
    check_exhaustively(Config {
        crashes: vec![0],
        ticks: 2,
        unstorable: true,
        expected_events: vec![Unstorable, TakenOver],
        ..Config::new(
            "unstorable",
            vec![Role::client(&[ONE, TWO]), Role::client(&[ONE]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn everything_at_once() {
    check_exhaustively(Config {
        model_replies: anything,
        crashes: usual_or_full(vec![0], vec![0, 1]),
        ticks: usual_or_full(1, 2),
        expected_events: vec![
            TakenOver,
            Salvaged,
            StartSalvaged,
            CancelWon,
            CancelLost,
            Folded,
            Superseded,
            Abandoned,
        ],
        ..Config::new(
            "everything",
            vec![
                Role::client(&[ONE, ONE]),
                Role::client(&[TWO]),
                Role::Canceller { turn: 0 },
                Role::Finalizer,
                Role::Sweep,
            ],
        )
    });
}

#[test]
fn identical_imports_race_with_the_first_turn() {
    check_exhaustively(Config {
        crashes: vec![0, 1],
        late_writes: true,
        lost_replies: 1,
        fine_grained: true,
        expected_events: vec![
            Imported,
            ImportJoined,
            ImportOvertaken,
            ImportLate,
            LateWrite,
            Folded,
            Chained,
        ],
        ..Config::new("imports", vec![Role::Importer, Role::Importer, Role::client(&[TWO]), Role::Sweep])
    });
}
