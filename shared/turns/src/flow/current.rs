//! What sessions show of turns that are decided and not yet finalized: nothing of it can change any more, so it shows at
//! once.

use std::collections::HashMap;

use futures::{StreamExt, TryStreamExt, stream};
use protocol::{
    detail::ModeChange,
    id::TurnKey,
    session::Session,
    transition::finalize::{finalize, showing},
    turn::{State, Turn},
};

use super::{
    read::{AT_ONCE, SessionReader},
    steps::{self, Known},
};
use crate::ports::{PayloadReads, Reads, Unavailable};

/// A session whose open turn is decided.
pub(super) struct Decided {
    /// As the turn's finalization has it.
    pub(super) session: Session,
    /// The turn.
    pub(super) turn: Turn,
    /// The mode changes that are not in the history yet.
    pub(super) mode_changes: Vec<ModeChange>,
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// A session, where the turn that it names as open is decided.
    pub(super) async fn decided(&self, session: &Session) -> Result<Option<Decided>, Unavailable> {
        let Some(open) = &session.open_turn else { return Ok(None) };
        let turn = self.store.turn(&session.key.turn(open.clone())).await?;
        match turn {
            Some(turn) => self.finalized(session, turn).await,
            None => Ok(None),
        }
    }

    /// Sessions with what is decided of their open turns, whether or not it is finalized. What only an outcome object
    /// tells, the mode, is read where it is asked for.
    pub(super) async fn current(
        &self,
        sessions: Vec<Session>,
        with_mode: bool,
    ) -> Result<Vec<Session>, Unavailable> {
        let open = |session: &Session| session.open_turn.clone().map(|turn| session.key.turn(turn));
        let keys: Vec<TurnKey> = sessions.iter().filter_map(open).collect();
        if keys.is_empty() {
            return Ok(sessions);
        }
        let heads = self.store.turns(&keys).await?.into_iter();
        let mut heads: HashMap<TurnKey, Turn> = heads.map(|turn| (turn.key.clone(), turn)).collect();
        let shown = sessions.into_iter().map(|session| {
            let turn = open(&session).and_then(|turn| heads.remove(&turn));
            async move {
                let Some(turn) = turn else { return Ok(session) };
                if !with_mode {
                    return Ok(showing(&session, &turn));
                }
                let decided = self.finalized(&session, turn).await?;
                Ok(decided.map_or(session, |decided| decided.session))
            }
        });
        let shown: Vec<_> = shown.collect();
        stream::iter(shown).buffered(AT_ONCE).try_collect().await
    }

    /// A session as the finalization of its open turn has it, where that is decided.
    async fn finalized(&self, session: &Session, turn: Turn) -> Result<Option<Decided>, Unavailable> {
        match &turn.state {
            State::Running { .. } | State::AwaitingTools { .. } => Ok(None),
            State::Settled(_) => {
                let known = steps::known(&self.store, &self.payloads, &turn).await?;
                let done = finalize(session, &turn, known.as_ref().map(Known::findings).as_ref());
                Ok(done.ok().map(|done| Decided {
                    session: done.session,
                    turn,
                    mode_changes: done.mode_changes,
                }))
            }
            // It became so after the session was read.
            State::Finalized(_) => {
                let session = self.store.session(&session.key).await?;
                Ok(session.map(|session| Decided { session, turn, mode_changes: Vec::new() }))
            }
        }
    }
}
