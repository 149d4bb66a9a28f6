//! The gradual rollout of a version of a context.

use contracts::Fingerprint;

/// The gradual rollout of a version: a percentage of the sessions uses it in place of the live content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rollout {
    /// The number of the version.
    pub version: u32,
    /// The percentage of sessions, from 1 to 100.
    pub percent: u8,
}

impl Rollout {
    /// True if a session is among the percentage. A session that is in stays in while the percentage grows, also over
    /// versions. Contexts choose their sessions independently.
    #[must_use]
    pub fn includes(self, context: &str, session: &str) -> bool {
        // Neither id contains the separator.
        let hash = Fingerprint::hash_bytes(format!("{context}/{session}").as_bytes()).to_string();
        let digits = hash.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        digits.is_some_and(|number| number % 100 < u32::from(self.percent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_is_near_the_percentage_and_only_grows() {
        let includes = |percent, session: u32| {
            Rollout { version: 2, percent }.includes("helper", &format!("session-{session}"))
        };
        let share = |percent| (0..2_000).filter(|session| includes(percent, *session)).count();
        assert_eq!((share(0), share(100)), (0, 2_000));
        assert!((400..600).contains(&share(25)), "{}", share(25));
        assert!((0..2_000).all(|session| !includes(25, session) || includes(60, session)));
    }

    #[test]
    fn contexts_choose_their_sessions_independently() {
        let half = Rollout { version: 2, percent: 50 };
        let both = (0..2_000).map(|session| session.to_string());
        let both = both.filter(|session| half.includes("a", session) && half.includes("b", session)).count();
        assert!((400..600).contains(&both), "{both}");
    }
}
