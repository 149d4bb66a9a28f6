//! Resolves the settings of a turn from its session's contexts: model, prompt limits, files and sources.
//!
//! Resolved once per attempt and passed on, so that the provider chain and the plan of a turn reflect the same
//! contexts.

use agent::{
    attachments,
    context::{PromptLimits, ResolvedContext},
    retrieval::Sources,
};
use contracts::{read::AgentSessionActiveFileRef, request::UserTurn};
use futures::future::{OptionFuture, try_join};
use protocol::{id::TurnKey, transition::begin::Setup};

use crate::flow::start::{
    contexts, lost_ancestor,
    rerun_parent::{self, AncestryCut},
    turn_start::{Admission, OrgRules, ReadStart, TurnStart},
};
use crate::{
    ports::{AgentDeps, Reads},
    refusal::Refusal,
};

/// The resolved settings of a session's next turn.
pub(super) struct ResolvedTurn {
    /// The effective settings of the turn.
    pub(super) effective: ResolvedContext,
    /// The part of them that the protocol needs.
    pub(super) setup: Setup,
    /// The mode for which they were resolved.
    pub(super) mode: String,
    /// The sources that it searches.
    pub(super) sources: Option<Sources>,
    /// Warnings for the user.
    pub(super) warnings: Vec<String>,
}

/// Resolves the settings of an admitted turn. Its session is none if the turn creates it. Refuses what the org doesn't
/// allow.
pub(super) async fn resolve<D: AgentDeps>(
    ReadStart { start, snapshot, org }: &ReadStart<'_, '_, D>,
    Admission { subjects, .. }: &Admission,
) -> Result<ResolvedTurn, Refusal> {
    let TurnStart { deps, models, caller, submission, request, rerun: rerun_source, .. } = **start;
    let (session, OrgRules { limits, catalog }) = (snapshot.session.as_ref(), org);
    let key = &submission.key.session;
    let session_contexts = match session {
        Some(session) => session.contexts.clone(),
        None => {
            contexts::first_contexts(deps.store(), key, &submission.contexts, &deps.config().defaults).await?
        }
    };
    let fork = session.filter(|session| session.forked_from.is_some());
    // Boxed: few sessions are forks, and this future would enlarge that of every turn.
    let origin =
        OptionFuture::from(fork.map(|session| Box::pin(lost_ancestor::find(deps.store(), caller, session))));
    let origin = async { Ok(origin.await.transpose()?.flatten()) };
    let (mut effective, cut) =
        try_join(contexts::effective_settings(deps, key, &session_contexts), origin).await?;
    effective = effective
        .with_options(request.options.as_deref())
        .map_err(|names| Refusal::not_offered("Model", &names))?;
    let mut previous = session.and_then(|session| Some(session.key.turn(session.last_turn.clone()?.id)));
    let mut rerun = None;
    if let Some(rerun_source) = rerun_source {
        let known = session.map_or(AncestryCut { cutoff_depth: 0, hidden_depth: 0 }, AncestryCut::of);
        let ancestry_cut = cut
            .as_ref()
            .map_or(known, |lost| AncestryCut { cutoff_depth: u64::MAX, hidden_depth: lost.hidden_depth });
        // Boxed: few turns are reruns, and this future would enlarge that of every turn.
        let (rerun_setup, parent) =
            Box::pin(rerun_parent::prepare_rerun(deps, catalog, rerun_source, ancestry_cut)).await?;
        if let Some(model) = &rerun_setup.rerun_of.model {
            effective = rerun_parent::with_model(effective, model)?;
        }
        (rerun, previous) = (Some(rerun_setup), parent);
    }
    let config = deps.config();
    let (org_settings, providers) = (&limits.settings, &config.providers);
    effective.check(org_settings, providers)?;
    let warnings = limits.check_prices(subjects, &effective)?;
    let effective = limits.restrict(subjects, effective.restrict(org_settings, providers));
    let first_mode = catalog.initial_mode(effective.initial_mode.as_deref()).key.as_str().to_owned();
    let mode = match &rerun {
        Some(rerun) => &rerun.parent.mode,
        None => session.map_or(&first_mode, |session| &session.mode),
    }
    .clone();
    let latched = session.map(|session| session.hints.clone()).unwrap_or_default();
    let hints = submission.hints.clone().latched_over(&latched);
    let sources = config.sources(&effective, &hints, catalog, &mode);
    let setup = Setup {
        contexts: session_contexts,
        visibility: org_settings.session_visibility.unwrap_or(config.visibility).initial(),
        initial_mode: first_mode,
        target: models.target(&effective),
        files: choose_files(deps.store(), previous.as_ref(), request, &effective.prompt_limits).await?,
        rerun,
        lost_ancestor: cut,
    };
    Ok(ResolvedTurn { effective, setup, mode, sources, warnings })
}

/// Chooses the files that go to the model, from the request and the previous turn.
async fn choose_files(
    store: &impl Reads,
    before: Option<&TurnKey>,
    request: &UserTurn,
    limits: &PromptLimits,
) -> Result<Vec<AgentSessionActiveFileRef>, Refusal> {
    let before = match before {
        Some(before) if !request.input_artifacts.is_empty() => active_files(store, before).await?,
        Some(_) | None => Vec::new(),
    };
    Ok(attachments::choose(request, limits, &before))
}

async fn active_files(store: &impl Reads, turn: &TurnKey) -> Result<Vec<AgentSessionActiveFileRef>, Refusal> {
    let request = store.request_detail(turn).await?;
    Ok(request.map(|request| request.active_file_refs).unwrap_or_default())
}
