//! A cache of contexts, which are read often and written rarely.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The most time that a cached context may be stale.
const TTL: Duration = Duration::from_secs(60);
/// The most contexts to cache. Beyond that the cache is cleared.
const MAX_CONTEXTS: usize = 1_000;

/// Recently read contexts, by key.
#[derive(Debug, Clone, Default)]
pub(super) struct ContextCache(Arc<Mutex<Documents>>);

/// Maps partition and sort key to the time of the read and the text.
type Documents = HashMap<(String, String), (Instant, String)>;

impl ContextCache {
    pub(super) fn get(&self, key: &(String, String)) -> Option<String> {
        let context_cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        context_cache.get(key).filter(|(read, _)| read.elapsed() < TTL).map(|(_, document)| document.clone())
    }

    pub(super) fn put(&self, key: (String, String), document: String) {
        let mut context_cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if context_cache.len() >= MAX_CONTEXTS {
            context_cache.clear();
        }
        context_cache.insert(key, (Instant::now(), document));
    }
}
