//! Detects that a session in a fork's ancestry was purged.
//!
//! Sessions don't track their forks, so a fork checks its ancestors before each of its turns. It then continues
//! without the purged history, and without everything that its own earlier turns left and that contains any of it:
//! the provider's conversation state and the stored prompt state.

use contracts::id::SessionId;
use protocol::{id::SessionKey, session::Session, transition::begin::PurgedAncestor};

use crate::ports::{Reads, Unavailable};

/// The most nested forks to follow.
const MAX_DEPTH: usize = 16;

/// Finds the nearest ancestor that was purged since the previous turn; none if the session already knows of it.
pub(crate) async fn find(
    store: &impl Reads,
    session: &Session,
) -> Result<Option<PurgedAncestor>, Unavailable> {
    let parent = |session: &Session| session.forked_from.as_ref().map(|origin| origin.session.clone());
    let known_cutoff = session.cutoff.as_ref().map(|cut| &cut.session);
    let mut visited: Vec<SessionId> = Vec::new();
    let mut next = parent(session);
    while let Some(id) = next.take_if(|id| known_cutoff != Some(&*id) && visited.len() < MAX_DEPTH) {
        let key = SessionKey { org: session.key.org.clone(), session: id.clone() };
        match store.session(&key).await? {
            Some(origin) if origin.is_purged() => {
                return Ok(Some(PurgedAncestor { session: id, remaining_ancestors: visited }));
            }
            Some(origin) => next = parent(&origin),
            None => {}
        }
        visited.push(id);
    }
    Ok(None)
}
