//! State between requests: the replies after a `then`, the uses of each `times` and the deleted responses.
//! It is bounded and lost on restart.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::reply::Reply;

const MAX_ENTRIES: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    then: Mutex<Bounded<Vec<Reply>>>,
    spent: Mutex<Bounded<u32>>,
    removed: Mutex<Bounded<()>>,
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
