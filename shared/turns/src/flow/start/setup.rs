//! Resolves the settings of a turn from its session's contexts: model, budgets, files and sources.
//!
//! Resolved once per attempt and passed on, so that the provider chain and the plan of a turn reflect the same
//! contexts.

use agent::{
    attachments,
    attempt::{AttemptState, RecoveryPoint},
    context::{Budgets, ResolvedContext},
    retrieval::Sources,
};
use contracts::{
    id::{AgentContextId, ConversationContextId, OrgId},
    read::AgentSessionActiveFileRef,
    request::UserTurn,
};
use futures::future::{OptionFuture, try_join};
use protocol::{
    chain::{self, ChainStart, Target},
    id::TurnKey,
    session::{ChainHead, Contexts, Session},
    transition::begin::{Setup, Submission},
    turn::Turn,
};

use crate::flow::{
    executor::Executor,
    run::retrieve::Question,
    start::{
        purged_ancestor,
        rerun_parent::{self, RerunSource},
    },
};
use crate::{
    ports::{AgentDeps, Reads},
    refusal::Refusal,
};

/// The resolved settings of a session's next turn.
pub(in crate::flow) struct ResolvedTurn {
    /// The effective settings of the turn.
    pub(in crate::flow) effective: ResolvedContext,
    /// The part of them that the protocol needs.
    pub(in crate::flow) setup: Setup,
    /// The sources that it searches.
    pub(in crate::flow) sources: Option<Sources>,
}

/// The inputs of a turn's initial step.
pub(in crate::flow) struct InitialInputs<'a> {
    /// The start of its provider chain.
    pub(in crate::flow) start: ChainStart,
    /// The response to continue from, if the previous turn left one.
    pub(in crate::flow) chain: Option<&'a ChainHead>,
    /// The files to attach.
    pub(in crate::flow) files: Vec<AgentSessionActiveFileRef>,
}

impl<D: AgentDeps> Executor<D> {
    /// Resolves the settings of the next turn of `session`, which is none if this turn creates it.
    pub(in crate::flow) async fn resolve(
        &self,
        session: Option<&Session>,
        submission: &Submission,
        request: &UserTurn,
        rerun_source: Option<&RerunSource<'_>>,
    ) -> Result<ResolvedTurn, Refusal> {
        let org = &submission.key.session.org;
        let contexts = match session {
            Some(session) => session.contexts.clone(),
            None => self.first_contexts(org, &submission.contexts).await?,
        };
        let fork = session.filter(|session| session.forked_from.is_some());
        // Boxed: few sessions are forks, and this future would enlarge that of every turn.
        let origin = OptionFuture::from(
            fork.map(|session| Box::pin(purged_ancestor::find(self.deps.store(), session))),
        );
        let origin = async { Ok(origin.await.transpose()?.flatten()) };
        let (mut effective, cut) = try_join(self.effective_settings(org, &contexts), origin).await?;
        let mut previous = session.and_then(|session| Some(session.key.turn(session.last_turn.clone()?.id)));
        let mut rerun = None;
        if let Some(rerun_source) = rerun_source {
            let known_cutoff = session.map_or(0, Session::cutoff_depth);
            let cutoff_depth = if cut.is_some() { u64::MAX } else { known_cutoff };
            // Boxed: few turns are reruns, and this future would enlarge that of every turn.
            let (rerun_setup, parent) = Box::pin(self.prepare_rerun(rerun_source, cutoff_depth)).await?;
            if let Some(model) = &rerun_setup.rerun_of.model {
                effective = rerun_parent::with_model(effective, model)?;
            }
            (rerun, previous) = (Some(rerun_setup), parent);
        }
        let config = self.deps.config();
        let first_mode = config.catalog.initial_mode(effective.initial_mode.as_deref()).key.clone();
        let mode = match &rerun {
            Some(rerun) => &rerun.parent.mode,
            None => session.map_or(&first_mode, |session| &session.mode),
        };
        let latched = session.map(|session| session.hints.clone()).unwrap_or_default();
        let sources = config.sources(&effective, &submission.hints.clone().latched_over(&latched), mode);
        let setup = Setup {
            contexts,
            visibility: config.visibility.for_org(org),
            initial_mode: first_mode,
            target: self.target(&effective),
            files: self.choose_files(previous.as_ref(), request, &effective.budgets).await?,
            rerun,
            purged_ancestor: cut,
        };
        Ok(ResolvedTurn { effective, setup, sources })
    }

    /// Resolves the initial step of a turn that was taken over before its first reply. Its contexts may have changed
    /// since, so the provider's conversation state may no longer apply.
    pub(in crate::flow) async fn resolve_after_takeover(
        &self,
        turn: &Turn,
        session: Option<&Session>,
        request: &UserTurn,
        question: Option<&Question<'_>>,
    ) -> Result<RecoveryPoint, Refusal> {
        let session = session.ok_or(Refusal::SessionNotFound)?;
        let (mut effective, original) =
            try_join(self.effective_settings(&turn.key.session.org, &session.contexts), async {
                Ok(self.deps.store().request_detail(&turn.key).await?)
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
        let chain = match &rerun_of {
            Some(_) => Box::pin(self.parent_of(turn, session.cutoff_depth())).await?.chain,
            None => session.chain.clone(),
        };
        let current_target = self.target(&effective).upstream_for(session);
        let with = original.unwrap_or_else(|| current_target.clone());
        let start = chain::after_takeover(&turn.chain, &with, &current_target);
        let sources = self.deps.config().sources(&effective, &session.hints, &turn.mode);
        let retrieval = Box::pin(self.retrieve(question, &turn.key.session.org, sources.as_ref())).await;
        let inputs = InitialInputs { start, chain: chain.as_ref(), files };
        Ok(retrieval.apply_to(self.initial_step(turn, inputs, session, &effective, request), sources))
    }

    /// Returns the model and provider of a turn with these settings.
    fn target(&self, effective: &ResolvedContext) -> Target {
        let target = self.deps.config().target(effective);
        Target { is_stateless: self.capabilities.is_stateless(&target.provider), ..target }
    }

    /// Builds a turn's initial step: its plan, and no progress yet.
    pub(in crate::flow) fn initial_step(
        &self,
        turn: &Turn,
        InitialInputs { start, chain, files }: InitialInputs<'_>,
        session: &Session,
        effective: &ResolvedContext,
        request: &UserTurn,
    ) -> RecoveryPoint {
        let chain = chain.filter(|_| start.previous_response_id().is_some());
        let mut state = AttemptState::default();
        state.prompt.mode = chain.and_then(|chain| chain.mode.clone());
        state.prompt.solution = chain.and_then(|chain| chain.solution);
        state.effects.warnings = attachments::warnings(request, &files, &effective.budgets);
        let history_owner = self.target(effective).upstream_for(session).history_owner;
        let mut spec = self.deps.config().turn_spec(effective, &turn.mode, history_owner);
        spec.prompt.solution = session.solution.clone();
        spec.inputs.files = files;
        spec.history.cutoff_depth = session.cutoff_depth();
        spec.history.start = Some(start).filter(|start| *start != turn.chain);
        RecoveryPoint { spec, state }
    }

    /// Resolves the contexts of a new session. If the request names no conversation context, the agent's default
    /// applies. They are fixed from then on, even if the agent changes.
    async fn first_contexts(&self, org: &OrgId, named: &Contexts) -> Result<Contexts, Refusal> {
        let mut contexts = self.without_built_in(org, named).await?;
        if let (Some(id), None) = (&contexts.agent, &named.conversation) {
            let agent = self.deps.store().agent_context(org, id).await?;
            let agent = agent.ok_or_else(|| Refusal::AgentContextNotFound(id.clone()))?;
            contexts.conversation = agent.default_conversation_context_id;
        }
        Ok(contexts)
    }

    /// Removes the ids of the built-in contexts, unless the org has created contexts of its own under these ids.
    async fn without_built_in(&self, org: &OrgId, named: &Contexts) -> Result<Contexts, Refusal> {
        let store = self.deps.store();
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

    /// Resolves the effective settings of these contexts.
    async fn effective_settings(&self, org: &OrgId, contexts: &Contexts) -> Result<ResolvedContext, Refusal> {
        let store = self.deps.store();
        let agent = async {
            let Some(id) = &contexts.agent else { return Ok(None) };
            let found = store.agent_context(org, id).await?;
            found.map(Some).ok_or_else(|| Refusal::AgentContextNotFound(id.clone()))
        };
        let conversation = async {
            let Some(id) = &contexts.conversation else { return Ok(None) };
            let found = store.conversation_context(org, id).await?;
            found.map(Some).ok_or_else(|| Refusal::ConversationContextNotFound(id.clone()))
        };
        let (agent, conversation) = try_join(agent, conversation).await?;
        let config = self.deps.config();
        Ok(ResolvedContext::resolve(
            agent.as_ref(),
            conversation.as_ref(),
            &config.defaults,
            (&config.model, config.conversation_state),
        ))
    }

    /// Chooses the files that go to the model, from the request and the previous turn.
    async fn choose_files(
        &self,
        before: Option<&TurnKey>,
        request: &UserTurn,
        budgets: &Budgets,
    ) -> Result<Vec<AgentSessionActiveFileRef>, Refusal> {
        let before = match before {
            Some(before) if !request.input_artifacts.is_empty() => self.active_files(before).await?,
            Some(_) | None => Vec::new(),
        };
        Ok(attachments::choose(request, budgets, &before))
    }

    async fn active_files(&self, turn: &TurnKey) -> Result<Vec<AgentSessionActiveFileRef>, Refusal> {
        let request = self.deps.store().request_detail(turn).await?;
        Ok(request.map(|request| request.active_file_refs).unwrap_or_default())
    }
}
