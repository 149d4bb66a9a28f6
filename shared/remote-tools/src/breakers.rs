//! A circuit breaker for each connection, in the memory of the process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use breaker::{Breaker, Policy};
use contracts::id::OrgId;

/// The failures in a row that open a breaker, and the time until a call may try again.
const POLICY: Policy = Policy { failures: 5, pause: Duration::from_secs(15) };
/// The most connections with a breaker. Others are called without one.
const MAX_BREAKERS: usize = 1_024;

/// The breakers of a process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Breakers(Arc<Mutex<ByConnection>>);

/// The breaker of each connection, by its org and its id.
type ByConnection = HashMap<(String, String), Arc<Breaker>>;

impl Breakers {
    /// Returns the breaker of an org's connection.
    pub(crate) fn of(&self, org: &OrgId, connection: &str) -> Arc<Breaker> {
        let new = || Arc::new(Breaker::new(POLICY).with_name(format!("connection {connection}")));
        let mut breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (org.to_string(), connection.to_owned());
        match breakers.len() < MAX_BREAKERS || breakers.contains_key(&key) {
            true => Arc::clone(breakers.entry(key).or_insert_with(new)),
            false => new(),
        }
    }
}
