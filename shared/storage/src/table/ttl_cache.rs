//! A cache of documents that are read often and written rarely. Each process has its own.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Recently read values. Absence is a value too, where it is cached as one.
#[derive(Debug)]
pub(crate) struct TtlCache<K, V> {
    ttl: Duration,
    max_entries: usize,
    entries: Arc<Mutex<HashMap<K, (Instant, V)>>>,
}

impl<K, V> Clone for TtlCache<K, V> {
    fn clone(&self) -> Self {
        Self { ttl: self.ttl, max_entries: self.max_entries, entries: Arc::clone(&self.entries) }
    }
}

impl<K: Eq + Hash, V: Clone> TtlCache<K, V> {
    /// Creates a cache whose values are stale for at most `ttl`. Beyond `max_entries` it is cleared.
    pub(crate) fn new(ttl: Duration, max_entries: usize) -> Self {
        Self { ttl, max_entries, entries: Arc::default() }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.get_at(key, Instant::now())
    }

    /// Caches a value whose read began at this time. What was written before that can't be missing from it.
    pub(crate) fn put(&self, key: K, value: V, read_from: Instant) {
        let mut entries = self.entries();
        if entries.len() >= self.max_entries {
            // Simpler than an order of use, and rare: afterwards each entry costs one read.
            entries.clear();
        }
        entries.insert(key, (read_from, value));
    }

    pub(crate) fn remove(&self, key: &K) {
        self.entries().remove(key);
    }

    fn get_at(&self, key: &K, now: Instant) -> Option<V> {
        let entries = self.entries();
        let (read, value) = entries.get(key)?;
        (now.saturating_duration_since(*read) < self.ttl).then(|| value.clone())
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<K, (Instant, V)>> {
        // No operation on the map leaves it half changed, so a panic of another thread spoils nothing.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(60);

    #[test]
    fn value_is_stale_a_minute_after_its_read_began() {
        let cache = TtlCache::new(TTL, 2);
        let read = Instant::now();
        cache.put("a", None::<u8>, read);
        assert_eq!(cache.get(&"a"), Some(None), "absence is cached");
        assert_eq!(cache.get_at(&"a", read + TTL - Duration::from_millis(1)), Some(None));
        assert_eq!(cache.get_at(&"a", read + TTL), None);
        cache.put("a", Some(1), read + TTL);
        assert_eq!(cache.get_at(&"a", read + TTL), Some(Some(1)));
    }

    #[test]
    fn full_cache_is_cleared_and_clones_share_it() {
        let cache = TtlCache::new(TTL, 2);
        let clone = cache.clone();
        for key in ["a", "b", "c"] {
            cache.put(key, (), Instant::now());
        }
        assert_eq!((clone.get(&"a"), clone.get(&"c")), (None, Some(())));
        clone.remove(&"c");
        assert_eq!(cache.get(&"c"), None);
    }
}
