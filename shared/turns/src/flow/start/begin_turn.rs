//! Begins a turn: resolves its settings, commits its start, and searches for its question concurrently.

use agent::attempt::RecoveryPoint;
use contracts::stream::Phase;
use protocol::{
    change::{Commit, TurnChange},
    spent::Spent,
    transition::begin::{self, Setup},
    turn::Turn,
};

use crate::flow::{
    finish::turn_event,
    meter::Reservation,
    owned_turn::{Lease, OwnedTurn},
    retrieval::excerpts::{join_search, retrieve},
    start::{
        closing,
        expected_call::expected_call,
        initial_step::{InitialInputs, TurnSettings, initial_step},
        mode_normalization::PreparedRetrieval,
        setup::{self, ResolvedTurn},
        turn_start::{Admission, OrgRules, ReadStart, TurnStart},
    },
    write::{self, WriteOutcome},
};
use crate::{
    ports::{AgentDeps, Clock, Random, Reads, Timer},
    refusal::Refusal,
};

impl<D: AgentDeps> ReadStart<'_, '_, D> {
    /// Starts an admitted turn, with its request if that is small, and retrieves excerpts for it; none if another writer changed
    /// the session first.
    pub(super) async fn begin(
        &self,
        admission: &Admission,
        open: Option<Turn>,
        inline_request: Option<String>,
    ) -> Result<Option<(OwnedTurn, RecoveryPoint)>, Refusal> {
        let Self { start, ref snapshot, org: OrgRules { catalog, .. } } = *self;
        let TurnStart { deps, submission, request, stream, scope: request_scope, .. } = *start;
        let before = snapshot.session.as_ref();
        let resolved = Box::pin(setup::resolve(self, admission));
        let ResolvedTurn { effective, setup, mode, sources, warnings } = resolved.await?;
        let (org, scope) = (&submission.key.session.org, request.rag_scope.as_slice());
        let retrieval = Box::pin(retrieve(deps, start.question.as_ref(), org, scope, sources.as_ref()));
        let chain = match &setup.rerun {
            Some(rerun) => rerun.parent.chain.clone(),
            None => before.and_then(|session| session.chain.clone()),
        };
        let expected = expected_call(&effective, catalog, &mode, &setup, chain.as_ref(), request);
        let committed =
            Box::pin(self.commit_begin(&admission.reservation, open, &setup, inline_request, expected));
        // Nothing is streamed before the turn exists, so a refusal until then keeps its HTTP status.
        let on_search = |(commit, _): &(Commit, Lease)| {
            if let Some(change) = commit.turns.first() {
                stream.status(&change.after, 1, Phase::Retrieving);
            }
        };
        let Some(((commit, lease), retrieval)) = join_search(committed, retrieval, on_search).await? else {
            return Ok(None);
        };
        let session = commit.session.after;
        let Some(TurnChange { after: turn, .. }) = commit.turns.into_iter().next() else { return Ok(None) };
        let (sources, retrieval) = match mode == turn.mode {
            true => (sources, retrieval),
            // Boxed: few turns follow a mode change that fast, and this future would enlarge that of every turn.
            false => {
                let prepared = PreparedRetrieval { mode: &mode, sources, retrieval };
                Box::pin(self.overwrite_mode(prepared, &turn, &session, &effective)).await
            }
        };
        let chain = match &setup.rerun {
            Some(rerun) => rerun.parent.chain.as_ref(),
            None => session.chain.as_ref(),
        };
        let history_owner = setup.target.upstream_for(&session).history_owner;
        let inputs = InitialInputs { start: turn.chain.clone(), chain, files: setup.files, history_owner };
        let settings = TurnSettings { config: deps.config(), catalog, effective: &effective };
        let step = initial_step(settings, &turn, inputs, &session, request);
        let mut step = retrieval.apply_to(step, sources);
        let mut owned = OwnedTurn::new(turn, lease, request_scope, catalog);
        owned.reserved = admission.reservation.amounts;
        let warnings = warnings.iter().chain(&admission.reservation.warnings);
        warnings.for_each(|warning| step.state.effects.warn(warning));
        Ok(Some((owned, step)))
    }

    /// Commits the start of the turn; none if another writer changed the session first.
    async fn commit_begin(
        &self,
        reservation: &Reservation,
        open: Option<Turn>,
        setup: &Setup,
        inline_request: Option<String>,
        expected: Spent,
    ) -> Result<Option<(Commit, Lease)>, Refusal> {
        let TurnStart { deps, submission, .. } = *self.start;
        let before = self.snapshot.session.as_ref();
        let (closing, closed) = match (before, open) {
            (Some(session), Some(open)) => match closing::prepare(deps, session, &open).await? {
                Some((closing, evidence)) => {
                    let closed = (closing.finalized().clone(), evidence);
                    (Some(closing), Some(closed))
                }
                None => return Ok(None),
            },
            _ => (None, None),
        };
        let newcomer = self.is_newcomer().await?;
        let (host, timing) = (deps.host(), deps.timing());
        let (requested, attempt) = (host.monotonic(), host.attempt_id());
        let commit = begin::begin(before, closing, submission, setup, attempt, newcomer, host.now(), timing)
            .with_meters(reservation.meters.clone())
            .with_spent(expected)
            .with_inline_request(inline_request);
        if let WriteOutcome::Superseded(_) = write::commit(deps, &commit).await? {
            return Ok(None);
        }
        if let Some((finalized, evidence)) = &closed {
            turn_event::log_terminal(finalized, evidence.outcome());
        }
        Ok(Some((commit, Lease::starting_at(requested, timing))))
    }

    /// Returns true if the caller doesn't take part in the session yet.
    async fn is_newcomer(&self) -> Result<bool, Refusal> {
        let user = &self.start.submission.requested_by.id;
        match &self.snapshot.session {
            None => Ok(true),
            Some(session) if session.owner.id == *user => Ok(false),
            Some(session) => Ok(!self.start.deps.store().is_participant(&session.key, user).await?),
        }
    }
}
