//! Sets up a turn again that was taken over before its first reply.

use agent::attempt::RecoveryPoint;
use futures::future::try_join;
use protocol::{chain, turn::Turn};

use crate::flow::{
    retrieval::excerpts::retrieve,
    start::{
        contexts::effective_settings,
        initial_step::{InitialInputs, TurnSettings, initial_step},
        rerun_parent::{AncestryCut, parent_of},
        turn_start::ReadStart,
    },
};
use crate::{
    ports::{AgentDeps, Reads},
    refusal::Refusal,
};

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
    let sources = deps.config().sources(&effective, &session.hints, catalog, &turn.mode);
    let (org, scope) = (&turn.key.session.org, request.rag_scope.as_slice());
    let retrieval = Box::pin(retrieve(deps, start.question.as_ref(), org, scope, sources.as_ref())).await;
    let inputs = InitialInputs {
        start: chain_start,
        chain: chain.as_ref(),
        files,
        history_owner: current_target.history_owner,
    };
    let settings = TurnSettings { config: deps.config(), catalog, effective: &effective };
    Ok(retrieval.apply_to(initial_step(settings, turn, inputs, session, request), sources))
}
