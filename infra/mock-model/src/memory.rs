//! State between requests: the replies after a `then`, the uses of each `times`, and the readable and deleted responses.
//! It is bounded and lost on restart.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::bill::Charge;
use crate::reply::{Outlived, Reply};

const MAX_ENTRIES: usize = 1_000;

/// A response that is stored.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) id: String,
    pub(crate) outlives: Option<Outlived>,
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    then: Mutex<Bounded<Vec<Reply>>>,
    spent: Mutex<Bounded<u32>>,
    removed: Mutex<Bounded<()>>,
    readable: Mutex<Bounded<Value>>,
}

impl Memory {
    /// Stores the replies to the request that brings the results of this response's calls.
    pub(crate) fn keep_then(&self, response: String, replies: Vec<Reply>) {
        if !replies.is_empty() {
            lock(&self.then).insert(response, replies);
        }
    }

    /// Returns the remaining replies after this response. They are kept, because a request may be repeated.
    pub(crate) fn then(&self, response: &str) -> Option<Vec<Reply>> {
        lock(&self.then).entries.get(response).cloned()
    }

    /// Removes a response. Returns false if it was removed before.
    pub(crate) fn remove(&self, response: &str) -> bool {
        let mut removed = lock(&self.removed);
        let is_there = !removed.entries.contains_key(response);
        removed.insert(response.to_owned(), ());
        is_there
    }

    /// Makes a response readable with what it cost, if it was sent whole or outlives its client.
    pub(crate) fn keep_readable(&self, Stored { id, outlives }: &Stored, charge: Charge) {
        let status = match (charge.is_whole, outlives) {
            (true, _) => "completed",
            (false, Some(Outlived::Ended)) => "incomplete",
            (false, Some(Outlived::Unfinished)) => "in_progress",
            (false, None) => return,
        };
        let Charge { input, output, .. } = charge;
        let usage = json!({ "input_tokens": input, "output_tokens": output, "total_tokens": input + output });
        let usage = if status == "in_progress" { Value::Null } else { usage };
        let shown = json!({ "id": id, "object": "response", "status": status, "output": [], "usage": usage });
        lock(&self.readable).insert(id.clone(), shown);
    }

    /// Returns a readable response that wasn't deleted.
    pub(crate) fn readable(&self, response: &str) -> Option<Value> {
        let shown = lock(&self.readable).entries.get(response).cloned();
        shown.filter(|_| !self.is_removed(response))
    }

    /// True if a response was deleted.
    pub(crate) fn is_removed(&self, response: &str) -> bool {
        lock(&self.removed).entries.contains_key(response)
    }

    /// Uses up one of `times` for this request. Returns false, and resets the count, once all are used.
    pub(crate) fn spend(&self, request: &str, times: u32) -> bool {
        let mut spent = lock(&self.spent);
        let so_far = spent.entries.get(request).copied().unwrap_or(0);
        if so_far < times {
            spent.insert(request.to_owned(), so_far + 1);
            return true;
        }
        spent.entries.remove(request);
        false
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A map of bounded size that evicts its oldest entries.
#[derive(Debug)]
struct Bounded<T> {
    entries: HashMap<String, T>,
    order: VecDeque<String>,
}

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new() }
    }
}

impl<T> Bounded<T> {
    fn insert(&mut self, key: String, value: T) {
        if self.entries.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > MAX_ENTRIES {
            if let Some(oldest) = self.order.pop_front() {
                self.entries.remove(&oldest);
            }
        }
    }
}
