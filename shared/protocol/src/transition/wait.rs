//! An estimate of how long a client should wait for a running turn.

use std::time::Duration;

use contracts::Timestamp;

use super::take_over::takeover_after;
use crate::{
    timing::Timing,
    turn::{State, Turn},
};

/// A `Retry-After` has whole seconds, and 0 would make clients poll.
const MIN_WAIT: Duration = Duration::from_secs(1);
/// A longer wait would delay the answer of a turn that ends earlier than estimated.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Estimates the time after which a retry for an unfinished turn is worthwhile.
///
/// Work that has lasted for some time is likely to last about as long again, so a client's waits double with the age
/// of the work. Most turns take seconds. The estimate never goes past the time at which the turn may be taken over
/// from a dead attempt. The duration of a client's tools can't be estimated.
#[must_use]
pub fn estimate_wait(turn: &Turn, now: Timestamp, timing: &Timing) -> Duration {
    let State::Running { lease_ends, stage } = &turn.state else { return MAX_WAIT };
    let age = match stage.round {
        0 => turn.created.until(now),
        // The time of the resume is not stored. The last renewal, at most a third of a lease ago, stands in for it.
        _ => timing.lease.saturating_sub(now.until(*lease_ends)),
    };
    let until_takeover = now.until(takeover_after(*lease_ends, timing));
    age.min(until_takeover).clamp(MIN_WAIT, MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::{super::tests, *};
    use crate::turn::Stage;

    #[test]
    fn wait_equals_turn_age_and_ends_with_the_lease() {
        let (_, begun) = tests::running();
        let wait = |round: u32, age: u64, lease_ends: u64| {
            let stage = Stage { round, attempts: vec![begun.attempt.clone()] };
            let state = State::Running { lease_ends: tests::at(lease_ends), stage };
            let turn = Turn { state, ..begun.clone() };
            estimate_wait(&turn, tests::at(age), &Timing::default()).as_secs()
        };
        // Age of the turn, end of its lease, expected wait. A lease lasts 30 s, and takeovers start 2 s later.
        let cases = [
            (0, 30, 1),
            (1, 30, 1),
            (4, 30, 4),
            (15, 40, 15),
            (20, 22, 4),
            (300, 325, 27),
            (300, 330, 30),
            (40, 30, 1),
        ];
        for (age, lease_ends, seconds) in cases {
            assert_eq!(wait(0, age, lease_ends), seconds, "{age} s old, its lease ends at {lease_ends} s");
        }
        assert_eq!(wait(1, 86_400, 86_427), 3, "renewed 3 s ago");
    }
}
