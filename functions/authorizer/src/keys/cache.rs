//! The cache of public keys, and the decision to fetch them again. No I/O.

use std::time::{Duration, SystemTime};

use jsonwebtoken::jwk::{Jwk, JwkSet};

/// The age at which keys are fetched again, so that a withdrawn key doesn't stay valid.
const REFRESH_AFTER: Duration = Duration::from_secs(60 * 60);
/// The age at which keys expire if the provider is unavailable.
const EXPIRE_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// The minimum interval between fetches, so that forged key ids can't flood the provider.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(10);

/// The cached keys and the times of their fetch and of the last attempt.
#[derive(Debug, Default)]
pub(super) struct JwksCache {
    keys: Option<(JwkSet, SystemTime)>,
    last_attempt: Option<SystemTime>,
}

/// The way to look up a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Use the cached keys.
    UseCached,
    /// Fetch the keys first.
    Fetch,
}

impl JwksCache {
    pub(super) fn decide(&self, id: Option<&str>, now: SystemTime) -> Action {
        let is_fresh = self.keys.as_ref().is_some_and(|(_, fetched)| age(*fetched, now) < REFRESH_AFTER);
        let is_throttled =
            self.keys.is_some() && self.last_attempt.is_some_and(|at| age(at, now) < MIN_FETCH_INTERVAL);
        if is_throttled || (is_fresh && self.find(id).is_some()) { Action::UseCached } else { Action::Fetch }
    }

    pub(super) fn record_attempt(&mut self, now: SystemTime) {
        self.last_attempt = Some(now);
    }

    pub(super) fn replace(&mut self, keys: JwkSet, now: SystemTime) {
        self.keys = Some((keys, now));
    }

    pub(super) fn is_expired(&self, now: SystemTime) -> bool {
        self.keys.as_ref().is_none_or(|(_, fetched)| age(*fetched, now) >= EXPIRE_AFTER)
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

/// Returns the age of a time. Zero if the clock was set back.
fn age(fetched: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(fetched).unwrap_or_default()
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

    fn cache(ids: &[&str]) -> JwksCache {
        let mut cache = JwksCache::default();
        cache.record_attempt(after(0));
        cache.replace(keys(ids), after(0));
        cache
    }

    #[test]
    fn known_key_is_cached_for_an_hour() {
        let cache = cache(&["a"]);
        assert_eq!(cache.decide(Some("a"), after(3_599)), Action::UseCached);
        assert_eq!(cache.decide(Some("a"), after(3_600)), Action::Fetch);
        assert_eq!(JwksCache::default().decide(Some("a"), after(0)), Action::Fetch);
    }

    #[test]
    fn unknown_key_triggers_a_throttled_fetch() {
        let mut cache = cache(&["a"]);
        assert_eq!(cache.decide(Some("b"), after(9)), Action::UseCached, "fetched a moment ago");
        assert_eq!(cache.decide(Some("b"), after(10)), Action::Fetch, "the keys may have changed");
        cache.record_attempt(after(10));
        assert_eq!(cache.decide(Some("b"), after(19)), Action::UseCached);
        assert_eq!(cache.find(Some("b")), None);
    }

    #[test]
    fn empty_cache_fetches_on_every_request() {
        let mut cache = JwksCache::default();
        cache.record_attempt(after(0));
        assert_eq!(cache.decide(Some("a"), after(1)), Action::Fetch);
        assert!(cache.is_expired(after(1)));
    }

    #[test]
    fn cached_keys_expire_after_a_day_without_provider() {
        let cache = cache(&["a"]);
        assert!(!cache.is_expired(after(86_399)));
        assert!(cache.is_expired(after(86_400)));
    }

    #[test]
    fn token_without_key_id_uses_the_only_key() {
        assert!(cache(&["a"]).find(None).is_some());
        assert!(cache(&["a", "b"]).find(None).is_none());
    }
}
