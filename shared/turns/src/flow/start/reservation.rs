//! Reserves a part of the org's budgets for a turn that is about to start.

use contracts::{ErrorCode, error::causes};
use futures::future::join4;
use protocol::{
    budget::Subjects,
    transition::begin::{self, Decision, Snapshot},
    turn::{State, Turn},
};

use crate::flow::{
    meter::{self, Reservation},
    start::turn_start::TurnStart,
};
use crate::{
    ports::{AgentDeps, Clock, MeterReads, OrgSettingsReads, Reads, Unavailable},
    refusal::Refusal,
};

impl<D: AgentDeps> TurnStart<'_, D> {
    /// Loads the snapshot, and reserves if the turn is about to start.
    pub(super) async fn load_and_reserve(&self) -> Result<Snapshot, Refusal> {
        let org = &self.submission.key.session.org;
        let store = self.deps.store();
        // Read together, so that the budgets are cached once they are needed.
        let (snapshot, budgets, settings, modes) = join4(
            self.load_snapshot(),
            store.budgets(org),
            store.org_settings(org),
            self.scope.load_catalog(self.deps, org),
        )
        .await;
        let (snapshot, budgets) = (snapshot?, budgets?);
        modes?;
        // Only this call sets it.
        let _ = self.org_settings.set(settings?);
        if !budgets.budgets.is_empty() {
            let (now, timing) = (self.deps.host().now(), self.deps.timing());
            let decision = begin::decide(&snapshot, self.submission, now, timing);
            if let Decision::Begin | Decision::BeginClosing(_) = decision {
                self.check_restrictions(&snapshot)?;
                Box::pin(self.reserve(&snapshot)).await?;
            }
        }
        Ok(snapshot)
    }

    /// Reserves once. Orgs without budgets reserve nothing.
    ///
    /// # Errors
    /// If a budget is used up.
    pub(super) async fn reserve(&self, snapshot: &Snapshot) -> Result<(), Refusal> {
        if self.reservation.get().is_some() {
            return Ok(());
        }
        let (deps, key) = (self.deps, &self.submission.key);
        let budgets = deps.store().budgets(&key.session.org).await?;
        let reservation = match budgets.budgets.is_empty() {
            true => Reservation::default(),
            false => {
                let subjects = Subjects {
                    user: self.submission.requested_by.id.clone(),
                    agent: self.contexts(snapshot).agent_id().to_owned(),
                    session: key.session.session.clone(),
                };
                // Boxed: few orgs have budgets.
                let (reserved, rate_limits) =
                    Box::pin(meter::reserve(deps, &budgets, &subjects, key)).await?;
                self.conditions.rate_limits.set(rate_limits);
                match reserved {
                    Ok(reservation) => reservation,
                    Err(exceeded) => {
                        exceeded.log(key, &subjects.user, ErrorCode::BudgetExceeded);
                        let error = exceeded.error(ErrorCode::BudgetExceeded, deps.host().now());
                        return Err(Refusal::BudgetExceeded(Box::new(error)));
                    }
                }
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
