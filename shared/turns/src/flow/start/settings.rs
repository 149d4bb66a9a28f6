//! Resolves the settings of a turn from its session's contexts: model, prompt limits, files and sources.
//!
//! Resolved once per attempt and passed on, so that the provider chain and the plan of a turn reflect the same contexts.
//!
//! A fork may no longer tell what a session in its ancestry says: the session was purged, the caller may not see it since it
//! became private or was deleted, or it can't be checked. Sessions don't track their forks, so a fork checks its ancestors
//! before each of its turns. It then continues without that history, and without everything that its own earlier turns left
//! and that contains any of it: the provider's conversation state and the stored prompt state. It does so for everybody from
//! then on, since later turns build on this one.

use agent::{
    attachments,
    context::{AgentContext, ContextId, Defaults, PromptLimits, ResolvedContext, Rollout},
    retrieval::Sources,
};
use contracts::{
    id::{AgentContextId, ConversationContextId, OrgId, SessionId},
    read::AgentSessionActiveFileRef,
    request::UserTurn,
};
use futures::future::{OptionFuture, try_join};
use protocol::{
    Caller,
    ancestry::{LossReason, LostAncestor, MAX_FORK_DEPTH},
    id::{SessionKey, TurnKey},
    session::{Contexts, Session},
    transition::begin::{Basis, Setup},
};

use crate::{
    flow::{
        access,
        start::{
            connections::{NamedTools, named_tools},
            rerun::{self, AncestryCut},
            turn_start::{Admission, OrgRules, ReadStart, TurnStart},
        },
    },
    ports::{AgentDeps, LiveContext, Reads, TypedDocuments, Unavailable},
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
    let TurnStart { deps, models, caller, submission, request, rerun: rerun_source, conditions, .. } =
        **start;
    let (session, OrgRules { limits, catalog }) = (snapshot.session.as_ref(), org);
    let key = &submission.key.session;
    let session_contexts = match session {
        Some(session) => session.contexts.clone(),
        None => first_contexts(deps.store(), key, &submission.contexts, &deps.config().defaults).await?,
    };
    let fork = session.filter(|session| session.forked_from.is_some());
    // Boxed: few sessions are forks, and this future would enlarge that of every turn.
    let origin =
        OptionFuture::from(fork.map(|session| Box::pin(find_lost_ancestor(deps.store(), caller, session))));
    let origin = async { Ok(origin.await.transpose()?.flatten()) };
    let (mut effective, cut) = try_join(effective_settings(deps, key, &session_contexts), origin).await?;
    effective = effective
        .with_options(request.options.as_deref())
        .map_err(|names| Refusal::not_offered("Model", &names))?;
    let mut previous = session.and_then(|session| Some(session.key.turn(session.last_turn.clone()?.id)));
    let mut basis = None;
    if let Some(rerun_source) = rerun_source {
        let known = session.map_or(AncestryCut { cutoff_depth: 0, hidden_depth: 0 }, AncestryCut::of);
        let ancestry_cut = cut
            .as_ref()
            .map_or(known, |lost| AncestryCut { cutoff_depth: u64::MAX, hidden_depth: lost.hidden_depth });
        // Boxed: few turns are reruns, and this future would enlarge that of every turn.
        let (rerun, parent) =
            Box::pin(rerun::prepare_rerun(deps, catalog, rerun_source, ancestry_cut)).await?;
        if let Some(model) = rerun.rerun_of.as_ref().and_then(|of| of.model.as_ref()) {
            effective = rerun::with_model(effective, model)?;
        }
        (basis, previous) = (Some(rerun), parent);
    } else if let Some(session) = session.filter(|_| conditions.starts_over) {
        (basis, previous) = (Some(Basis::nothing(session)), None);
    }
    let config = deps.config();
    let (org_settings, providers) = (&limits.settings, &config.providers);
    effective.check(org_settings, providers)?;
    let mut warnings = limits.check_prices(subjects, &effective)?;
    warnings.extend(effective.tool_warnings.iter().cloned());
    let performs_again = rerun_source.is_some_and(|source| source.has_effects);
    warnings.extend(performs_again.then(|| rerun::PERFORMS_AGAIN.to_owned()));
    let effective = limits.restrict(subjects, effective.restrict(org_settings, providers));
    let first_mode = catalog.initial_mode(effective.initial_mode.as_deref()).key.as_str().to_owned();
    let mode = match &basis {
        Some(basis) => &basis.parent.mode,
        None => session.map_or(&first_mode, |session| &session.mode),
    }
    .clone();
    let latched = session.map(|session| session.hints.clone()).unwrap_or_default();
    let hints = submission.hints.clone().latched_over(&latched);
    let sources = config.sources(&effective, session_contexts.agent.as_ref(), &hints, catalog, &mode);
    let setup = Setup {
        contexts: session_contexts,
        visibility: org_settings.session_visibility.unwrap_or(config.visibility).initial(),
        initial_mode: first_mode,
        target: models.target(&effective),
        files: choose_files(deps.store(), previous.as_ref(), request, &effective.prompt_limits).await?,
        basis,
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

/// Resolves the contexts of a new session. If the request names no conversation context, the agent's default
/// applies. They are fixed from then on, even if the agent changes.
pub(super) async fn first_contexts(
    store: &impl Reads,
    SessionKey { org, session }: &SessionKey,
    named: &Contexts,
    defaults: &Defaults,
) -> Result<Contexts, Refusal> {
    let mut contexts = without_built_in(store, org, named).await?;
    if let (Some(id), None) = (&contexts.agent, &named.conversation) {
        let agent = named_agent(store, org, id, session, defaults).await?;
        contexts.conversation = agent.default_conversation_context_id;
    }
    Ok(contexts)
}

/// Returns the version of a rollout that a session is part of.
fn share(rollout: Option<Rollout>, context: &str, session: &SessionId) -> Option<u32> {
    let rollout = rollout.filter(|rollout| rollout.includes(context, session.as_str()));
    rollout.map(|rollout| rollout.version)
}

/// Returns the org's agent with this id, as a session has it, else the built-in one.
async fn named_agent(
    store: &impl Reads,
    org: &OrgId,
    id: &AgentContextId,
    session: &SessionId,
    defaults: &Defaults,
) -> Result<AgentContext, Refusal> {
    match store.agent_context(org, id).await? {
        Some(LiveContext { content, rollout }) => match share(rollout, id.as_str(), session) {
            // Boxed: few turns are part of a rollout, and this future would enlarge that of every turn.
            Some(version) => Ok(Box::pin(store.agent_version(org, id, version)).await?.unwrap_or(content)),
            None => Ok(content),
        },
        None => defaults
            .named_agent(id)
            .cloned()
            .ok_or_else(|| Refusal::context_not_found(&ContextId::Agent(id.clone()))),
    }
}

/// Removes the ids of the built-in contexts, unless the org has created contexts of its own under these ids.
async fn without_built_in(store: &impl Reads, org: &OrgId, named: &Contexts) -> Result<Contexts, Refusal> {
    let mut contexts = named.clone();
    if let Some(id) = named.agent.as_ref().filter(|id| **id == AgentContextId::built_in())
        && store.agent_context(org, id).await?.is_none()
    {
        contexts.agent = None;
    }
    if let Some(id) = named.conversation.as_ref().filter(|id| **id == ConversationContextId::built_in())
        && store.conversation_context(org, id).await?.is_none()
    {
        contexts.conversation = None;
    }
    Ok(contexts)
}

fn pinned<T>(version: u32, found: Option<T>) -> Result<T, Refusal> {
    found.ok_or_else(|| Refusal::context_version_not_found(version.to_string()))
}

/// Resolves the effective settings of these contexts.
pub(super) async fn effective_settings(
    deps: &impl AgentDeps,
    SessionKey { org, session }: &SessionKey,
    contexts: &Contexts,
) -> Result<ResolvedContext, Refusal> {
    let (store, config) = (deps.store(), deps.config());
    let agent = contexts.agent.as_ref().map_or("default", AgentContextId::as_str);
    tracing::Span::current().record(contracts::gen_ai::AGENT_ID, agent);
    let agent_context = async {
        let Some(id) = &contexts.agent else { return Ok(None) };
        match contexts.pins.agent {
            // Boxed: few sessions are pinned.
            Some(version) => {
                let found = Box::pin(store.agent_version(org, id, version)).await?;
                pinned(version, found).map(Some)
            }
            None => named_agent(store, org, id, session, &config.defaults).await.map(Some),
        }
    };
    let conversation = async {
        let Some(id) = &contexts.conversation else { return Ok(None) };
        if let Some(version) = contexts.pins.conversation {
            let found = Box::pin(store.conversation_version(org, id, version)).await?;
            return pinned(version, found).map(Some);
        }
        let found = store.conversation_context(org, id).await?;
        let LiveContext { content, rollout } =
            found.ok_or_else(|| Refusal::context_not_found(&ContextId::Conversation(id.clone())))?;
        let Some(version) = share(rollout, id.as_str(), session) else { return Ok(Some(content)) };
        let found = Box::pin(store.conversation_version(org, id, version)).await?;
        Ok(Some(found.unwrap_or(content)))
    };
    let (found, conversation) = try_join(agent_context, conversation).await?;
    let mut resolved = ResolvedContext::resolve(
        found.as_ref(),
        conversation.as_ref(),
        &config.defaults,
        (&config.model, config.conversation_state),
    );
    if !resolved.tools.is_empty() {
        // Boxed: this future would enlarge that of the turns without connections.
        let NamedTools { tools, warnings } =
            Box::pin(named_tools(store, org, agent, &resolved.tools)).await?;
        resolved.remote_tools.extend(tools);
        resolved.tool_warnings = warnings;
    }
    Ok(resolved)
}

/// Finds the nearest ancestor that was lost since the previous turn; none if the session already knows of it. The
/// ancestor after the last that is checked is lost too, and so is one that doesn't exist.
pub(crate) async fn find_lost_ancestor(
    store: &impl Reads,
    caller: &Caller,
    session: &Session,
) -> Result<Option<LostAncestor>, Unavailable> {
    let known_cutoff = session.cutoff.as_ref().map(|cut| &cut.session);
    let mut visited: Vec<SessionId> = Vec::new();
    let mut next = session.forked_from.clone();
    while let Some(parent) = next.take_if(|parent| known_cutoff != Some(&parent.session)) {
        let reason = match visited.len() {
            MAX_FORK_DEPTH => Some(LossReason::ForkDepth),
            _ => {
                let key = SessionKey { org: session.key.org.clone(), session: parent.session.clone() };
                match store.session(&key).await? {
                    Some(origin) if origin.is_purged() => Some(LossReason::Purged),
                    Some(origin) if !access::can_see(store, caller, &origin).await? => {
                        Some(LossReason::Hidden)
                    }
                    Some(origin) => {
                        next.clone_from(&origin.forked_from);
                        None
                    }
                    // An import may bring a fork without its origin.
                    None => Some(LossReason::Purged),
                }
            }
        };
        if let Some(reason) = reason {
            let hidden_depth = parent.depth;
            let session = parent.session;
            return Ok(Some(LostAncestor { session, reason, remaining_ancestors: visited, hidden_depth }));
        }
        visited.push(parent.session);
    }
    Ok(None)
}
