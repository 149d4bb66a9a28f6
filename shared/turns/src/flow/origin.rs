//! Origin: where the line of a fork begins once a session that it leads into was purged.
//!
//! Nobody keeps a list of a session's forks, so a fork finds out itself, before each of its turns. It then goes on
//! without what is gone, and without whatever its own earlier turns left that tells of it: what their provider
//! remembers, and how the conversation was told to them.

use contracts::id::SessionId;
use protocol::{id::SessionKey, session::Session, transition::begin::PurgedOrigin};

use crate::ports::{Reads, Unavailable};

/// How many forks of forks are looked through.
const MOST: usize = 16;

/// The nearest session that a session's line leads into and that was purged since the turn before; none where it knows.
pub(super) async fn purged_since(
    store: &impl Reads,
    session: &Session,
) -> Result<Option<PurgedOrigin>, Unavailable> {
    let of = |session: &Session| session.forked_from.as_ref().map(|origin| origin.session.clone());
    let known = session.cut.as_ref().map(|cut| &cut.session);
    let mut reached: Vec<SessionId> = Vec::new();
    let mut next = of(session);
    while let Some(id) = next.take_if(|id| known != Some(&*id) && reached.len() < MOST) {
        let key = SessionKey { org: session.key.org.clone(), session: id.clone() };
        match store.session(&key).await? {
            Some(origin) if origin.is_purged() => return Ok(Some(PurgedOrigin { session: id, reached })),
            Some(origin) => next = of(&origin),
            None => {}
        }
        reached.push(id);
    }
    Ok(None)
}
