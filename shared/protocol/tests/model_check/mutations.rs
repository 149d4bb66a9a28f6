//! Mutations: each of these small configurations passes, and disabling one rule produces a counterexample, whose
//! steps are printed.

use crate::{
    check::{assert_violated, check_exhaustively},
    config::{Config, Role, SessionEdit},
    properties::*,
    rules::Rule,
    state::OutcomeKind,
};

const ONE: (u8, u8) = (0, 0);
const OTHER_ONE: (u8, u8) = (0, 1);
const TWO: (u8, u8) = (1, 0);

/// Asserts that the property holds with the rule and fails without it.
fn assert_rule_needed(config: Config, rule: Rule, property: &'static str) {
    assert_violated(config.without(&[rule]), property);
    check_exhaustively(config);
}

/// Two functions that run for one request. The first one's lease may expire.
fn two_attempts(name: &'static str) -> Config {
    Config { ticks: 1, ..Config::new(name, vec![Role::client(&[ONE]), Role::client(&[ONE]), Role::Sweep]) }
}

fn calls_tools(turn: u8, round: u32) -> &'static [OutcomeKind] {
    if (turn, round) == (0, 0) { &[OutcomeKind::Calls] } else { &[OutcomeKind::Answer] }
}

#[test]
fn rule_1_payloads_carry_their_writer() {
    assert_rule_needed(two_attempts("rule 1"), Rule::PayloadsCarryTheirWriter, ANSWERS_MATCH_STORE);
}

#[test]
fn rule_2_instruction_carries_fingerprint() {
    let config = Config::new("rule 2", vec![Role::client(&[ONE]), Role::client(&[OTHER_ONE]), Role::Sweep]);
    assert_rule_needed(config, Rule::InstructionCarriesFingerprint, NOTHING_MISSING);
}

#[test]
fn rule_3_fence_is_fresh_nonce() {
    assert_rule_needed(two_attempts("rule 3, holders"), Rule::FreshAttemptId, ONE_HOLDER);
    assert_rule_needed(two_attempts("rule 3, answers"), Rule::FreshAttemptId, ANSWERS_MATCH_STORE);
}

#[test]
fn rule_4_session_has_rev() {
    let roles = vec![Role::client(&[ONE]), Role::client(&[TWO]), Role::Finalizer];
    assert_rule_needed(
        Config { fine_grained: true, ..Config::new("rule 4", roles) },
        Rule::SessionRev,
        CHAIN,
    );
}

#[test]
fn rule_5_salvage_fences_then_looks() {
    assert_rule_needed(two_attempts("rule 5"), Rule::FenceThenLook, NOT_LOST);
}

#[test]
fn rule_6_loser_answers_from_stored_head() {
    let roles = vec![Role::client(&[ONE]), Role::Canceller { turn: 0 }, Role::Sweep];
    assert_rule_needed(Config::new("rule 6", roles), Rule::LoserAnswersFromHead, ANSWERS_MATCH_STORE);
}

#[test]
fn spent_is_final_once() {
    let roles = vec![Role::client(&[ONE]), Role::Canceller { turn: 0 }, Role::Finalizer, Role::Sweep];
    assert_rule_needed(Config::new("spent", roles.clone()), Rule::SpentIsFinalOnce, SPENT_ONCE);
    let pending = Config { pending_usage: true, ..Config::new("pending usage", roles) };
    assert_rule_needed(pending, Rule::SpentIsFinalOnce, SPENT_ONCE);
}

#[test]
fn rule_7_replay_decides_on_head() {
    let roles = vec![Role::client(&[ONE]), Role::client(&[ONE]), Role::Canceller { turn: 0 }, Role::Sweep];
    assert_rule_needed(Config::new("rule 7", roles), Rule::ReplayDecidesOnHead, ANSWERS_MATCH_STORE);
}

#[test]
fn rule_8_mode_change_is_staged() {
    let roles = vec![Role::client(&[ONE]), Role::Sweep];
    let config = Config {
        model_replies: |_, _| &[OutcomeKind::Answer, OutcomeKind::Failure],
        stages_mode: Some(0),
        ..Config::new("rule 8", roles)
    };
    assert_rule_needed(config, Rule::ModeIsStaged, MODE);
}

#[test]
fn rule_9_takeover_requires_head_as_read() {
    assert_rule_needed(Config { renewals: 1, ..two_attempts("rule 9, take") }, Rule::TakeAsRead, ONE_HOLDER);
}

#[test]
fn rule_9_index_proves_nothing() {
    let roles = vec![Role::client(&[ONE]), Role::Sweep];
    let config = Config { ticks: 2, renewals: 1, ..Config::new("rule 9, index", roles) };
    assert_rule_needed(config, Rule::IndexProvesNothing, ONE_HOLDER);
}

#[test]
fn rule_10_start_does_not_wait_for_sweep() {
    let roles = vec![Role::client(&[ONE]), Role::persistent_client(&[TWO])];
    let config = Config { ticks: 1, crashes: vec![0], ..Config::new("rule 10", roles) };
    assert_rule_needed(config, Rule::StartSalvages, ANSWERED);
}

#[test]
fn rule_11_supersede_is_part_of_start() {
    let roles = vec![Role::client(&[ONE]), Role::client(&[TWO]), Role::Finalizer, Role::Sweep];
    let config = Config { model_replies: calls_tools, crashes: vec![1], ..Config::new("rule 11", roles) };
    assert_rule_needed(config.clone(), Rule::SupersedeInStart, SUPERSEDED_BY);
    assert_violated(config.without(&[Rule::SupersedeInStart]), ONE_OPEN);
}

/// While all other rules hold, no turn is ever finalized while the session names another one. The second half of rule
/// 11 only shows together with the first.
#[test]
fn rule_11_finalize_clears_only_its_own_turn() {
    let roles = vec![Role::client(&[ONE]), Role::client(&[TWO]), Role::Finalizer, Role::Sweep];
    let config = Config { model_replies: calls_tools, ..Config::new("rule 11, clearing", roles) };
    check_exhaustively(config.without(&[Rule::ClearOwnOpenTurn]));
    assert_violated(config.without(&[Rule::SupersedeInStart, Rule::ClearOwnOpenTurn]), RUNNING_IS_NAMED);
}

#[test]
fn outcome_is_durable_before_it_decides() {
    let roles = vec![Role::client(&[ONE]), Role::Sweep];
    assert_rule_needed(Config::new("I5", roles), Rule::OutcomeBeforeSettle, NOTHING_MISSING);
}

#[test]
fn takeover_uses_outcome_it_finds() {
    assert_rule_needed(two_attempts("I9"), Rule::TakeoverUsesOutcome, NO_DUPLICATE_CALL);
}

#[test]
fn mismatched_tool_results_are_refused() {
    let roles = vec![Role::client(&[ONE]), Role::Tools { turn: 0, results: vec![(1, false)] }, Role::Sweep];
    let config = Config { model_replies: calls_tools, ..Config::new("I6", roles) };
    assert_rule_needed(config, Rule::ResultsMatchExactly, EXACT_RESULTS);
}

#[test]
fn rule_13_import_writes_under_its_reservation() {
    let roles = vec![Role::Importer, Role::Importer, Role::Sweep];
    let config = Config { ticks: 1, fine_grained: true, ..Config::new("rule 13", roles) };
    assert_rule_needed(config, Rule::ImportIsReserved, DECIDED_ONCE);
}

/// Two turns one after the other, in a session that is deleted meanwhile.
fn deleted(name: &'static str) -> Config {
    let keeper = Role::Admin { edits: vec![SessionEdit::Delete] };
    Config {
        fine_grained: true,
        ..Config::new(name, vec![Role::client(&[ONE, TWO]), keeper, Role::Finalizer])
    }
}

#[test]
fn rule_12_delete_increments_rev() {
    assert_rule_needed(deleted("rule 12, rev"), Rule::DeleteRaisesRev, DELETION_PERSISTS);
}

#[test]
fn rule_12_delete_ends_open_turn() {
    assert_rule_needed(deleted("rule 12, open turn"), Rule::DeleteEndsOpenTurn, NOTHING_RUNS);
}

/// Two turns one after the other, in a session that is quarantined meanwhile.
fn quarantined(name: &'static str) -> Config {
    let operator = Role::Admin { edits: vec![SessionEdit::Quarantine] };
    Config {
        fine_grained: true,
        ..Config::new(name, vec![Role::client(&[ONE, TWO]), operator, Role::Finalizer])
    }
}

#[test]
fn rule_12_quarantine_increments_rev() {
    let config = quarantined("rule 12, rev of a quarantine");
    assert_rule_needed(config, Rule::QuarantineRaisesRev, DELETION_PERSISTS);
}

#[test]
fn rule_12_quarantine_ends_open_turn() {
    let config = quarantined("rule 12, open turn of a quarantine");
    assert_rule_needed(config, Rule::QuarantineEndsOpenTurn, NOTHING_RUNS);
}

/// Two turns one after the other, in a session that is purged meanwhile.
fn purged(name: &'static str) -> Config {
    let keeper = Role::Admin { edits: vec![SessionEdit::Purge] };
    let roles = vec![Role::client(&[ONE, TWO]), keeper, Role::Finalizer, Role::Purger];
    Config { fine_grained: true, ..Config::new(name, roles) }
}

#[test]
fn rule_12_purge_increments_rev() {
    assert_rule_needed(purged("rule 12, rev of a purge"), Rule::PurgeRaisesRev, PURGE_IS_FINAL);
}

#[test]
fn rule_12_purge_ends_open_turn() {
    assert_rule_needed(purged("rule 12, open turn of a purge"), Rule::PurgeEndsOpenTurn, NOTHING_RUNS);
}

#[test]
fn rule_12_finalization_leaves_tombstone() {
    assert_rule_needed(purged("rule 12, finalization"), Rule::PurgedStaysTombstone, PURGE_IS_FINAL);
}

#[test]
fn rule_12_purge_counts_open_turn_first() {
    assert_rule_needed(purged("rule 12, usage"), Rule::PurgeCountsOpenTurn, COUNTED_ONCE);
}

#[test]
fn rule_12_purge_leaves_tombstone() {
    assert_rule_needed(purged("rule 12, tombstone"), Rule::PurgeLeavesTombstone, PURGE_IS_FINAL);
}

#[test]
fn rule_12_purge_rechecks() {
    assert_rule_needed(purged("rule 12, second look"), Rule::PurgeLooksAgain, NOTHING_LEFT);
}
