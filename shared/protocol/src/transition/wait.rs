//! How long a client had better wait for a running turn: an estimate, no promise.

use std::time::Duration;

use contracts::Timestamp;

use super::take::takeable_at;
use crate::{
    timing::Timing,
    turn::{State, Turn},
};

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// When it is worth coming back for a turn that is not over.
///
/// What has lasted for some time is likely to last about as long again, so a client's waits double with the age of
/// the work: most turns take seconds. Nobody waits past the moment at which the turn may be taken from an attempt
/// that died. How long a client's tools take is nobody's guess.
#[must_use]
pub fn likely(turn: &Turn, now: Timestamp, timing: &Timing) -> Duration {
    let State::Running { lease_ends, stage } = &turn.state else { return LONGEST };
    let age = match stage.round {
        0 => turn.created.until(now),
        // When it was resumed is not kept. A lease is renewed three times in its length.
        _ => timing.lease.saturating_sub(now.until(*lease_ends)),
    };
    let takeable = now.until(takeable_at(*lease_ends, timing));
    age.min(takeable).clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::{super::tests, *};
    use crate::turn::Stage;

    #[test]
    fn a_client_waits_as_long_as_the_turn_has_lasted_and_no_longer_than_its_lease() {
        let (_, begun) = tests::running();
        let wait = |round: u32, age: u64, lease_ends: u64| {
            let stage = Stage { round, attempts: vec![begun.attempt.clone()] };
            let state = State::Running { lease_ends: tests::at(lease_ends), stage };
            let turn = Turn { state, ..begun.clone() };
            likely(&turn, tests::at(age), &Timing::default()).as_secs()
        };
        // Its age, its lease's end, the wait. A lease lasts 30 s, and others count it as over 2 s later.
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
        assert_eq!(wait(1, 86_400, 86_427), 3, "it was resumed, and renewed 3 s ago");
    }
}
