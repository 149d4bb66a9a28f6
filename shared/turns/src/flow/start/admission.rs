//! Admits a turn that is about to start: reads the rules of its org, refuses what they don't allow, and reserves its part of
//! the org's budgets.

use agent::context::check_files;
use contracts::{ErrorCode, error::causes};
use futures::future::join3;
use protocol::{
    budget::Subjects,
    transition::begin::{self, Decision, Snapshot},
    turn::{State, Turn},
};

use crate::{
    flow::{
        limits::OrgLimits,
        meter::{self, Reservation},
        start::turn_start::{Admission, OrgRules, ReadStart, TurnStart, load_catalog},
    },
    ports::{AgentDeps, Host, Reads, Unavailable},
    refusal::Refusal,
};

impl<D: AgentDeps> ReadStart<'_, '_, D> {
    /// Requires what is known before the contexts are read: that nothing is disabled, that the files are small enough,
    /// and that the budgets have room, in which it reserves a part. The model and the tools are checked with the
    /// contexts.
    ///
    /// A start reserves once. If it has, the admission for an earlier snapshot is in `slot`, and this snapshot is only
    /// checked.
    ///
    /// # Errors
    /// Returns the first limit that refuses the turn.
    pub(super) async fn admit<'s>(&self, slot: &'s mut Option<Admission>) -> Result<&'s Admission, Refusal> {
        let Self { start, snapshot, org } = self;
        let (key, user) = (&start.submission.key.session, &start.submission.requested_by.id);
        // Those of the session, or those that its first turn asks for.
        let contexts =
            snapshot.session.as_ref().map_or(&start.submission.contexts, |session| &session.contexts);
        let limits = &org.limits;
        let subjects = limits.subjects(start.deps.store(), key, user, contexts).await?;
        limits.check_disabled(&subjects)?;
        check_files(&limits.settings.policy, start.request)?;
        if start.submission.unstored && limits.settings.mandatory_storage {
            return Err(Refusal::storage_required());
        }
        match slot {
            // Another request may have created the session meanwhile, for an agent whose meters don't count this turn.
            Some(admission) if limits.has_budgets() && admission.subjects.agents != subjects.agents => {
                Err(Refusal::Contended)
            }
            Some(admission) => {
                admission.subjects = subjects;
                Ok(admission)
            }
            None => {
                // Boxed: few orgs have budgets.
                let reservation = Box::pin(start.reserve(limits, &subjects)).await?;
                Ok(slot.insert(Admission { subjects, reservation }))
            }
        }
    }
}

impl<D: AgentDeps> TurnStart<'_, D> {
    /// Reads the snapshot and the rules of the org, and admits the turn if it is about to start and has to reserve.
    pub(super) async fn read_and_admit(
        &self,
        admission: &mut Option<Admission>,
    ) -> Result<(Snapshot, OrgRules), Refusal> {
        let (deps, org) = (self.deps, &self.submission.key.session.org);
        // Read together, so that the limits are cached once they are needed.
        let (snapshot, limits, catalog) =
            join3(self.first_snapshot(), OrgLimits::load(deps.store(), org), load_catalog(deps, org)).await;
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
