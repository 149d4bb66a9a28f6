//! The keys that are kept, and whether to ask for them again. No I/O.

use std::time::{Duration, SystemTime};

use jsonwebtoken::jwk::{Jwk, JwkSet};

/// After so long they are asked for again, so that a key that was withdrawn does not count for ever.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// For so long they count while the provider can't be reached.
const USABLE: Duration = Duration::from_secs(24 * 60 * 60);
/// No more often is the provider asked, whatever ids tokens make up.
const PAUSE: Duration = Duration::from_secs(10);

/// The keys, and when.
#[derive(Debug, Default)]
pub(super) struct Kept {
    keys: Option<(JwkSet, SystemTime)>,
    tried: Option<SystemTime>,
}

/// What to do for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Take what is kept.
    Keep,
    /// Ask the provider.
    Ask,
}

impl Kept {
    pub(super) fn next(&self, id: Option<&str>, now: SystemTime) -> Next {
        let is_fresh = self.keys.as_ref().is_some_and(|(_, since)| age(*since, now) < FRESH);
        let waits = self.keys.is_some() && self.tried.is_some_and(|tried| age(tried, now) < PAUSE);
        if waits || (is_fresh && self.find(id).is_some()) { Next::Keep } else { Next::Ask }
    }

    pub(super) fn tried(&mut self, now: SystemTime) {
        self.tried = Some(now);
    }

    pub(super) fn replace(&mut self, keys: JwkSet, now: SystemTime) {
        self.keys = Some((keys, now));
    }

    pub(super) fn is_too_old(&self, now: SystemTime) -> bool {
        self.keys.as_ref().is_none_or(|(_, since)| age(*since, now) >= USABLE)
    }

    pub(super) fn find(&self, id: Option<&str>) -> Option<&Jwk> {
        let keys = &self.keys.as_ref()?.0;
        match (id, keys.keys.as_slice()) {
            (Some(id), _) => keys.find(id),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }
}

/// A clock that was set back makes everything new.
fn age(since: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(since).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys(ids: &[&str]) -> JwkSet {
        let key = |id: &&str| json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": "AA"});
        serde_json::from_value(json!({"keys": ids.iter().map(key).collect::<Vec<_>>()})).unwrap()
    }

    fn after(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
    }

    fn kept(ids: &[&str]) -> Kept {
        let mut kept = Kept::default();
        kept.tried(after(0));
        kept.replace(keys(ids), after(0));
        kept
    }

    #[test]
    fn known_keys_are_kept_for_an_hour() {
        let kept = kept(&["a"]);
        assert_eq!(kept.next(Some("a"), after(3_599)), Next::Keep);
        assert_eq!(kept.next(Some("a"), after(3_600)), Next::Ask);
        assert_eq!(Kept::default().next(Some("a"), after(0)), Next::Ask);
    }

    #[test]
    fn an_unknown_key_is_asked_for_and_not_at_every_request() {
        let mut kept = kept(&["a"]);
        assert_eq!(kept.next(Some("b"), after(9)), Next::Keep, "asked a moment ago");
        assert_eq!(kept.next(Some("b"), after(10)), Next::Ask, "the keys may have been changed");
        kept.tried(after(10));
        assert_eq!(kept.next(Some("b"), after(19)), Next::Keep);
        assert_eq!(kept.find(Some("b")), None);
    }

    #[test]
    fn without_any_keys_every_request_asks() {
        let mut kept = Kept::default();
        kept.tried(after(0));
        assert_eq!(kept.next(Some("a"), after(1)), Next::Ask);
        assert!(kept.is_too_old(after(1)));
    }

    #[test]
    fn keys_count_for_a_day_where_the_provider_is_away() {
        let kept = kept(&["a"]);
        assert!(!kept.is_too_old(after(86_399)));
        assert!(kept.is_too_old(after(86_400)));
    }

    #[test]
    fn a_token_that_names_no_key_has_the_only_one() {
        assert!(kept(&["a"]).find(None).is_some());
        assert!(kept(&["a", "b"]).find(None).is_none());
    }
}
