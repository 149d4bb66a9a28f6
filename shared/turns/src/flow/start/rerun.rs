//! Reruns a turn as a new turn, which continues from the same parent as the original.

use agent::outcome::Response;
use contracts::{
    id::{SessionId, TurnId},
    request::{RerunRequest, UserTurn},
};
use protocol::{Caller, id::SessionKey, transition::wait};

use crate::flow::{
    access,
    executor::Executor,
    invocation::Invocation,
    start::{rerun_parent::RerunSource, user_turn::submission},
};
use crate::{
    ports::{AgentDeps, Clock},
    refusal::Refusal,
    stream::Writer,
};

impl<D: AgentDeps> Executor<D> {
    /// Runs a turn again as a new turn of its session. The original stays as it is. The model sees neither it nor the
    /// turns after it.
    ///
    /// # Errors
    /// As [`Executor::execute`], and if there is no such turn, or it isn't finished.
    pub async fn rerun(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        changes: &RerunRequest,
        invocation: &Invocation,
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        // Boxed: the work follows in the same call, and this future is large.
        let (_, original) = Box::pin(access::load_turn(self.deps.store(), caller, &key)).await?;
        if original.settlement().is_none() {
            let retry_after = wait::estimate_wait(&original, self.deps.host().now(), self.deps.timing());
            return Err(Refusal::SessionBusy { turn: key.turn, retry_after });
        }
        let request: UserTurn = self.load_request(&original).await?.with_rerun(changes);
        let fingerprint = changes.fingerprint(&key.turn, &request);
        let submission = submission(caller, &request, fingerprint, self.attempt_id());
        let source = RerunSource { original, request: changes };
        Box::pin(self.run(caller, submission, &request, Some(&source), invocation, stream)).await
    }
}
