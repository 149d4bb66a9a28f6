//! Every rule is needed: in each of these small worlds nothing is wrong, and taking one rule out brings a
//! counterexample that the printed steps tell.

use crate::{
    check::{exhausts, violates},
    properties::*,
    rules::Rule,
    scene::{Role, Scene, Upkeep},
    state::Said,
};

const ONE: (u8, u8) = (0, 0);
const OTHER_ONE: (u8, u8) = (0, 1);
const TWO: (u8, u8) = (1, 0);

/// The property holds with the rule and fails without it.
fn needs(scene: Scene, rule: Rule, property: &'static str) {
    violates(scene.without(&[rule]), property);
    exhausts(scene);
}

/// Two functions run for one request, and a lease may run out under the first.
fn two_attempts(name: &'static str) -> Scene {
    Scene { ticks: 1, ..Scene::named(name, vec![Role::asks(&[ONE]), Role::asks(&[ONE]), Role::Sweep]) }
}

fn calls_tools(turn: u8, round: u32) -> &'static [Said] {
    if (turn, round) == (0, 0) { &[Said::Calls] } else { &[Said::Answer] }
}

#[test]
fn rule_1_payloads_carry_their_writer() {
    needs(two_attempts("rule 1"), Rule::PayloadsCarryTheirWriter, TOLD_IS_STORED);
}

#[test]
fn rule_2_the_instruction_carries_the_fingerprint() {
    let scene = Scene::named("rule 2", vec![Role::asks(&[ONE]), Role::asks(&[OTHER_ONE]), Role::Sweep]);
    needs(scene, Rule::InstructionCarriesFingerprint, NOTHING_MISSING);
}

#[test]
fn rule_3_the_fence_is_a_fresh_nonce() {
    needs(two_attempts("rule 3, holders"), Rule::FreshAttemptId, ONE_HOLDER);
    needs(two_attempts("rule 3, answers"), Rule::FreshAttemptId, TOLD_IS_STORED);
}

#[test]
fn rule_4_the_session_has_a_rev() {
    let roles = vec![Role::asks(&[ONE]), Role::asks(&[TWO]), Role::Finalizer];
    needs(Scene { fine: true, ..Scene::named("rule 4", roles) }, Rule::SessionRev, CHAIN);
}

#[test]
fn rule_5_salvage_fences_then_looks() {
    needs(two_attempts("rule 5"), Rule::FenceThenLook, NOT_LOST);
}

#[test]
fn rule_6_the_loser_answers_with_what_stands() {
    let roles = vec![Role::asks(&[ONE]), Role::Canceller { turn: 0 }, Role::Sweep];
    needs(Scene::named("rule 6", roles), Rule::LoserAnswersWithWhatStands, TOLD_IS_STORED);
}

#[test]
fn rule_7_a_replay_decides_on_the_head() {
    let roles = vec![Role::asks(&[ONE]), Role::asks(&[ONE]), Role::Canceller { turn: 0 }, Role::Sweep];
    needs(Scene::named("rule 7", roles), Rule::ReplayDecidesOnHead, TOLD_IS_STORED);
}

#[test]
fn rule_8_a_mode_change_is_staged() {
    let roles = vec![Role::asks(&[ONE]), Role::Sweep];
    let scene = Scene {
        replies: |_, _| &[Said::Answer, Said::Failure],
        stages_mode: Some(0),
        ..Scene::named("rule 8", roles)
    };
    needs(scene, Rule::ModeIsStaged, MODE);
}

#[test]
fn rule_9_a_taking_is_conditioned_on_what_was_read() {
    needs(Scene { renewals: 1, ..two_attempts("rule 9, take") }, Rule::TakeAsRead, ONE_HOLDER);
}

#[test]
fn rule_9_the_index_proves_nothing() {
    let roles = vec![Role::asks(&[ONE]), Role::Sweep];
    let scene = Scene { ticks: 2, renewals: 1, ..Scene::named("rule 9, index", roles) };
    needs(scene, Rule::IndexProvesNothing, ONE_HOLDER);
}

#[test]
fn rule_10_a_start_does_not_wait_for_the_sweep() {
    let roles = vec![Role::asks(&[ONE]), Role::insists(&[TWO])];
    let scene = Scene { ticks: 1, crashes: vec![0], ..Scene::named("rule 10", roles) };
    needs(scene, Rule::StartSalvages, ANSWERED);
}

#[test]
fn rule_11_supersede_is_part_of_the_start() {
    let roles = vec![Role::asks(&[ONE]), Role::asks(&[TWO]), Role::Finalizer, Role::Sweep];
    let scene = Scene { replies: calls_tools, crashes: vec![1], ..Scene::named("rule 11", roles) };
    needs(scene.clone(), Rule::SupersedeInStart, SUPERSEDED_BY);
    violates(scene.without(&[Rule::SupersedeInStart]), ONE_OPEN);
}

/// Every other rule kept, no turn is ever finalized while the session names another one: the second half
/// of rule 11 shows only together with the first.
#[test]
fn rule_11_finalize_clears_its_own_turn_only() {
    let roles = vec![Role::asks(&[ONE]), Role::asks(&[TWO]), Role::Finalizer, Role::Sweep];
    let scene = Scene { replies: calls_tools, ..Scene::named("rule 11, clearing", roles) };
    exhausts(scene.without(&[Rule::ClearOwnOpenTurn]));
    violates(scene.without(&[Rule::SupersedeInStart, Rule::ClearOwnOpenTurn]), RUNNING_IS_NAMED);
}

#[test]
fn an_outcome_is_durable_before_it_decides() {
    let roles = vec![Role::asks(&[ONE]), Role::Sweep];
    needs(Scene::named("I5", roles), Rule::OutcomeBeforeSettle, NOTHING_MISSING);
}

#[test]
fn a_takeover_uses_the_outcome_it_finds() {
    needs(two_attempts("I9"), Rule::TakeoverUsesOutcome, PAID_ONCE);
}

#[test]
fn tool_results_match_or_are_refused() {
    let roles = vec![Role::asks(&[ONE]), Role::Tools { turn: 0, results: vec![(1, false)] }, Role::Sweep];
    let scene = Scene { replies: calls_tools, ..Scene::named("I6", roles) };
    needs(scene, Rule::ResultsMatchExactly, EXACT_RESULTS);
}

/// Two turns one after the other, and a session that is deleted meanwhile.
fn deleted(name: &'static str) -> Scene {
    let keeper = Role::Keeper { does: vec![Upkeep::Delete] };
    Scene { fine: true, ..Scene::named(name, vec![Role::asks(&[ONE, TWO]), keeper, Role::Finalizer]) }
}

#[test]
fn rule_12_a_delete_raises_the_rev() {
    needs(deleted("rule 12, rev"), Rule::DeleteRaisesRev, STAYS_DELETED);
}

#[test]
fn rule_12_a_delete_ends_the_open_turn() {
    needs(deleted("rule 12, open turn"), Rule::DeleteEndsOpenTurn, NOTHING_RUNS);
}

/// Two turns one after the other, and a session that is purged meanwhile.
fn purged(name: &'static str) -> Scene {
    let keeper = Role::Keeper { does: vec![Upkeep::Purge] };
    let roles = vec![Role::asks(&[ONE, TWO]), keeper, Role::Finalizer, Role::Purger];
    Scene { fine: true, ..Scene::named(name, roles) }
}

#[test]
fn rule_12_a_purge_raises_the_rev() {
    needs(purged("rule 12, rev of a purge"), Rule::PurgeRaisesRev, GONE_FOR_GOOD);
}

#[test]
fn rule_12_a_purge_ends_the_open_turn() {
    needs(purged("rule 12, open turn of a purge"), Rule::PurgeEndsOpenTurn, NOTHING_RUNS);
}

#[test]
fn rule_12_what_is_purged_is_not_finalized() {
    needs(purged("rule 12, finalization"), Rule::PurgeEndsFinalizing, GONE_FOR_GOOD);
}

#[test]
fn rule_12_a_purge_leaves_a_tombstone() {
    needs(purged("rule 12, tombstone"), Rule::PurgeLeavesTombstone, GONE_FOR_GOOD);
}

#[test]
fn rule_12_a_purge_looks_once_more() {
    needs(purged("rule 12, second look"), Rule::PurgeLooksAgain, NOTHING_LEFT);
}
