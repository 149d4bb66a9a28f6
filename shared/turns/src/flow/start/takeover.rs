//! Takes over a turn whose attempt died (I4, rules 5 and 9), and sets it up again if that attempt had no reply yet.

use agent::{attempt::RecoveryPoint, mode::Catalog};
use futures::future::{join, try_join};
use protocol::{
    budget::Amounts,
    chain,
    transition::take_over::{self, Purpose},
    turn::{State, Turn},
};

use crate::{
    flow::{
        finish::{approvals, effects, outcomes, partial, settle::announce, steps::LatestStep, sweep},
        invocation::RequestScope,
        meter,
        owned_turn::{Lease, OwnedTurn},
        retrieval::retrieve,
        start::{
            initial_step::{InitialInputs, TurnSettings, initial_step},
            rerun::{AncestryCut, parent_of},
            settings::effective_settings,
            turn_start::ReadStart,
        },
        write::{self, WriteOutcome},
    },
    ports::{AgentDeps, Host, QueueDeps, Reads, Timer},
    refusal::Refusal,
};

/// Takes over a turn whose attempt died. Settles it from an earlier outcome, or returns it with the latest
/// recorded step, if any, for this process to continue. None if there is nothing to work on; reading the turn
/// again shows why.
pub(crate) async fn take_over(
    deps: &impl QueueDeps,
    dead: &Turn,
    scope: &RequestScope,
    catalog: &Catalog,
) -> Result<Option<(OwnedTurn, Option<RecoveryPoint>)>, Refusal> {
    let (host, timing) = (deps.host(), deps.timing());
    let requested = host.monotonic();
    let fence = match take_over::take_over(dead, host.attempt_id(), Purpose::Retry, host.now(), timing) {
        Ok(fence) => fence,
        Err(take_over::TakeOverError::NoAttemptLeft) => {
            if let Some(turn) = sweep::salvage(deps, dead).await? {
                announce(deps, &turn, scope.correlation.as_ref()).await;
            }
            return Ok(None);
        }
        Err(
            take_over::TakeOverError::LeaseActive { .. } | take_over::TakeOverError::IllegalTransition(_),
        ) => return Ok(None),
    };
    // Boxed: few orgs limit concurrent turns. A start that was refused meanwhile has removed the dead turn.
    let rejoined = Box::pin(meter::rejoin(deps, dead));
    let (written, ()) = join(write::turn(deps, &fence), rejoined).await;
    if let WriteOutcome::Superseded(_) = written? {
        return Ok(None);
    }
    let lease = Lease::starting_at(requested, timing);
    let mut owned = OwnedTurn::new(fence.after, lease, scope, catalog);
    let State::Running { stage, .. } = &owned.turn.state else {
        return Ok(None);
    };
    let Some((writer, outcome)) = outcomes::find(deps.payloads(), &owned.turn.key, stage).await? else {
        let found = effects::continue_from(deps, &owned.turn);
        let (found, checkpoint) = join(found, partial::last_checkpoint(deps.store(), &owned.turn)).await;
        let (latest, open_round) = found?;
        owned.lost = partial::spent_so_far(dead, latest.as_ref(), checkpoint.as_ref());
        let step = latest.map(|LatestStep { recorded, step }| {
            owned.set_recorded(recorded);
            step
        });
        owned.open_round = open_round;
        return Ok(Some((owned, step)));
    };
    Box::pin(meter::hold(deps, &owned.turn, &outcome.report, Amounts::default())).await;
    // Boxed: few turns wait for approvals.
    Box::pin(approvals::ask_approvals(deps, &owned.turn, &outcome)).await?;
    // I4, I9: a durable answer is used, not paid for again.
    if let Ok(change) = outcomes::transition_of(deps, &owned.turn, writer, &outcome) {
        write::turn(deps, &change).await?;
        meter::leave(deps, &owned.turn).await;
        announce(deps, &owned.turn, scope.correlation.as_ref()).await;
    }
    Ok(None)
}

/// Resolves the initial step of a turn that was taken over before its first reply. Its contexts may have changed
/// since, so the provider's conversation state may no longer apply.
pub(super) async fn resolve_after_takeover<D: AgentDeps>(
    ReadStart { start, snapshot, org }: &ReadStart<'_, '_, D>,
    turn: &Turn,
) -> Result<RecoveryPoint, Refusal> {
    let (deps, models, request) = (start.deps, start.models, start.request);
    let (session, limits) = (snapshot.session.as_ref().ok_or(Refusal::SessionNotFound)?, &org.limits);
    let (mut effective, original) =
        try_join(effective_settings(deps, &turn.key.session, &session.contexts), async {
            Ok(deps.store().request_detail(&turn.key).await?)
        })
        .await?;
    let (original, files, rerun_of) = match original {
        Some(original) => (Some(original.upstream), original.active_file_refs, original.rerun_of),
        None => (None, Vec::new(), None),
    };
    // If the context no longer offers the model of a rerun, the context's own model answers.
    if let Some(model) = rerun_of.as_ref().and_then(|rerun_of| rerun_of.model.as_deref()) {
        effective = effective.clone().with_primary_model(model).unwrap_or(effective);
    }
    // Nor does it end the turn if they no longer offer the model of its options.
    effective = effective.clone().with_options(request.options.as_deref()).unwrap_or(effective);
    // The turn has started, so its model may answer. What it can do without is left out.
    let subjects = limits.subjects(deps.store(), &session.key, &turn.requested_by, &session.contexts).await?;
    let effective = effective.restrict(&limits.settings, &deps.config().providers);
    let effective = limits.restrict(&subjects, effective);
    let chain = match &rerun_of {
        Some(_) => Box::pin(parent_of(deps, turn, AncestryCut::of(session))).await?.chain,
        None => session.chain.clone(),
    };
    let current_target = models.target(&effective).upstream_for(session);
    let with = original.unwrap_or_else(|| current_target.clone());
    let chain_start = chain::after_takeover(&turn.chain, &with, &current_target);
    let catalog = &org.catalog;
    let agent = session.contexts.agent.as_ref();
    let sources = deps.config().sources(&effective, agent, &session.hints, catalog, &turn.mode);
    let (org, scope) = (&turn.key.session.org, request.rag_scope.as_slice());
    let retrieval =
        Box::pin(retrieve(deps, start.question.as_ref(), None, org, scope, sources.as_ref())).await;
    let inputs = InitialInputs {
        start: chain_start,
        chain: chain.as_ref(),
        files,
        history_owner: current_target.history_owner,
        follows_unanswered: !turn.parent.is_none(),
    };
    let settings = TurnSettings { config: deps.config(), catalog, effective: &effective };
    Ok(retrieval.apply_to(initial_step(settings, turn, inputs, session, request), sources))
}
