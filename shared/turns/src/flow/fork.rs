//! Forks a session: creates a new one that continues from a completed turn.

use contracts::{id::SessionId, request};
use futures::future::{join, try_join3};
use protocol::{
    Caller,
    id::{SessionKey, TurnKey},
    session::Session,
    transition::fork::{self, ForkRequest},
    turn::State,
};

use super::{access, evidence, evidence::Evidence, executor::Executor};
use crate::{
    ports::{AgentDeps, Clock, Reads, Store, Unavailable},
    refusal::Refusal,
};

impl<D: AgentDeps> Executor<D> {
    /// Creates the session. The same request again is a no-op.
    ///
    /// # Errors
    /// If there is no such turn, it has no answer to continue from, or the new session's id is taken by another
    /// session.
    pub async fn fork(
        &self,
        caller: &Caller,
        session: SessionId,
        asked: &request::ForkRequest,
    ) -> Result<(), Refusal> {
        let store = self.deps.store();
        let source = SessionKey { org: caller.org.clone(), session };
        let key = SessionKey { org: caller.org.clone(), session: asked.session_id.clone() };
        let turn = source.turn(asked.turn_id.clone());
        let (found, head, there) =
            try_join3(store.session(&source), store.turn(&turn), store.session(&key)).await?;
        let found = found.ok_or(Refusal::SessionNotFound)?;
        if !access::can_see(store, caller, &found).await? {
            return Err(Refusal::SessionNotFound);
        }
        let head = head.ok_or(Refusal::TurnNotFound)?;
        if let Some(there) = there {
            return ensure_same_fork(&there, &turn, caller);
        }
        if found.deleted.is_some() {
            return Err(Refusal::SessionDeleted);
        }
        if !matches!(head.state, State::Settled(_) | State::Finalized(_)) {
            return Err(Refusal::TurnNotCompleted);
        }
        let known = evidence::load(store, self.deps.payloads(), &head).await?;
        let found_out = known.as_ref().map(Evidence::findings).unwrap_or_default();
        let mode = found_out.modes.last().map_or(&head.mode, |staged| &staged.mode).clone();
        let forking = ForkRequest { key: key.clone(), by: caller.user.clone(), name: asked.name.clone() };
        let commit = fork::fork(&found, &head, &found_out.report, mode, forking, self.deps.host().now())
            .map_err(|_| Refusal::TurnNotCompleted)?;
        let (made, ()) = join(store.commit(&commit), self.notify_index(&key)).await;
        let Err(error) = made else { return Ok(()) };
        // I11: the stored session tells if this write, another one, or none was applied.
        match store.session(&key).await? {
            Some(there) => ensure_same_fork(&there, &turn, caller),
            None => Err(Unavailable { what: "the table", source: error.into() }.into()),
        }
    }
}

fn ensure_same_fork(there: &Session, of: &TurnKey, caller: &Caller) -> Result<(), Refusal> {
    let origin = there.forked_from.as_ref();
    let same =
        origin.is_some_and(|origin| (&origin.session, &origin.turn) == (&of.session.session, &of.turn));
    (same && there.owner.id == caller.user.id).then_some(()).ok_or(Refusal::SessionIdConflict)
}
