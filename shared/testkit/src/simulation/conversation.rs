//! A client's knowledge of its turn: the calls it received and its results.

use contracts::ToolContinuation;
use serde_json::Value;

use crate::client::{Mutation, PendingCalls, mutate};

/// A client's side of a turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Conversation {
    /// The results to send next, or `None` for the user turn.
    pub(super) results: Option<ToolContinuation>,
    /// All results that it has sent so far.
    pub(super) accepted: Vec<ToolContinuation>,
    calls: Option<PendingCalls>,
    list: Vec<Value>,
    earlier: Vec<Value>,
}

impl Conversation {
    /// Processes a response. Returns true if it has calls to run.
    pub(super) fn receive(&mut self, body: &[u8], says: u32) -> bool {
        let Some(calls) = PendingCalls::parse(body) else {
            return false;
        };
        if self.calls.as_ref() != Some(&calls) {
            let list = calls.results(&format!("client {says}"));
            self.earlier = std::mem::replace(&mut self.list, list);
            self.calls = Some(calls.clone());
        }
        let results = calls.request(&self.list);
        if self.accepted.last() != Some(&results) {
            self.accepted.push(results.clone());
        }
        self.results = Some(results);
        true
    }

    /// Returns results with a fault, if possible.
    pub(super) fn wrong_results(&self, mutation: Mutation, at: usize) -> Option<ToolContinuation> {
        let calls = self.calls.as_ref()?;
        mutate(&self.list, mutation, at, &self.earlier).map(|list| calls.request(&list))
    }
}
