//! Settles an overdue turn for an operator, without waiting for the sweep.

use contracts::id::{SessionId, TurnId};
use protocol::{Caller, id::SessionKey};

use crate::flow::{access, finish::finalize::Finalizer};
use crate::{ports::Deps, refusal::Refusal};

impl<D: Deps> Finalizer<D> {
    /// Does at once what the sweep does for a turn that is due: salvages it if its attempt died, ends it if its tool
    /// results are overdue, and finalizes it once it is settled. A turn that is alive stays as it is.
    ///
    /// # Errors
    /// If the caller isn't an operator, or has no such turn.
    pub async fn settle(&self, caller: &Caller, session: SessionId, turn: TurnId) -> Result<(), Refusal> {
        access::require_operator(caller)?;
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let (session, _) = access::load_turn(self.deps.store(), caller, &key).await?;
        self.sweep_one(&key).await?;
        access::audit_write(self.deps.store(), "settle", caller, &session).await;
        Ok(())
    }
}
