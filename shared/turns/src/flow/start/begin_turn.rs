//! Begins a turn: resolves its settings, commits its start, and searches for its question concurrently.
//!
//! The same transaction closes the session's open turn, which may have changed the session's mode. Then that mode overwrites
//! the one that the turn was prepared for (AGN-011 §3.3).

use std::time::Duration;

use agent::{attempt::RecoveryPoint, context::ResolvedContext, retrieval::Sources};
use contracts::{read::TurnStatus, stream::Phase};
use futures::future::try_join4;
use protocol::{
    change::{Commit, TurnChange},
    id::TurnKey,
    session::Session,
    spent::Spent,
    transition::{
        begin::{self, Closing, Setup},
        spend::{self, Seal},
        webhooks::deliveries,
    },
    turn::{State, Turn},
};

use crate::{
    flow::{
        finish::{effects, evidence::TurnEvidence, finalize, webhooks},
        meter::{self, Reservation},
        owned_turn::{Lease, OwnedTurn},
        retrieval::{RetrievalResult, join_search, retrieve},
        start::{
            initial_step::{InitialInputs, TurnSettings, expected_call, initial_step},
            settings::{self, ResolvedTurn},
            turn_start::{Admission, OrgRules, ReadStart, TurnStart},
        },
        stored_request,
        write::{self, WriteOutcome},
    },
    ports::{AgentDeps, Deps, Host, Reads, Timer, Unavailable},
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
        let resolved = Box::pin(settings::resolve(self, admission));
        let ResolvedTurn { effective, setup, mode, sources, warnings } = resolved.await?;
        let (org, scope) = (&submission.key.session.org, request.rag_scope.as_slice());
        let previous = self.previous_turn();
        let question = start.question.as_ref();
        let retrieval = Box::pin(retrieve(deps, question, previous.as_ref(), org, scope, sources.as_ref()));
        let chain = match &setup.basis {
            Some(basis) => basis.parent.chain.clone(),
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
        let chain = match &setup.basis {
            Some(basis) => basis.parent.chain.as_ref(),
            None => session.chain.as_ref(),
        };
        let history_owner = setup.target.upstream_for(&session).history_owner;
        let follows_completed = before
            .and_then(|session| session.last_turn.as_ref())
            .is_some_and(|last| last.status == TurnStatus::Completed);
        let inputs = InitialInputs {
            start: turn.chain.clone(),
            chain,
            files: setup.files,
            history_owner,
            follows_unanswered: !turn.parent.is_none() && (setup.basis.is_some() || !follows_completed),
        };
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
            (Some(session), Some(open)) => match prepare_closing(deps, session, &open).await? {
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
            finalize::log_terminal(finalized, evidence.outcome());
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

/// The interval at which a start looks whether the attempt of an ended turn has told what it spent.
const SPENT_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Prepares the closing of the session's open turn: stores everything that must exist before the commit, and
/// returns the closing and its evidence. None if the turn changed meanwhile.
pub(super) async fn prepare_closing(
    deps: &impl Deps,
    session: &Session,
    open: &Turn,
) -> Result<Option<(Closing, TurnEvidence)>, Unavailable> {
    if !seal_spent(deps, open).await? {
        return Ok(None);
    }
    let (store, payloads) = (deps.store(), deps.payloads());
    let object = stored_request::payload(open);
    let published = stored_request::load_and_publish(store, payloads, &object);
    // Boxed: few turns were ended from outside while they ran.
    let unresolved = Box::pin(effects::unresolved(deps, open));
    let evidence = TurnEvidence::load(store, payloads, open);
    let subscriptions = webhooks::subscriptions(store, &session.key.org);
    let (evidence, (), unknown, subscriptions) =
        try_join4(evidence, published, unresolved, subscriptions).await?;
    let closing = Closing::new(session, open, evidence.summary().as_ref(), deps.host().now(), deps.timing());
    let Ok(closing) = closing else { return Ok(None) };
    let closing = closing.with_unknown_effects(unknown);
    let events = deliveries(closing.finalized(), &subscriptions);
    let closing = closing.with_deliveries(events);
    let report = &closing.finalized().result.report;
    match &open.state {
        // It can still end differently until the commit, so nothing that depends on its end is stored yet.
        State::AwaitingTools { .. } => meter::count(deps, open, report).await?,
        State::Running { .. } | State::Settled(_) | State::Finalized(_) => {
            finalize::publish_evidence(deps, open, &evidence, report).await?;
        }
    }
    Ok(Some((closing, evidence)))
}

/// Makes the figure of an ended turn final, so that it can be closed: waits for its attempt, which notices the end within
/// about a second, and else seals the estimate. False if the head changed, so that the start has to decide again.
async fn seal_spent(deps: &impl Deps, open: &Turn) -> Result<bool, Unavailable> {
    let grace = deps.timing().short_usage_grace;
    let (mut turn, started) = (open.clone(), deps.host().monotonic());
    loop {
        // The clock of whoever ended the turn may differ, so the wait is bounded by this process's own, too.
        let has_waited = deps.host().monotonic().saturating_sub(started) >= grace
            || turn.spent.as_ref().is_some_and(|spent| spent.is_told);
        let left = if has_waited { Duration::ZERO } else { grace };
        match spend::seal(&turn, deps.host().now(), left) {
            Seal::None => return Ok(turn == *open),
            Seal::Wait => {
                deps.host().sleep(SPENT_POLL_INTERVAL).await;
                match deps.store().turn(&open.key).await? {
                    Some(stored) => turn = stored,
                    None => return Ok(false),
                }
            }
            Seal::Write(change) => {
                write::turn(deps, &change).await?;
                return Ok(false);
            }
        }
    }
}

/// A turn's retrieval, as it was prepared before the turn started.
pub(super) struct PreparedRetrieval<'a> {
    /// The mode for which it was prepared.
    pub(super) mode: &'a str,
    /// The sources that were searched.
    pub(super) sources: Option<Sources>,
    /// The excerpts.
    pub(super) retrieval: RetrievalResult,
}

impl<D: AgentDeps> ReadStart<'_, '_, D> {
    /// Returns the sources and excerpts for the mode in which the turn started. Searches again if the sources differ.
    pub(super) async fn overwrite_mode(
        &self,
        prepared: PreparedRetrieval<'_>,
        turn: &Turn,
        session: &Session,
        effective: &ResolvedContext,
    ) -> (Option<Sources>, RetrievalResult) {
        let PreparedRetrieval { mode, sources, retrieval } = prepared;
        tracing::warn!(
            requested_mode = mode,
            mode = turn.mode.as_str(),
            "{}",
            contracts::log::MODE_OVERWRITTEN
        );
        let (config, agent) = (self.start.deps.config(), session.contexts.agent.as_ref());
        let current = config.sources(effective, agent, &session.hints, &self.org.catalog, &turn.mode);
        if current == sources {
            return (sources, retrieval);
        }
        let TurnStart { deps, question, request, .. } = self.start;
        let (org, scope) = (&turn.key.session.org, request.rag_scope.as_slice());
        let previous = self.previous_turn();
        let retrieval =
            retrieve(*deps, question.as_ref(), previous.as_ref(), org, scope, current.as_ref()).await;
        (current, retrieval)
    }

    /// Returns the turn to which a follow-up refers: the session's last one. None for a rerun, which follows another.
    fn previous_turn(&self) -> Option<TurnKey> {
        let is_next = self.start.rerun.is_none() && !self.start.conditions.starts_over;
        let session = self.snapshot.session.as_ref().filter(|_| is_next)?;
        Some(session.key.turn(session.last_turn.as_ref()?.id.clone()))
    }
}
