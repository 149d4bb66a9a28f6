//! Access: who may see a session, and the audit of what others than its participants do with it.

use contracts::id::SessionId;
use protocol::{
    Caller,
    session::{Part, Session},
};

use crate::ports::{Reads, Unavailable};

/// What the caller is to a session.
pub(super) async fn part_of(
    store: &impl Reads,
    caller: &Caller,
    session: &Session,
) -> Result<Part, Unavailable> {
    if session.owner.id == caller.user.id {
        return Ok(Part::Owner);
    }
    let takes_part = store.takes_part(&session.key, &caller.user.id).await?;
    Ok(if takes_part { Part::Participant } else { Part::None })
}

/// Whether the caller may see a session. Costs a read only where that depends on what the caller is to it.
pub(super) async fn sees(
    store: &impl Reads,
    caller: &Caller,
    session: &Session,
) -> Result<bool, Unavailable> {
    if session.is_seen_by(caller, Part::None) {
        return Ok(true);
    }
    Ok(session.is_seen_by(caller, part_of(store, caller, session).await?))
}

/// A line of the log for whoever has to know who did what to whose session (docs/logs.md). The request's own
/// fields say who and which. What the caller is to the session is left out where that can't be read: it is done.
pub(super) async fn audit_write(
    store: &impl Reads,
    action: &'static str,
    caller: &Caller,
    session: &Session,
) {
    audit(action, caller, part_of(store, caller, session).await.ok());
}

/// The same of a read: those of its own participants are nobody's business.
pub(super) fn audit_read(caller: &Caller, part: Part) {
    if caller.operator || part == Part::None {
        audit("read", caller, Some(part));
    }
}

/// The same of a search, which may show words of sessions in which its caller took no part.
pub(super) fn audit_search(caller: &Caller) {
    audit("search", caller, None);
}

/// The same of a session that is taken or brought as a whole, whoever does it.
pub(super) fn audit_whole(action: &'static str, caller: &Caller, session: &SessionId) {
    tracing::info!(action, operator = caller.operator, session = session.as_str(), "audit");
}

fn audit(action: &'static str, caller: &Caller, part: Option<Part>) {
    let participant = part.map(|part| part != Part::None);
    tracing::info!(action, operator = caller.operator, participant, "audit");
}
