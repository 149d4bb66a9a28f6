//! Every configuration is exhausted, and nothing is found.

use crate::{
    check::exhausts,
    coverage::Event::*,
    scene::{Role, Scene, Upkeep},
    state::Said,
};

const ONE: (u8, u8) = (0, 0);
const TWO: (u8, u8) = (1, 0);
const THREE: (u8, u8) = (2, 0);

/// The first turn calls client tools once, then answers; every other turn answers.
fn tools_first(turn: u8, round: u32) -> &'static [Said] {
    if (turn, round) == (0, 0) { &[Said::Calls] } else { &[Said::Answer] }
}

/// The first turn may do anything, once; then it answers or fails.
fn anything(turn: u8, round: u32) -> &'static [Said] {
    match (turn, round) {
        (0, 0) => &[Said::Answer, Said::Failure, Said::Calls],
        (0, _) => &[Said::Answer, Said::Failure],
        _ => &[Said::Answer],
    }
}

#[test]
fn one_request_sent_three_times_through_two_crashes() {
    exhausts(Scene {
        crashes: vec![0, 1],
        ticks: 3,
        shows: vec![TakenOver, Salvaged, LateOutcome, LostSettle, Replayed, Abandoned],
        ..Scene::named(
            "retries",
            vec![Role::asks(&[ONE, ONE]), Role::asks(&[ONE]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn attempts_until_they_are_used_up() {
    exhausts(Scene {
        crashes: vec![0, 1],
        ticks: 4,
        shows: vec![AttemptsUsedUp, Salvaged, Abandoned],
        ..Scene::named("attempts used up", vec![Role::asks(&[ONE, ONE, ONE]), Role::asks(&[ONE, ONE])])
    });
}

#[test]
fn replies_are_lost() {
    exhausts(Scene {
        crashes: vec![0, 1],
        ticks: 2,
        lost_replies: 2,
        shows: vec![LostReplyApplied, LostReplyOvertaken, LostReplySentAgain, TakenOver, Salvaged],
        ..Scene::named(
            "lost replies",
            vec![Role::asks(&[ONE]), Role::asks(&[ONE]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn leases_are_renewed_and_lost_under_live_holders() {
    exhausts(Scene {
        ticks: 2,
        renewals: 2,
        lost_replies: 1,
        shows: vec![Renewed, RenewalLost, TakenOver, DueMoved, LateOutcome],
        ..Scene::named("renewals", vec![Role::asks(&[ONE]), Role::asks(&[ONE]), Role::Sweep])
    });
}

#[test]
fn writes_arrive_after_their_sender_died() {
    exhausts(Scene {
        crashes: vec![0, 1],
        ticks: 2,
        late_writes: true,
        renewals: 1,
        shows: vec![LateWrite, TakenOver, Salvaged],
        ..Scene::named("late writes", vec![Role::asks(&[ONE, TWO]), Role::asks(&[ONE]), Role::Sweep])
    });
}

#[test]
fn a_turn_is_cancelled_at_any_moment() {
    exhausts(Scene {
        replies: anything,
        crashes: vec![0],
        ticks: 2,
        lost_replies: 1,
        shows: vec![CancelWon, CancelLost, LostSettle, LostReplyApplied],
        ..Scene::named(
            "cancel",
            vec![Role::asks(&[ONE, ONE]), Role::Canceller { turn: 0 }, Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn a_session_is_deleted_and_restored_at_any_moment() {
    exhausts(Scene {
        replies: tools_first,
        crashes: vec![0],
        ticks: 1,
        lost_replies: 1,
        shows: vec![DeleteEnded, DeleteLost, Restored, RefusedAsDeleted, LostSettle],
        ..Scene::named(
            "delete and restore",
            vec![
                Role::asks(&[ONE, TWO]),
                Role::Tools { turn: 0, results: vec![(0, true)] },
                Role::Keeper { does: vec![Upkeep::Delete, Upkeep::Restore] },
                Role::Finalizer,
                Role::Sweep,
            ],
        )
    });
}

#[test]
fn a_session_is_purged_at_any_moment_and_nothing_of_it_is_left() {
    exhausts(Scene {
        replies: tools_first,
        crashes: vec![0],
        ticks: 1,
        shows: vec![PurgeEnded, Purged, PurgedLate, RefusedAsPurged, LostSettle],
        ..Scene::named(
            "purge",
            vec![
                Role::asks(&[ONE, ONE]),
                Role::Tools { turn: 0, results: vec![(0, true)] },
                Role::Keeper { does: vec![Upkeep::Purge, Upkeep::Restore] },
                Role::Finalizer,
                Role::Sweep,
                Role::Purger,
            ],
        )
    });
}

#[test]
fn a_purge_meets_starts_finalizations_and_writes_that_arrive_late() {
    exhausts(Scene {
        crashes: vec![0],
        fine: true,
        late_writes: true,
        shows: vec![PurgeEnded, Purged, PurgedLate, RefusedAsPurged, StartLost],
        ..Scene::named(
            "purge, fine",
            vec![
                Role::asks(&[ONE, TWO]),
                Role::Keeper { does: vec![Upkeep::Delete, Upkeep::Restore, Upkeep::Purge] },
                Role::Finalizer,
                Role::Purger,
            ],
        )
    });
}

#[test]
fn turns_are_run_again_at_any_moment_and_one_session_of_them_is_purged() {
    let reruns = vec![(2, 0)];
    exhausts(Scene {
        crashes: vec![0, 1],
        ticks: 1,
        reruns: reruns.clone(),
        shows: vec![Rerun, Folded, Chained, StartLost, Busy],
        ..Scene::named(
            "reruns",
            vec![Role::asks(&[ONE, TWO]), Role::asks(&[THREE, THREE]), Role::Finalizer, Role::Sweep],
        )
    });
    exhausts(Scene {
        crashes: vec![0],
        reruns,
        shows: vec![Rerun, PurgeEnded, Purged, PurgedLate, RefusedAsPurged],
        ..Scene::named(
            "reruns, purged",
            vec![
                Role::asks(&[ONE, THREE]),
                Role::Keeper { does: vec![Upkeep::Purge] },
                Role::Finalizer,
                Role::Purger,
            ],
        )
    });
}

#[test]
fn a_delete_meets_reads_that_are_no_snapshot() {
    exhausts(Scene {
        crashes: vec![0, 1],
        ticks: 1,
        fine: true,
        late_writes: true,
        shows: vec![DeleteEnded, DeleteLost, RefusedAsDeleted, StartLost],
        ..Scene::named(
            "delete, fine",
            vec![
                Role::asks(&[ONE, TWO]),
                Role::Keeper { does: vec![Upkeep::Delete, Upkeep::Restore] },
                Role::Finalizer,
            ],
        )
    });
}

#[test]
fn a_second_user_turn_meets_the_first_in_every_state() {
    exhausts(Scene {
        crashes: vec![0, 1],
        ticks: 2,
        stages_mode: Some(0),
        shows: vec![
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
        ..Scene::named(
            "two turns",
            vec![Role::asks(&[ONE, ONE]), Role::asks(&[TWO, TWO]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn reads_are_no_snapshot() {
    exhausts(Scene {
        crashes: vec![0],
        ticks: 2,
        fine: true,
        stages_mode: Some(0),
        shows: vec![Folded, StartLost, FinalizedElsewhere, Chained, ModeChanged],
        ..Scene::named(
            "torn reads",
            vec![Role::asks(&[ONE]), Role::asks(&[TWO]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn every_read_is_a_step_of_its_own() {
    exhausts(Scene {
        crashes: vec![0],
        ticks: 2,
        fine: true,
        lost_replies: 1,
        shows: vec![TakenOver, Salvaged, LateOutcome, LostSettle, LostReplyApplied, Replayed],
        ..Scene::named("fine steps", vec![Role::asks(&[ONE, ONE]), Role::asks(&[ONE]), Role::Sweep])
    });
}

#[test]
fn a_session_goes_on_without_sweep_and_finalizer() {
    exhausts(Scene {
        replies: anything,
        crashes: vec![0, 1],
        ticks: 2,
        shows: vec![Folded, StartSalvaged, Superseded, Busy],
        ..Scene::named("no sweep", vec![Role::asks(&[ONE, ONE]), Role::insists(&[TWO])])
    });
}

#[test]
fn messages_are_repeated_reordered_and_lost() {
    exhausts(Scene {
        crashes: vec![2],
        duplicates: 2,
        lost_messages: 1,
        shows: vec![DuplicateHarmless, FinalizedElsewhere, SweepFinalized],
        ..Scene::named(
            "messages",
            vec![Role::asks(&[ONE]), Role::asks(&[TWO]), Role::Finalizer, Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn ids_are_used_for_another_request() {
    exhausts(Scene {
        crashes: vec![0, 1],
        ticks: 2,
        lost_replies: 1,
        shows: vec![Conflict, TakenOver],
        ..Scene::named(
            "conflict",
            vec![Role::asks(&[ONE, ONE]), Role::asks(&[(0, 1), ONE]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn tool_results_come_twice_late_or_never() {
    exhausts(Scene {
        replies: tools_first,
        crashes: vec![0, 1],
        ticks: 3,
        shows: vec![Resumed, ResumedAgain, ToolDeadline, TooLate, Salvaged, TakenOver],
        ..Scene::named(
            "tools",
            vec![
                Role::asks(&[ONE, ONE]),
                Role::Tools { turn: 0, results: vec![(1, true), (1, true)] },
                Role::Sweep,
            ],
        )
    });
}

#[test]
fn tool_results_do_not_match() {
    exhausts(Scene {
        replies: tools_first,
        lost_replies: 1,
        ticks: 1,
        shows: vec![Mismatch, OtherResults, Resumed, ToolDeadline],
        ..Scene::named(
            "wrong results",
            vec![
                Role::asks(&[ONE]),
                Role::Tools { turn: 0, results: vec![(1, false), (1, true)] },
                Role::Tools { turn: 0, results: vec![(2, true)] },
                Role::Finalizer,
                Role::Sweep,
            ],
        )
    });
}

#[test]
fn a_new_turn_supersedes_one_that_awaits_results() {
    exhausts(Scene {
        replies: tools_first,
        crashes: vec![0, 1],
        ticks: 2,
        lost_replies: 1,
        shows: vec![Superseded, Resumed, LostReplyApplied, StartLost],
        ..Scene::named(
            "supersede",
            vec![
                Role::asks(&[ONE]),
                Role::asks(&[TWO, TWO]),
                Role::Tools { turn: 0, results: vec![(1, true)] },
                Role::Sweep,
            ],
        )
    });
}

#[test]
fn three_turns_in_a_row() {
    exhausts(Scene {
        crashes: vec![0, 1],
        ticks: 2,
        stages_mode: Some(1),
        shows: vec![Folded, Chained, ModeChanged, StartLost, Busy],
        ..Scene::named(
            "three turns",
            vec![Role::asks(&[ONE, THREE]), Role::asks(&[TWO]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn an_outcome_cannot_be_stored() {
    exhausts(Scene {
        crashes: vec![0],
        ticks: 2,
        unstorable: true,
        shows: vec![Unstorable, TakenOver],
        ..Scene::named(
            "unstorable",
            vec![Role::asks(&[ONE, TWO]), Role::asks(&[ONE]), Role::Finalizer, Role::Sweep],
        )
    });
}

#[test]
fn everything_at_once() {
    exhausts(Scene {
        replies: anything,
        crashes: vec![0, 1],
        ticks: 2,
        shows: vec![TakenOver, Salvaged, StartSalvaged, CancelWon, CancelLost, Folded, Superseded, Abandoned],
        ..Scene::named(
            "everything",
            vec![
                Role::asks(&[ONE, ONE]),
                Role::asks(&[TWO]),
                Role::Canceller { turn: 0 },
                Role::Finalizer,
                Role::Sweep,
            ],
        )
    });
}
