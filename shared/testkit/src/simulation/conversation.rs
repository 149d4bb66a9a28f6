//! What a client knows of its turn: the calls it was told to run, and what it answered.

use contracts::ToolContinuation;
use serde_json::Value;

use crate::client::{Calls, Mutation, mutated};

/// A client's side of a turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Conversation {
    /// What it sends next; none: its user turn.
    pub(super) results: Option<ToolContinuation>,
    /// Everything that it answered calls with so far.
    pub(super) accepted: Vec<ToolContinuation>,
    calls: Option<Calls>,
    list: Vec<Value>,
    earlier: Vec<Value>,
}

impl Conversation {
    /// Takes an answer in; true when it is calls to run.
    pub(super) fn hears(&mut self, body: &[u8], says: u32) -> bool {
        let Some(calls) = Calls::read(body) else {
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

    /// Results with a fault, where there can be such.
    pub(super) fn wrong(&self, mutation: Mutation, at: usize) -> Option<ToolContinuation> {
        let calls = self.calls.as_ref()?;
        mutated(&self.list, mutation, at, &self.earlier).map(|list| calls.request(&list))
    }
}
