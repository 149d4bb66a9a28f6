//! Running the checker, and telling what it found in figures.

use std::time::Instant;

use stateright::{Checker, Model};

use crate::{model::Lifecycle, scene::Scene};

/// Looks at every reachable state of a scene: every property holds in each, and everything that must
/// happen somewhere does.
pub(crate) fn exhausts(scene: Scene) {
    let (name, began) = (scene.name, Instant::now());
    let checker = Lifecycle::of(scene).checker().threads(2).spawn_bfs().join();
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
                && !checker.model().scene.shows.iter().any(|event| {
                    event.property().name == property.name && checker.model().coverage.has(*event)
                });
        assert!(!vacuous, "{name}: never happens: {}", property.name);
    }
}

/// Looks for a state of a scene in which `property` does not hold, and tells the shortest way there.
pub(crate) fn violates(scene: Scene, property: &'static str) {
    let (name, out) = (scene.name, scene.out.clone());
    // The search notes the last counterexample of a batch; one bounded in depth finds the shortest.
    let mut states = 0;
    let path = (1..100).find_map(|depth| {
        let checker = Lifecycle::of(scene.clone()).checker().target_max_depth(depth).spawn_bfs().join();
        let grown = std::mem::replace(&mut states, checker.unique_state_count());
        assert!(
            states > grown || depth < 3,
            "{name} without {out:?}: \"{property}\" holds in {states} states"
        );
        checker.discovery(property)
    });
    let actions = path.expect("a world of less than a hundred steps").into_actions();
    println!("{name} without {out:?}: \"{property}\" fails after {} steps: {actions:?}", actions.len());
}
