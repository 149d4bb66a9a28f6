//! Reserves a part of the org's budgets for a turn that is about to start.

use contracts::{ErrorCode, error::causes};
use futures::future::join3;
use protocol::{
    budget::Subjects,
    transition::begin::{self, Decision, Snapshot},
    turn::{State, Turn},
};

use crate::flow::{
    limits::OrgLimits,
    meter::{self, Reservation},
    start::turn_start::TurnStart,
};
use crate::{
    ports::{AgentDeps, Clock, Reads, Unavailable},
    refusal::Refusal,
};

/// What a start reads before it decides.
pub(super) struct LoadedStart {
    /// The session and its turns.
    pub(super) snapshot: Snapshot,
    /// The limits of the org.
    pub(super) limits: OrgLimits,
    /// The subjects of the turn, if it has reserved.
    pub(super) admitted: Option<Subjects>,
}

impl<D: AgentDeps> TurnStart<'_, D> {
    /// Loads the snapshot and the limits of the org, and reserves if the turn is about to start.
    pub(super) async fn load_and_reserve(&self) -> Result<LoadedStart, Refusal> {
        let org = &self.submission.key.session.org;
        let store = self.deps.store();
        // Read together, so that the limits are cached once they are needed.
        let (snapshot, limits, modes) =
            join3(self.load_snapshot(), OrgLimits::load(store, org), self.scope.load_catalog(self.deps, org))
                .await;
        let (snapshot, limits) = (snapshot?, limits?);
        modes?;
        let mut admitted = None;
        if !limits.budgets.budgets.is_empty() {
            let (now, timing) = (self.deps.host().now(), self.deps.timing());
            let decision = begin::decide(&snapshot, self.submission, now, timing);
            if let Decision::Begin | Decision::BeginClosing(_) = decision {
                admitted = Some(Box::pin(self.admit(&snapshot, &limits)).await?);
            }
        }
        Ok(LoadedStart { snapshot, limits, admitted })
    }

    /// Reserves once. Orgs without budgets reserve nothing.
    ///
    /// # Errors
    /// If a budget is used up.
    pub(super) async fn reserve(&self, limits: &OrgLimits, subjects: &Subjects) -> Result<(), Refusal> {
        if limits.budgets.budgets.is_empty() {
            return Ok(());
        }
        if let Some(reservation) = self.reservation.get() {
            // Another request may have created the session meanwhile, for an agent whose meters don't count this turn.
            return (reservation.agents == subjects.agents).then_some(()).ok_or(Refusal::Contended);
        }
        let (deps, key) = (self.deps, &self.submission.key);
        let (reserved, rate_limits) = meter::reserve(deps, &limits.budgets, subjects, key).await?;
        self.conditions.rate_limits.set(rate_limits);
        let reservation = match reserved {
            Ok(reservation) => reservation,
            Err(exceeded) => {
                exceeded.log(key, &subjects.user, ErrorCode::BudgetExceeded);
                let error = exceeded.error(ErrorCode::BudgetExceeded, deps.host().now());
                return Err(error.into());
            }
        };
        // Only this call sets it.
        let _ = self.reservation.set(reservation);
        Ok(())
    }

    /// Releases what was reserved for a turn that this call didn't start. If that fails, the estimate counts until the
    /// window ends, or until the same turn is started after all.
    pub(super) async fn release(&self) {
        let Some(reservation) = self.reservation.get().filter(|reservation| reservation.has_fresh()) else {
            return;
        };
        // Boxed: few starts that reserve don't start their turn.
        if let Err(error) = Box::pin(self.release_unused(reservation)).await {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::RESERVATION_NOT_RELEASED);
        }
    }

    /// Releases the entries, unless the same request started the turn elsewhere. Then they are that turn's, which closes
    /// them before it is terminal.
    async fn release_unused(&self, reservation: &Reservation) -> Result<(), Unavailable> {
        let (deps, key) = (self.deps, &self.submission.key);
        let is_open = |turn: Turn| !matches!(turn.state, State::Finalized(_));
        match deps.store().turn(key).await?.is_some_and(is_open) {
            true => Ok(()),
            false => meter::release(deps, reservation, key, &self.submission.requested_by.id).await,
        }
    }
}
