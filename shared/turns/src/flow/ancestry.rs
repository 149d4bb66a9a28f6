//! The ancestry of a turn: its predecessors, across forks. Every flow that needs earlier turns reads them through
//! this.

use futures::{
    FutureExt, TryFutureExt,
    future::{BoxFuture, ready, try_join},
};
use protocol::{
    ancestry::{MAX_FORK_DEPTH, ResolvedParent},
    id::SessionKey,
    session::Session,
    turn::{Turn, Verdict},
};

use crate::ports::{Reads, Unavailable};

/// The number of heads per read, if nothing else is read with them.
const HEADS_PAGE_SIZE: usize = 25;

/// The most turns to search for a completed one. If none of them is completed, the next request doesn't continue at
/// the provider and includes the history instead.
const MAX_HEADS: usize = 200;

/// Reads a page of the ancestry from this turn back, newest first, and the predecessor of the page. It reads
/// `at_once` heads and keeps those in the ancestry. An ancestry that leaves its `own` session ends before a session
/// that is being purged, even if some of its turns still exist.
pub(crate) async fn page(
    store: &impl Reads,
    own: &SessionKey,
    from: ResolvedParent,
    at_once: usize,
) -> Result<(Vec<Turn>, Option<ResolvedParent>), Unavailable> {
    let heads = store.turns_before(&from.session, from.sequence.saturating_add(1), at_once);
    // Boxed: few ancestries leave their session.
    let is_purged: BoxFuture<'_, Result<bool, Unavailable>> = match from.session == *own {
        true => ready(Ok(false)).boxed(),
        false => {
            let found = store.session(&from.session);
            found.map_ok(|session| session.is_some_and(|session| session.is_purged())).boxed()
        }
    };
    let (heads, is_purged) = try_join(heads, is_purged).await?;
    if is_purged {
        return Ok((Vec::new(), None));
    }
    let (mut line, mut next) = (Vec::with_capacity(heads.len()), Some(from));
    for head in heads {
        let is_next =
            |next: &ResolvedParent| (&next.session, next.sequence) == (&head.key.session, head.sequence);
        if next.as_ref().is_some_and(is_next) {
            next = head.resolved_parent();
            line.push(head);
        }
    }
    if line.is_empty() {
        let source = "turns are missing from the session".into();
        return Err(Unavailable { what: "the session's history", source });
    }
    Ok((line, next))
}

/// Finds the newest completed turn of the ancestry, from this turn back. Turns up to `hidden_depth` are left out.
pub(crate) async fn last_completed(
    store: &impl Reads,
    own: &SessionKey,
    from: Option<ResolvedParent>,
    hidden_depth: u64,
) -> Result<Option<Turn>, Unavailable> {
    let (mut next, mut looked_at) = (from, 0);
    while let Some(from) = next.filter(|next| looked_at < MAX_HEADS && next.depth > hidden_depth) {
        let (line, before) = page(store, own, from, HEADS_PAGE_SIZE).await?;
        looked_at += line.len();
        let is_completed = |turn: &Turn| {
            turn.settlement().is_some_and(|ended| matches!(ended.verdict, Verdict::Completed { .. }))
        };
        if let Some(turn) = line.into_iter().find(is_completed) {
            return Ok(Some(turn));
        }
        next = before;
    }
    Ok(None)
}

/// True if a fork of this session would have more ancestors than are checked before each of its turns.
pub(crate) async fn is_too_deep_to_fork(store: &impl Reads, session: &Session) -> Result<bool, Unavailable> {
    let mut next = session.forked_from.clone();
    for _ in 1..MAX_FORK_DEPTH {
        let Some(parent) = next else { return Ok(false) };
        let key = SessionKey { org: session.key.org.clone(), session: parent.session };
        next = store.session(&key).await?.and_then(|origin| origin.forked_from);
    }
    Ok(next.is_some())
}
