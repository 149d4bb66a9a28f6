//! Detects that a fork may no longer tell what a session in its ancestry says: the session was purged, or the caller
//! may not see it since it became private or was deleted.
//!
//! Sessions don't track their forks, so a fork checks its ancestors before each of its turns. It then continues
//! without that history, and without everything that its own earlier turns left and that contains any of it: the
//! provider's conversation state and the stored prompt state. It does so for everybody from then on, since later turns
//! build on this one.

use contracts::id::SessionId;
use protocol::{Caller, ancestry::LostAncestor, id::SessionKey, session::Session};

use crate::flow::access;
use crate::ports::{Reads, Unavailable};

/// The most nested forks to follow.
const MAX_DEPTH: usize = 16;

/// Finds the nearest ancestor that was lost since the previous turn; none if the session already knows of it.
pub(crate) async fn find(
    store: &impl Reads,
    caller: &Caller,
    session: &Session,
) -> Result<Option<LostAncestor>, Unavailable> {
    let known_cutoff = session.cutoff.as_ref().map(|cut| &cut.session);
    let mut visited: Vec<SessionId> = Vec::new();
    let mut next = session.forked_from.clone();
    while let Some(parent) =
        next.take_if(|parent| known_cutoff != Some(&parent.session) && visited.len() < MAX_DEPTH)
    {
        let key = SessionKey { org: session.key.org.clone(), session: parent.session.clone() };
        match store.session(&key).await? {
            Some(origin) if origin.is_purged() => {
                let hidden_depth = 0;
                return Ok(Some(LostAncestor {
                    session: parent.session,
                    remaining_ancestors: visited,
                    hidden_depth,
                }));
            }
            Some(origin) if !access::can_see(store, caller, &origin).await? => {
                let hidden_depth = parent.depth;
                return Ok(Some(LostAncestor {
                    session: parent.session,
                    remaining_ancestors: visited,
                    hidden_depth,
                }));
            }
            Some(origin) => next.clone_from(&origin.forked_from),
            None => {}
        }
        visited.push(parent.session);
    }
    Ok(None)
}
