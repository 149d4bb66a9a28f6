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
    start::turn_start::{Admission, OrgRules, ReadStart, TurnStart, load_catalog},
};
use crate::{
    ports::{AgentDeps, Clock, Reads, Unavailable},
    refusal::Refusal,
};

impl<D: AgentDeps> TurnStart<'_, D> {
    /// Reads the snapshot and the rules of the org, and admits the turn if it is about to start and has to reserve.
    pub(super) async fn read_and_admit(
        &self,
        admission: &mut Option<Admission>,
    ) -> Result<(Snapshot, OrgRules), Refusal> {
        let (deps, org) = (self.deps, &self.submission.key.session.org);
        // Read together, so that the limits are cached once they are needed.
        let (snapshot, limits, catalog) =
            join3(self.load_snapshot(), OrgLimits::load(deps.store(), org), load_catalog(deps, org)).await;
        let (snapshot, org) = (snapshot?, OrgRules { limits: limits?, catalog: catalog? });
        if !org.limits.has_budgets() {
            return Ok((snapshot, org));
        }
        let decision = begin::decide(&snapshot, self.submission, deps.host().now(), deps.timing());
        let read = ReadStart { start: self, snapshot, org: &org };
        if let Decision::Begin | Decision::BeginClosing(_) = decision {
            Box::pin(read.admit(admission)).await?;
        }
        let snapshot = read.snapshot;
        Ok((snapshot, org))
    }

    /// Reserves. Orgs without budgets reserve nothing.
    ///
    /// # Errors
    /// If a budget is used up.
    pub(super) async fn reserve(
        &self,
        limits: &OrgLimits,
        subjects: &Subjects,
    ) -> Result<Reservation, Refusal> {
        if !limits.has_budgets() {
            return Ok(Reservation::default());
        }
        let (deps, key) = (self.deps, &self.submission.key);
        let (reserved, rate_limits) = meter::reserve(deps, &limits.budgets, subjects, key).await?;
        self.conditions.rate_limits.set(rate_limits);
        reserved.map_err(|exceeded| {
            exceeded.log(key, &subjects.user, ErrorCode::BudgetExceeded);
            let error = exceeded.error(ErrorCode::BudgetExceeded, deps.host().now());
            error.into()
        })
    }

    /// Releases what was reserved for a turn that this call didn't start. If that fails, the estimate counts until the
    /// window ends, or until the same turn is started after all.
    pub(super) async fn release(&self, admission: Option<Admission>) {
        let Some(Admission { reservation, .. }) = admission.filter(|one| one.reservation.has_fresh()) else {
            return;
        };
        // Boxed: few starts that reserve don't start their turn.
        if let Err(error) = Box::pin(self.release_unused(&reservation)).await {
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
