//! A cache of the capabilities of model providers, so that a process detects each limitation only once.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use agent::prompt::conversation::ObservedCapability;

/// The number of consecutive sessions whose continuation a provider refuses before it counts as stateless. A single
/// refusal may be one lost response.
const STATELESS_AFTER_REFUSALS: u32 = 2;

/// The capabilities of providers, by provider id. Each process detects them itself. Facts that matter to one session
/// are stored with the session.
#[derive(Debug, Default)]
pub(crate) struct CapabilityCache(Mutex<BTreeMap<String, Capabilities>>);

#[derive(Debug, Default)]
struct Capabilities {
    is_stateless: bool,
    refusals: u32,
    refuses_reasoning: bool,
}

impl CapabilityCache {
    /// True if the provider doesn't store responses, so that a request can't continue from one.
    pub(crate) fn is_stateless(&self, provider: &str) -> bool {
        self.with_entry(provider, |entry| entry.is_stateless)
    }

    /// True if the provider refuses requests that ask for a model's reasoning.
    pub(crate) fn refuses_reasoning(&self, provider: &str) -> bool {
        self.with_entry(provider, |entry| entry.refuses_reasoning)
    }

    /// Records what a reply shows about the provider.
    pub(crate) fn record(&self, provider: &str, capability: ObservedCapability) {
        self.with_entry(provider, |entry| match capability {
            ObservedCapability::ContinuesResponses => entry.refusals = 0,
            ObservedCapability::StoresNothing => entry.is_stateless = true,
            ObservedCapability::RejectsReasoning => entry.refuses_reasoning = true,
            ObservedCapability::RejectsContinuation => {
                entry.refusals = entry.refusals.saturating_add(1);
                entry.is_stateless |= entry.refusals >= STATELESS_AFTER_REFUSALS;
            }
        });
    }

    fn with_entry<T>(&self, provider: &str, access: impl FnOnce(&mut Capabilities) -> T) -> T {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        access(entries.entry(provider.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stateless_provider_is_detected_by_notice_or_second_refusal() {
        let cache = CapabilityCache::default();
        cache.record("says", ObservedCapability::StoresNothing);
        for capability in [
            ObservedCapability::RejectsContinuation,
            ObservedCapability::ContinuesResponses,
            ObservedCapability::RejectsContinuation,
        ] {
            cache.record("refuses", capability);
        }
        assert_eq!((cache.is_stateless("says"), cache.is_stateless("refuses")), (true, false));
        cache.record("refuses", ObservedCapability::RejectsContinuation);
        assert!(cache.is_stateless("refuses") && !cache.is_stateless("another"));
    }
}
