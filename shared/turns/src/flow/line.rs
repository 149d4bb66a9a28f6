//! A line, read from a turn back: whatever tells what came before a turn goes along it.

use futures::{
    FutureExt, TryFutureExt,
    future::{BoxFuture, ready, try_join},
};
use protocol::{
    id::SessionKey,
    line::Predecessor,
    turn::{Turn, Verdict},
};

use crate::ports::{Reads, Unavailable};

/// How many heads are read at once where only heads are.
const HEADS: usize = 25;

/// How many turns are looked at for one that was completed. Where none of so many was, nothing is gone on from at the
/// provider, and what came before is told.
const MOST_HEADS: usize = 200;

/// Some turns of a line, from this one back, newest first; and the turn before them. Of as many heads as are read at
/// once those are kept that lie on the line. A line that leads out of its `own` session ends before one that is being
/// purged, whatever of it is still there.
pub(super) async fn back_from(
    store: &impl Reads,
    own: &SessionKey,
    from: Predecessor,
    at_once: usize,
) -> Result<(Vec<Turn>, Option<Predecessor>), Unavailable> {
    let heads = store.earlier(&from.session, from.sequence.saturating_add(1), at_once);
    // Boxed: few lines lead out of their session.
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
            |next: &Predecessor| (&next.session, next.sequence) == (&head.key.session, head.sequence);
        if next.as_ref().is_some_and(is_next) {
            next = head.predecessor();
            line.push(head);
        }
    }
    if line.is_empty() {
        let source = "turns are missing from the session".into();
        return Err(Unavailable { what: "the session's history", source });
    }
    Ok((line, next))
}

/// The newest completed turn of a line, from this one back.
pub(super) async fn completed(
    store: &impl Reads,
    own: &SessionKey,
    from: Option<Predecessor>,
) -> Result<Option<Turn>, Unavailable> {
    let (mut next, mut looked_at) = (from, 0);
    while let Some(from) = next.filter(|_| looked_at < MOST_HEADS) {
        let (line, before) = back_from(store, own, from, HEADS).await?;
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
