//! The check that an MCP server still has the tools that an operator accepted.
//!
//! A server can change a tool at any time. So its list is read before a call, and again after a minute: a request more for
//! the first call of a connection in a minute and a process, and none for the others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use contracts::id::OrgId;
use mcp_client::Session;
use tokio::time::Instant;

use crate::mcp_offer;

/// The time for which a list is used.
const FRESH: Duration = Duration::from_secs(60);
/// The most connections whose lists are cached.
const MAX_LISTS: usize = 256;

/// The cached lists of a process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pins(Arc<Mutex<HashMap<Key, List>>>);

/// The org, the connection and its version, since another version may have another server.
type Key = (String, String, u32);

/// The hash of each tool by its name, and the time of the list.
type List = (Instant, Arc<HashMap<String, String>>);

/// A version of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionVersion<'a> {
    pub(crate) org: &'a OrgId,
    pub(crate) connection: &'a str,
    pub(crate) revision: u32,
}

impl Pins {
    /// Checks that the server has the accepted tool.
    ///
    /// # Errors
    /// Returns the reason, with the fix.
    pub(crate) async fn check(
        &self,
        place: ConnectionVersion<'_>,
        session: &Session,
        tool: &str,
        accepted: &str,
    ) -> Result<(), String> {
        let hashes = match self.cached(place) {
            Some(hashes) => hashes,
            None => self.listed(place, session).await?,
        };
        let review =
            format!("An operator has to review it: `aptix connections refresh {}`", place.connection);
        match hashes.get(tool) {
            Some(hash) if hash == accepted => Ok(()),
            Some(_) => Err(format!("the server has changed the tool since it was accepted. {review}")),
            None => Err(format!("the server no longer has the tool. {review}")),
        }
    }

    fn cached(&self, place: ConnectionVersion<'_>) -> Option<Arc<HashMap<String, String>>> {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, hashes) = lists.get(&key(place))?;
        (at.elapsed() < FRESH).then(|| Arc::clone(hashes))
    }

    async fn listed(
        &self,
        place: ConnectionVersion<'_>,
        session: &Session,
    ) -> Result<Arc<HashMap<String, String>>, String> {
        let list =
            session.list_tools().await.map_err(|fault| format!("its tools can't be listed: {fault}"))?;
        let hashes = list.tools.into_iter().map(|tool| {
            let tool = mcp_offer::offered(tool).tool;
            (tool.name.clone(), tool.server_hash())
        });
        let hashes = Arc::new(hashes.collect());
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|_, (at, _)| at.elapsed() < FRESH);
        if lists.len() < MAX_LISTS {
            lists.insert(key(place), (Instant::now(), Arc::clone(&hashes)));
        }
        Ok(hashes)
    }
}

fn key(place: ConnectionVersion<'_>) -> Key {
    (place.org.to_string(), place.connection.to_owned(), place.revision)
}
