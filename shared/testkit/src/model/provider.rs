//! The provider's state: its responses, and which of them can be continued.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use agent::model::FunctionCall;
use contracts::Usage;
use protocol::purge::ProviderResponseRef;
use turns::ports::{ProviderResponses, Unavailable};

use super::calls;

/// A response.
#[derive(Debug, Clone, Default)]
pub(super) struct StoredResponse {
    /// The model that wrote it.
    pub(super) model: String,
    /// Set if the provider stores it. Only then it can be continued.
    pub(super) kept: bool,
    /// The calls that it made.
    pub(super) calls: Vec<FunctionCall>,
    /// The replies to come, one word each, see [`super::calls`].
    pub(super) remaining: Vec<String>,
}

#[derive(Debug, Default)]
struct Memory {
    calls: u64,
    stored: BTreeMap<String, StoredResponse>,
    refuse_removals: bool,
    told_later: Option<Usage>,
}

/// Returns the id of the nth reply.
pub(super) fn response_id(number: u64) -> String {
    format!("resp_{number}")
}

/// The id of every response that has no end.
pub(super) const RUNNING: &str = "resp_running";

/// The provider of a run. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Provider(Arc<Mutex<Memory>>);

impl Provider {
    /// Returns the number of replies so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.memory().calls
    }

    pub(super) fn next(&self) -> u64 {
        let mut memory = self.memory();
        memory.calls += 1;
        memory.calls
    }

    pub(super) fn recall(&self, response: &str) -> Option<StoredResponse> {
        self.memory().stored.get(response).filter(|stored| stored.kept).cloned()
    }

    /// Returns the response that made a call, whether it is stored or not.
    pub(super) fn response_with_call(&self, call: &FunctionCall) -> Option<StoredResponse> {
        self.memory().stored.get(&response_id(calls::reply_number(call)?)).cloned()
    }

    pub(super) fn store(&self, response: String, stored: StoredResponse) {
        self.memory().stored.insert(response, stored);
    }

    /// Returns the ids of the stored responses.
    #[must_use]
    pub fn stored_responses(&self) -> BTreeSet<String> {
        let memory = self.memory();
        let kept = memory.stored.iter().filter(|(_, stored)| stored.kept);
        kept.map(|(id, _)| id.clone()).collect()
    }

    /// Turns the rejection of removals on or off.
    pub fn refuse_removals(&self, refuses: bool) {
        self.memory().refuse_removals = refuses;
    }

    /// Sets the usage that is told later of replies that were cut off; none at first.
    pub fn tell_later(&self, usage: Usage) {
        self.memory().told_later = Some(usage);
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProviderResponses for Provider {
    async fn remove(&self, response: &ProviderResponseRef) -> Result<(), Unavailable> {
        let mut memory = self.memory();
        if memory.refuse_removals {
            return Err(Unavailable { what: "the provider", source: "it removes nothing".into() });
        }
        memory.stored.remove(&response.response_id);
        Ok(())
    }

    async fn usage(&self, response: &ProviderResponseRef) -> Result<Option<Usage>, Unavailable> {
        Ok(self.memory().told_later.filter(|_| response.response_id == RUNNING))
    }
}
