//! Detects that a fork may no longer tell what a session in its ancestry says: the session was purged, the caller may
//! not see it since it became private or was deleted, or it can't be checked.
//!
//! Sessions don't track their forks, so a fork checks its ancestors before each of its turns. It then continues
//! without that history, and without everything that its own earlier turns left and that contains any of it: the
//! provider's conversation state and the stored prompt state. It does so for everybody from then on, since later turns
//! build on this one.

use contracts::id::SessionId;
use protocol::{
    Caller,
    ancestry::{LossReason, LostAncestor, MAX_FORK_DEPTH},
    id::SessionKey,
    session::Session,
};

use crate::flow::access;
use crate::ports::{Reads, Unavailable};

/// Finds the nearest ancestor that was lost since the previous turn; none if the session already knows of it. The
/// ancestor after the last that is checked is lost too, and so is one that doesn't exist.
pub(crate) async fn find(
    store: &impl Reads,
    caller: &Caller,
    session: &Session,
) -> Result<Option<LostAncestor>, Unavailable> {
    let known_cutoff = session.cutoff.as_ref().map(|cut| &cut.session);
    let mut visited: Vec<SessionId> = Vec::new();
    let mut next = session.forked_from.clone();
    while let Some(parent) = next.take_if(|parent| known_cutoff != Some(&parent.session)) {
        let reason = match visited.len() {
            MAX_FORK_DEPTH => Some(LossReason::ForkDepth),
            _ => {
                let key = SessionKey { org: session.key.org.clone(), session: parent.session.clone() };
                match store.session(&key).await? {
                    Some(origin) if origin.is_purged() => Some(LossReason::Purged),
                    Some(origin) if !access::can_see(store, caller, &origin).await? => {
                        Some(LossReason::Hidden)
                    }
                    Some(origin) => {
                        next.clone_from(&origin.forked_from);
                        None
                    }
                    // An import may bring a fork without its origin.
                    None => Some(LossReason::Purged),
                }
            }
        };
        if let Some(reason) = reason {
            let hidden_depth = parent.depth;
            let session = parent.session;
            return Ok(Some(LostAncestor { session, reason, remaining_ancestors: visited, hidden_depth }));
        }
        visited.push(parent.session);
    }
    Ok(None)
}
