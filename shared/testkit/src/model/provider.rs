//! The provider's own memory: what came of each request, and which responses can be chained from.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use agent::model::FunctionCall;
use protocol::purge::LeftUpstream;
use turns::ports::{Unavailable, UpstreamResponses};

use super::calls;

/// A response.
#[derive(Debug, Clone, Default)]
pub(super) struct Stored {
    /// The model that wrote it.
    pub(super) model: String,
    /// Whether it was to be kept: only then it can be chained from.
    pub(super) kept: bool,
    /// The calls that it made.
    pub(super) calls: Vec<FunctionCall>,
    /// The replies that are to come: a word each, see [`super::calls`].
    pub(super) to_come: Vec<String>,
}

#[derive(Debug, Default)]
struct Memory {
    calls: u64,
    stored: BTreeMap<String, Stored>,
    refuses_to_remove: bool,
}

/// The id of the n-th reply.
pub(super) fn response_id(number: u64) -> String {
    format!("resp_{number}")
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
        self.memory().stored.get(response).filter(|stored| stored.kept).cloned()
    }

    /// The response that made a call, kept or not: whoever wrote the script knows it.
    pub(super) fn that_called(&self, call: &FunctionCall) -> Option<Stored> {
        self.memory().stored.get(&response_id(calls::reply_of(call)?)).cloned()
    }

    pub(super) fn store(&self, response: String, stored: Stored) {
        self.memory().stored.insert(response, stored);
    }

    /// The ids of the responses that it keeps.
    #[must_use]
    pub fn kept(&self) -> BTreeSet<String> {
        let memory = self.memory();
        let kept = memory.stored.iter().filter(|(_, stored)| stored.kept);
        kept.map(|(id, _)| id.clone()).collect()
    }

    /// From now on it removes nothing, or does again.
    pub fn refuses_to_remove(&self, refuses: bool) {
        self.memory().refuses_to_remove = refuses;
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UpstreamResponses for Provider {
    async fn remove(&self, response: &LeftUpstream) -> Result<(), Unavailable> {
        let mut memory = self.memory();
        if memory.refuses_to_remove {
            return Err(Unavailable { what: "the provider", source: "it removes nothing".into() });
        }
        memory.stored.remove(&response.response_id);
        Ok(())
    }
}
