//! Set-up: what a turn works with, found out from its session's contexts.
//!
//! Found out once per attempt and carried on: the chain and the plan of a turn come from the same contexts.

use agent::{
    context::{Budgets, Effective},
    material,
    progress::{Plan, Progress, Step},
    retrieval::Sources,
};
use contracts::{
    id::{AgentContextId, ConversationContextId, OrgId},
    read::AgentSessionActiveFileRef,
    request::UserTurn,
};
use futures::future::{OptionFuture, try_join};
use protocol::{
    chain::{self, Start, Target},
    id::TurnKey,
    session::{ChainHead, Contexts, Session},
    transition::begin::{Setup, Submission},
    turn::Turn,
};

use super::{
    basis::{self, Again},
    executor::Executor,
    origin,
    retrieve::Question,
};
use crate::{
    ports::{AgentDeps, Reads},
    refusal::Refusal,
};

/// What the contexts of a session come to for its next turn.
pub(super) struct Resolved {
    /// The settings of the turn.
    pub(super) effective: Effective,
    /// What the protocol needs of them.
    pub(super) setup: Setup,
    /// What it searches.
    pub(super) sources: Option<Sources>,
}

/// Where the work of a turn begins.
pub(super) struct Begins<'a> {
    /// What its first model call goes on from.
    pub(super) start: Start,
    /// The response to go on from, where the turn before left one.
    pub(super) chain: Option<&'a ChainHead>,
    /// The files that come with it.
    pub(super) files: Vec<AgentSessionActiveFileRef>,
}

impl<D: AgentDeps> Executor<D> {
    /// What the next turn of `session` is begun with; none is a session that this turn creates.
    pub(super) async fn resolve(
        &self,
        session: Option<&Session>,
        submission: &Submission,
        request: &UserTurn,
        again: Option<&Again<'_>>,
    ) -> Result<Resolved, Refusal> {
        let org = &submission.key.session.org;
        let contexts = match session {
            Some(session) => session.contexts.clone(),
            None => self.first_contexts(org, &submission.contexts).await?,
        };
        let fork = session.filter(|session| session.forked_from.is_some());
        // Boxed: few sessions are forks, and each turn's future would be as large as theirs.
        let origin = OptionFuture::from(
            fork.map(|session| Box::pin(origin::purged_since(self.deps.store(), session))),
        );
        let origin = async { Ok(origin.await.transpose()?.flatten()) };
        let (mut effective, cut) = try_join(self.effective(org, &contexts), origin).await?;
        let mut before = session.and_then(|session| Some(session.key.turn(session.last_turn.clone()?.id)));
        let mut rerun = None;
        if let Some(again) = again {
            let known = session.map_or(0, Session::cut_place);
            let cut_place = if cut.is_some() { u64::MAX } else { known };
            // Boxed: few turns are run again, and each turn's future would be as large as theirs.
            let (begins, gone_on_from) = Box::pin(self.begins_again(again, cut_place)).await?;
            if let Some(model) = &begins.repeats.model {
                effective = basis::answered_by(effective, model)?;
            }
            (rerun, before) = (Some(begins), gone_on_from);
        }
        let config = self.deps.config();
        let first_mode = config.catalog.first_mode(effective.first_mode.as_deref()).key.clone();
        let mode = match &rerun {
            Some(rerun) => &rerun.basis.mode,
            None => session.map_or(&first_mode, |session| &session.mode),
        };
        let latched = session.map(|session| session.hints.clone()).unwrap_or_default();
        let sources = config.sources(&effective, &submission.hints.clone().latched_over(&latched), mode);
        let setup = Setup {
            contexts,
            visibility: config.visibility.of(org),
            first_mode,
            target: self.target(&effective),
            files: self.choose_files(before.as_ref(), request, &effective.budgets).await?,
            rerun,
            cut,
        };
        Ok(Resolved { effective, setup, sources })
    }

    /// The same for a turn that began elsewhere and got no reply. Its contexts may have been edited since:
    /// then what the provider was to remember may be of no use any more.
    pub(super) async fn set_up_again(
        &self,
        turn: &Turn,
        session: Option<&Session>,
        request: &UserTurn,
        question: Option<&Question<'_>>,
    ) -> Result<Step, Refusal> {
        let session = session.ok_or(Refusal::SessionNotFound)?;
        let (mut effective, began) =
            try_join(self.effective(&turn.key.session.org, &session.contexts), async {
                Ok(self.deps.store().request_detail(&turn.key).await?)
            })
            .await?;
        let (began, files, repeats) = match began {
            Some(began) => (Some(began.upstream), began.active_file_refs, began.repeats),
            None => (None, Vec::new(), None),
        };
        // A context that no longer names the model that a rerun asked for has it answered by its own.
        if let Some(model) = repeats.as_ref().and_then(|repeats| repeats.model.as_deref()) {
            effective = effective.clone().answered_by(model).unwrap_or(effective);
        }
        let chain = match &repeats {
            Some(_) => Box::pin(self.gone_on_from(turn, session.cut_place())).await?.chain,
            None => session.chain.clone(),
        };
        let now = self.target(&effective).of(session);
        let with = began.unwrap_or_else(|| now.clone());
        let start = chain::after_takeover(&turn.chain, &with, &now);
        let sources = self.deps.config().sources(&effective, &session.hints, &turn.mode);
        let found = Box::pin(self.retrieve(question, &turn.key.session.org, sources.as_ref())).await;
        let begins = Begins { start, chain: chain.as_ref(), files };
        Ok(found.told_in(self.step(turn, begins, session, &effective, request), sources))
    }

    /// Where a turn with these settings is to go.
    fn target(&self, effective: &Effective) -> Target {
        let target = self.deps.config().target(effective);
        Target { keeps_none: self.learned.keeps_none(&target.provider), ..target }
    }

    /// A turn's plan, and no progress yet.
    pub(super) fn step(
        &self,
        turn: &Turn,
        Begins { start, chain, files }: Begins<'_>,
        session: &Session,
        effective: &Effective,
        request: &UserTurn,
    ) -> Step {
        let chain = chain.filter(|_| start.previous_response_id().is_some());
        let progress = Progress {
            told_mode: chain.and_then(|chain| chain.told_mode.clone()),
            told_solution: chain.and_then(|chain| chain.told_solution),
            warnings: material::warnings(request, &files, &effective.budgets),
            ..Progress::default()
        };
        let plan = Plan {
            solution: session.solution.clone(),
            active_files: files,
            cut_place: session.cut_place(),
            start: Some(start).filter(|start| *start != turn.chain),
            ..self.deps.config().plan(effective, &turn.mode, self.target(effective).of(session).keeper)
        };
        Step { plan, progress }
    }

    /// The contexts of a new session: an agent brings a conversation context where the request names none.
    /// They are fixed from then on, whatever becomes of the agent.
    async fn first_contexts(&self, org: &OrgId, named: &Contexts) -> Result<Contexts, Refusal> {
        let mut contexts = self.without_built_in(org, named).await?;
        if let (Some(id), None) = (&contexts.agent, &named.conversation) {
            let agent = self.deps.store().agent_context(org, id).await?;
            let agent = agent.ok_or_else(|| Refusal::AgentContextNotFound(id.clone()))?;
            contexts.conversation = agent.default_conversation_context_id;
        }
        Ok(contexts)
    }

    /// A session on the built-in contexts names none. An org may have put contexts of its own under their id
    /// before that id was taken.
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

    /// What a turn of a session with these contexts uses.
    async fn effective(&self, org: &OrgId, contexts: &Contexts) -> Result<Effective, Refusal> {
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
        Ok(Effective::resolve(
            agent.as_ref(),
            conversation.as_ref(),
            &config.defaults,
            (&config.model, config.chain),
        ))
    }

    /// Which of the request's files go to the model, beside what the turn before carried.
    async fn choose_files(
        &self,
        before: Option<&TurnKey>,
        request: &UserTurn,
        budgets: &Budgets,
    ) -> Result<Vec<AgentSessionActiveFileRef>, Refusal> {
        let before = match before {
            Some(before) if !request.input_artifacts.is_empty() => self.files_of(before).await?,
            Some(_) | None => Vec::new(),
        };
        Ok(material::choose(request, budgets, &before))
    }

    async fn files_of(&self, turn: &TurnKey) -> Result<Vec<AgentSessionActiveFileRef>, Refusal> {
        let request = self.deps.store().request_detail(turn).await?;
        Ok(request.map(|request| request.active_file_refs).unwrap_or_default())
    }
}
