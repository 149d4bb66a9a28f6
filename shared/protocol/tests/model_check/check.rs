//! Runs the checker and prints its figures.

use std::time::Instant;

use stateright::{Checker, Model};

use crate::{config::Config, model::Lifecycle};

/// Checks every reachable state of a configuration: every property holds in each state, and every expected event
/// happens in some.
pub(crate) fn check_exhaustively(config: Config) {
    let (name, began) = (config.name, Instant::now());
    let checker = Lifecycle::new(config).checker().threads(2).spawn_bfs().join();
    println!(
        "{name}: {} states, depth {}, {:.1} s",
        checker.unique_state_count(),
        checker.max_depth(),
        began.elapsed().as_secs_f64()
    );
    for (property, path) in checker.discoveries() {
        let found = checker.model().property(property);
        if found.expectation == stateright::Expectation::Always {
            panic!(
                "{name}: violated: {property}\n{:#?}\nby {:#?}",
                path.last_state(),
                path.clone().into_actions()
            );
        }
    }
    for property in checker.model().properties() {
        let vacuous =
            property.expectation == stateright::Expectation::Sometimes
                && !checker.model().config.expected_events.iter().any(|event| {
                    event.property().name == property.name && checker.model().coverage.has(*event)
                });
        assert!(!vacuous, "{name}: expected event never happens: {}", property.name);
    }
}

/// Searches a configuration for a state that violates `property`, and prints the shortest path to it.
pub(crate) fn assert_violated(config: Config, property: &'static str) {
    let (name, disabled) = (config.name, config.disabled_rules.clone());
    // The search records the last counterexample of a batch, so only a bounded depth finds the shortest one.
    let mut states = 0;
    let path = (1..100).find_map(|depth| {
        let checker = Lifecycle::new(config.clone()).checker().target_max_depth(depth).spawn_bfs().join();
        let grown = std::mem::replace(&mut states, checker.unique_state_count());
        assert!(
            states > grown || depth < 3,
            "{name} without {disabled:?}: \"{property}\" holds in {states} states"
        );
        checker.discovery(property)
    });
    let actions = path.expect("no counterexample within 99 steps").into_actions();
    println!("{name} without {disabled:?}: \"{property}\" fails after {} steps: {actions:?}", actions.len());
}
