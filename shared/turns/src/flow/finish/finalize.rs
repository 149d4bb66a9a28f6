//! Finalizes turns: stores the objects of a settled turn that don't exist yet, then makes its head terminal. Objects come
//! first, so whatever a terminal head refers to exists (I10). A turn of a purged session only counts: its usage is added
//! and its meters are closed, and no object is stored.
//!
//! The writer whose transaction makes the turn terminal logs its one event: outcome and usage (docs/reference/logs.md). It
//! contains ids, counts and durations, but no content (I14).

use std::{collections::BTreeSet, time::Duration};

use agent::outcome::Outcome;
use contracts::{ErrorCode, Usage, error::causes};
use futures::future::{try_join, try_join4};
use protocol::{
    detail::{Report, RequestDetail},
    id::TurnKey,
    session::Session,
    transition::{
        finalize::{Finalization, finalize},
        purging,
        spend::{self, Seal},
        webhooks::deliveries,
    },
    turn::{State, Turn, Verdict},
    webhook::LaneKey,
};

use crate::{
    flow::{
        finish::{effects, evidence::TurnEvidence, partial, webhooks},
        meter, stored_request,
        write::{self, Tried, WriteOutcome},
    },
    ports::{Deps, Host, ProviderResponses, Reads, Timer, Unavailable},
};

/// The interval at which a finalization looks whether the attempt of an ended turn has told what it spent.
const SPENT_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The effect of a finalization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finalized {
    /// None: the turn isn't settled, or another call finalized it.
    No,
    /// The turn is terminal. These lanes of webhooks got events.
    Yes(BTreeSet<LaneKey>),
    /// The turn is terminal, and the purge of its session continues.
    Purging,
}

impl Finalized {
    /// True if this call made the turn terminal.
    #[must_use]
    pub fn is_done(&self) -> bool {
        *self != Self::No
    }
}

/// Makes a turn terminal if it is settled. A turn in any other state is left alone, because the message that names it is
/// only a hint (I8). The session of a turn that must not be stored is purged: one transaction marks it before the turn is
/// counted, and the purge record, which the sweep finds, removes the content. Waits a few seconds for the attempt of a turn that was ended
/// while it ran: it alone knows what its last model call has used. Asks `upstream` for usage that providers haven't told.
///
/// # Errors
/// If a store can't be reached, or the session stays contended.
pub async fn finalize_turn(
    deps: &impl Deps,
    upstream: &impl ProviderResponses,
    key: &TurnKey,
) -> Result<Finalized, Unavailable> {
    let timing = deps.timing();
    let started = deps.host().monotonic();
    write::decide(deps.host(), || async {
        let (session, turn, request) = loop {
            let (session, turn, request) = deps.store().session_and_record(key).await?;
            let (Some(session), Some(turn)) = (session, turn) else { return Ok(Tried::Done(Finalized::No)) };
            let State::Settled(_) = turn.state else { return Ok(Tried::Done(Finalized::No)) };
            // The clock of whoever ended the turn may differ, so the wait is bounded by this process's own, too.
            let grace = match turn.spent.as_ref().is_some_and(|spent| spent.is_told) {
                // Its provider has that long to end the response.
                true => timing.short_usage_grace,
                false => timing.usage_grace,
            };
            let has_waited = deps.host().monotonic().saturating_sub(started) >= grace;
            let left = if has_waited { Duration::ZERO } else { grace };
            match spend::seal(&turn, deps.host().now(), left) {
                Seal::None => break (session, turn, request),
                Seal::Wait => deps.host().sleep(SPENT_POLL_INTERVAL).await,
                Seal::Write(estimate) => {
                    let told = read_pending(upstream, &turn).await;
                    let change = told.map_or(*estimate, |told| spend::seal_told(&turn, &told));
                    write::turn(deps, &change).await?;
                    return Ok(Tried::Progress);
                }
            }
        };
        match session.is_purged() {
            true => try_count(deps, &session, &turn).await,
            false if turn.is_unstored => begin_purge(deps, &session, &turn).await,
            false => try_finalize(deps, &session, &turn, request.as_ref()).await,
        }
    })
    .await
}

/// Asks a provider once for the usage that is only estimated. Without an answer the estimate stands.
async fn read_pending(upstream: &impl ProviderResponses, turn: &Turn) -> Option<Usage> {
    let spent = turn.spent.as_ref().filter(|_| !turn.is_imported)?;
    let response = &spent.pending.as_ref()?.response;
    upstream.usage(response).await.unwrap_or_else(|error| {
        tracing::warn!(error = %causes(&error), "{}", contracts::log::PROVIDER_USAGE_NOT_READ);
        None
    })
}

/// Tries once to begin the purge of a session whose turn must not be stored. While the session is quarantined, the turn
/// stays settled and the sweep tries again.
async fn begin_purge(
    deps: &impl Deps,
    session: &Session,
    turn: &Turn,
) -> Result<Tried<Finalized>, Unavailable> {
    let (by, now) = (&turn.requested_by, deps.host().now());
    let Ok(Some(commit)) = purging::begin(session, Some(turn), by, now, deps.timing()) else {
        return Ok(Tried::Done(Finalized::No));
    };
    if let WriteOutcome::Applied = write::commit(deps, &commit).await? {
        let (org, session) = (session.key.org.as_str(), session.key.session.as_str());
        tracing::info!(org, session, action = "purge", unstored = true, "{}", contracts::log::AUDIT);
    }
    Ok(Tried::Progress)
}

/// Tries once: writes what a terminal turn refers to, then the transaction that makes it terminal. Does nothing if the stored
/// state allows no finalization.
async fn try_finalize(
    deps: &impl Deps,
    session: &Session,
    turn: &Turn,
    request: Option<&RequestDetail>,
) -> Result<Tried<Finalized>, Unavailable> {
    let (store, payloads) = (deps.store(), deps.payloads());
    let object = stored_request::payload(turn);
    let published = stored_request::publish(payloads, &object, request);
    // Boxed: few turns were ended from outside while they ran.
    let unresolved = Box::pin(effects::unresolved(deps, turn));
    let evidence = TurnEvidence::load(store, payloads, turn);
    let subscriptions = webhooks::subscriptions(store, &turn.key.session.org);
    let (evidence, (), unknown, subscriptions) =
        try_join4(evidence, published, unresolved, subscriptions).await?;
    let Ok(finalized) = finalize(session, turn, evidence.summary().as_ref()) else {
        return Ok(Tried::Done(Finalized::No));
    };
    let finalized = finalized.with_unknown_effects(unknown);
    let events = deliveries(&finalized, &subscriptions);
    let finalized = finalized.with_deliveries(events);
    publish_evidence(deps, turn, &evidence, &finalized.result.report).await?;
    commit(deps, session, finalized, &evidence).await
}

/// Tries once to count a turn of a purged session. Stores no object, since the purge may have searched for the last time.
async fn try_count(
    deps: &impl Deps,
    tombstone: &Session,
    turn: &Turn,
) -> Result<Tried<Finalized>, Unavailable> {
    let store = deps.store();
    let is_named = tombstone.open_turn.as_ref() == Some(&turn.key.turn);
    let named = match is_named {
        true => Some(tombstone.clone()),
        false => purging::naming(tombstone, &turn.key.turn, store.purge(&tombstone.key).await?.as_ref()),
    };
    let Some(tombstone) = named else { return Ok(Tried::Done(Finalized::No)) };
    let evidence = match TurnEvidence::load(store, deps.payloads(), turn).await {
        Ok(evidence) => evidence,
        // What is lost stays lost, and the purge must not wait for it.
        Err(error) if error.is_lost() => {
            tracing::error!(error = %causes(&error), "{}", contracts::log::USAGE_LOST);
            TurnEvidence::default()
        }
        Err(error) => return Err(error),
    };
    let Ok(finalized) = finalize(&tombstone, turn, evidence.summary().as_ref()) else {
        return Ok(Tried::Done(Finalized::No));
    };
    meter::close(deps, turn, &finalized.result.report).await?;
    commit(deps, &tombstone, finalized, &evidence).await
}

async fn commit(
    deps: &impl Deps,
    session: &Session,
    finalized: Finalization,
    evidence: &TurnEvidence,
) -> Result<Tried<Finalized>, Unavailable> {
    let written = write::commit(deps, &finalized.clone().commit(session)).await?;
    if let WriteOutcome::Applied = written {
        log_terminal(&finalized, evidence.outcome());
    }
    let is_purging = session.is_purged() && finalized.turn.after.is_unstored;
    let lanes = finalized.deliveries.into_iter().map(|delivery| delivery.lane);
    Ok(written.done(if is_purging { Finalized::Purging } else { Finalized::Yes(lanes.collect()) }))
}

/// Stores the partial answer of a settled turn, and counts its usage in its meters. A settlement is irrevocable, so any
/// number of writers do the same. The client's response doesn't wait for this.
pub(crate) async fn publish_evidence(
    deps: &impl Deps,
    turn: &Turn,
    evidence: &TurnEvidence,
    report: &Report,
) -> Result<(), Unavailable> {
    let partial = partial::store_text(deps.payloads(), turn, evidence.partial_answer.as_deref());
    try_join(partial, meter::close(deps, turn, report)).await.map(|_| ())
}

/// Logs that a turn became terminal: once, by the writer whose transaction made it so.
pub(crate) fn log_terminal(finalized: &Finalization, outcome: Option<&Outcome>) {
    effects::log_unknown(&finalized.unknown_effects);
    let (turn, report) = (&finalized.turn.after, &finalized.result.report);
    let Some(settlement) = turn.settlement() else { return };
    let code = match &settlement.verdict {
        Verdict::Completed { .. } => None,
        Verdict::Failed { .. } => outcome.and_then(|outcome| outcome.response.error_code),
        Verdict::Ended(reason) => Some(reason.error().error_code),
    };
    let completed = matches!(settlement.verdict, Verdict::Completed { .. });
    let usage = report.usage.as_ref();
    tracing::info!(
        org = turn.key.session.org.as_str(),
        user = turn.requested_by.as_str(),
        session = turn.key.session.session.as_str(),
        turn = turn.key.turn.as_str(),
        attempt = turn.attempt.as_str(),
        outcome = if completed { "completed" } else { "failed" },
        code = code.map(ErrorCode::as_str),
        streamed = turn.streamed,
        suspensions = turn.round(),
        takeovers = turn.takeovers,
        tool_rounds = report.tool_rounds,
        model = report.response_model.as_ref().or(report.model.as_ref()),
        provider = report.provider.as_ref(),
        prompt_tokens = usage.map(|usage| usage.prompt_tokens),
        completion_tokens = usage.map(|usage| usage.completion_tokens),
        cached_tokens = usage.and_then(|usage| usage.cached_tokens),
        reasoning_tokens = usage.and_then(|usage| usage.reasoning_tokens),
        cost_micros = report.cost.as_ref().map(|cost| cost.amount.micros()),
        currency = report.cost.as_ref().map(|cost| cost.currency.as_str()),
        model_calls = report.model_calls,
        model_ms = report.model_ms,
        first_text_ms = report.first_text_ms,
        client_tool_ms = report.client_tool_ms,
        server_tool_ms = report.server_tool_ms,
        turn_ms = u64::try_from(turn.created.until(settlement.at).as_millis()).unwrap_or(u64::MAX),
        turns_failed = u64::from(code.is_some_and(is_service_failure)),
        "{}",
        contracts::log::TURN
    );
}

/// True if the failure is the service's or its provider's. Cancelled and superseded turns, expired client tools and
/// turns over a budget aren't.
fn is_service_failure(code: ErrorCode) -> bool {
    use ErrorCode as Code;
    !matches!(
        code,
        Code::TurnCancelled | Code::TurnSuperseded | Code::ToolDeadlineExpired | Code::TurnOverBudget
    )
}
