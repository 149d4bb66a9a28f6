//! Projects sessions with an unfinalized outcome: a session shows the outcome of its open turn as soon as the turn is
//! settled, because it can't change any more.

use std::collections::HashMap;

use futures::{StreamExt, TryStreamExt, stream};
use protocol::{
    detail::{ModeChange, Report},
    id::TurnKey,
    session::Session,
    transition::{
        finalize::{finalize, project},
        spend,
    },
    turn::{State, Turn},
};

use crate::{
    flow::{
        finish::evidence::TurnEvidence,
        read::session_reader::{MAX_CONCURRENT_READS, SessionReader},
    },
    ports::{PayloadReads, Reads, Unavailable},
};

/// A session with the settled outcome of its open turn applied.
pub(crate) struct Projection {
    /// The session as the finalization will leave it.
    pub(crate) session: Session,
    /// The open turn.
    pub(crate) turn: Turn,
    /// The report that the finalization will store; none if it did so meanwhile.
    pub(crate) report: Option<Report>,
    /// Mode changes that aren't in the stored history yet.
    pub(crate) mode_changes: Vec<ModeChange>,
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Returns the projection of a session, if its open turn is settled.
    pub(crate) async fn projection_of(&self, session: &Session) -> Result<Option<Projection>, Unavailable> {
        let Some(open) = &session.open_turn else { return Ok(None) };
        let turn = self.store.turn(&session.key.turn(open.clone())).await?;
        match turn {
            Some(turn) => self.project(session, turn).await,
            None => Ok(None),
        }
    }

    /// Applies the settled outcomes of open turns to sessions, whether or not they are finalized. Reads outcome
    /// objects only if `with_mode` is set, because only they contain the mode.
    pub(crate) async fn project_all(
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
                    return Ok(project(&session, &turn));
                }
                let projection = self.project(&session, turn).await?;
                Ok(projection.map_or(session, |projection| projection.session))
            }
        });
        let shown: Vec<_> = shown.collect();
        stream::iter(shown).buffered(MAX_CONCURRENT_READS).try_collect().await
    }

    /// Projects a session with its open turn, if that is settled.
    async fn project(&self, session: &Session, turn: Turn) -> Result<Option<Projection>, Unavailable> {
        match &turn.state {
            State::Running { .. } | State::AwaitingTools { .. } => Ok(None),
            State::Settled(_) => {
                let evidence = TurnEvidence::load(&self.store, &self.payloads, &turn).await?;
                // What the turn has spent so far, if its attempt may still tell more.
                let shown = if spend::is_open(&turn) { spend::sealed(&turn) } else { turn.clone() };
                let finalized = finalize(session, &shown, evidence.summary().as_ref());
                Ok(finalized.ok().map(|finalized| Projection {
                    session: finalized.session,
                    turn,
                    report: Some(finalized.result.report),
                    mode_changes: finalized.mode_changes,
                }))
            }
            // The turn was finalized after the session was read.
            State::Finalized(_) => {
                let session = self.store.session(&session.key).await?;
                Ok(session.map(|session| Projection {
                    session,
                    turn,
                    report: None,
                    mode_changes: Vec::new(),
                }))
            }
        }
    }
}
