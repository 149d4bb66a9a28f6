//! Finalize: settled turns become terminal, and what they show is in its place before the head says so
//! (I10).

use futures::future::try_join3;
use protocol::{
    detail::{Participant, ResultDetail},
    id::TurnKey,
    session::Session,
    transition::finalize::finalize,
    turn::{State, Turn},
};

use super::{
    partial,
    steps::{self, Known},
    turn_event,
    write::{self, Written},
};
use crate::ports::{Deps, Reads, Store, Unavailable};

/// How often a finalization is decided anew because somebody else changed the session.
const ROUNDS: usize = 8;

/// Makes settled turns terminal, and ends those that nobody came back for.
#[derive(Debug)]
pub struct Finalizer<D> {
    pub(super) deps: D,
}

impl<D: Deps> Finalizer<D> {
    /// Finalizes over these.
    #[must_use]
    pub fn new(deps: D) -> Self {
        Self { deps }
    }

    /// Makes a turn terminal if it is settled. True when this call did it; anything else about the
    /// turn is left alone, since the message that named it is only a hint (I8).
    ///
    /// # Errors
    /// When a store can't be reached, or the session stayed contended.
    pub async fn finalize(&self, key: &TurnKey) -> Result<bool, Unavailable> {
        let store = self.deps.store();
        for _ in 0..ROUNDS {
            let (session, turn) = store.session_and_turn(key).await?;
            let (Some(session), Some(turn)) = (session, turn) else {
                return Ok(false);
            };
            let State::Settled(_) = turn.state else {
                return Ok(false);
            };
            if self.finalize_once(&session, &turn).await? {
                return Ok(true);
            }
        }
        Err(Unavailable { what: "the session", source: "it stayed contended".into() })
    }

    /// One try. Details first, then the transaction that makes them count.
    async fn finalize_once(&self, session: &Session, turn: &Turn) -> Result<bool, Unavailable> {
        let known = steps::known(self.deps.store(), self.deps.payloads(), turn).await?;
        let found = known.as_ref().map(Known::findings);
        let Ok(finalized) = finalize(session, turn, found.as_ref()) else {
            return Ok(false);
        };
        publish(&self.deps, turn, known.as_ref(), &finalized.result).await?;
        let written = write::commit(&self.deps, &finalized.clone().commit(session)).await?;
        let applied = matches!(written, Written::Applied);
        if applied {
            turn_event::became_terminal(&finalized, known.as_ref().and_then(Known::outcome));
        }
        Ok(applied)
    }
}

/// Writes the details of a settled turn. Any number of writers write the same, since a settlement is
/// irrevocable; off the path to the client's answer.
pub(super) async fn publish(
    deps: &impl Deps,
    turn: &Turn,
    known: Option<&Known>,
    result: &ResultDetail,
) -> Result<(), Unavailable> {
    let result = deps.store().put_result_detail(result);
    let partial = partial::keep(deps.payloads(), turn, known.and_then(|known| known.partial.as_deref()));
    try_join3(result, partial, touch(deps, turn)).await.map(|_| ())
}

/// A user's list is ordered by that user's own last turn. The first turn's was written with it, unless a fork was
/// there before its first turn.
pub(super) async fn touch(deps: &impl Deps, turn: &Turn) -> Result<(), Unavailable> {
    if turn.sequence == 1 && turn.offset == 0 {
        return Ok(());
    }
    let participant = Participant {
        session: turn.key.session.clone(),
        user: turn.requested_by.clone(),
        name: None,
        last_activity: turn.created,
    };
    deps.store().touch(&participant).await
}
