//! The provider's own memory: what it stored of each response that can be chained from.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use agent::model::FunctionCall;

/// A stored response.
#[derive(Debug, Clone, Default)]
pub(super) struct Stored {
    /// The calls that it made.
    pub(super) calls: Vec<FunctionCall>,
    /// The replies that are to come: a word each, see [`super::calls`].
    pub(super) to_come: Vec<String>,
}

#[derive(Debug, Default)]
struct Memory {
    calls: u64,
    stored: BTreeMap<String, Stored>,
}

/// The provider of a run. Handles share it.
#[derive(Debug, Clone, Default)]
pub struct Provider(Arc<Mutex<Memory>>);

impl Provider {
    /// How many replies it gave.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.memory().calls
    }

    pub(super) fn next(&self) -> u64 {
        let mut memory = self.memory();
        memory.calls += 1;
        memory.calls
    }

    pub(super) fn recall(&self, response: &str) -> Option<Stored> {
        self.memory().stored.get(response).cloned()
    }

    pub(super) fn store(&self, response: String, stored: Stored) {
        self.memory().stored.insert(response, stored);
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
