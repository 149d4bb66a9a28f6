//! Rerun: a turn is run again as a new one, which goes on from where the old one did (DD-006; ruling: rerun's chain).

use agent::outcome::Response;
use contracts::{
    id::{SessionId, TurnId},
    request::{RerunRequest, UserTurn},
};
use protocol::{
    Caller,
    id::{SessionKey, TurnKey},
    transition::wait,
    turn::Turn,
};

use super::{
    access,
    basis::Again,
    executor::{Executor, Invocation},
    user_turn::submission,
};
use crate::{
    ports::{AgentDeps, Clock, Reads},
    refusal::Refusal,
    stream::Writer,
};

impl<D: AgentDeps> Executor<D> {
    /// Runs a turn again, as another one of its session. The old one stays as it is, and neither it nor what came
    /// after it is told.
    ///
    /// # Errors
    /// As [`Executor::execute`], and when there is no such turn, or it is not over.
    pub async fn rerun(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        asked: &RerunRequest,
        invocation: &Invocation,
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        // Boxed: the work comes after it in the same call, and its future is large.
        let original = Box::pin(self.turn_for(caller, &key)).await?;
        if original.settlement().is_none() {
            let retry_after = wait::likely(&original, self.deps.host().now(), self.deps.timing());
            return Err(Refusal::SessionBusy { turn: key.turn, retry_after });
        }
        let request: UserTurn = self.request_of(&original).await?.again(asked);
        let fingerprint = asked.fingerprint(&key.turn, &request);
        let submission = submission(caller, &request, fingerprint, self.attempt_id());
        let again = Again { original, asked };
        Box::pin(self.run(caller, submission, &request, Some(&again), invocation, stream)).await
    }

    /// A turn that the caller may see.
    pub(super) async fn turn_for(&self, caller: &Caller, key: &TurnKey) -> Result<Turn, Refusal> {
        let store = self.deps.store();
        let (session, turn) = store.session_and_turn(key).await?;
        let (Some(session), Some(turn)) = (session, turn) else { return Err(Refusal::TurnNotFound) };
        if access::sees(store, caller, &session).await? { Ok(turn) } else { Err(Refusal::TurnNotFound) }
    }
}
