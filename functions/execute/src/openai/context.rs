//! The context of a request: the turns of its caller.

use std::time::Duration;

use axum::{extract::FromRequestParts, http::request::Parts};
use contracts::{
    AgentExecuteRequest,
    id::{AgentContextId, SessionId, TurnId},
    request::{ForkRequest, RagCondition, ToolContinuation, UserMessage, UserTurn},
};
use fronts::BUILT_IN_AGENTS;
use histories::{StartError, TurnRound, Turns};
use openai_api::{
    delivery::refused,
    error::ApiError,
    files::unix_seconds,
    request::{Body, Ignored},
};
use protocol::{Caller, session::IdOrigin};
use runtime::{AuthenticatedCaller, Correlation, Reply, api::RemainingTime, id_key::IdKeys};
use service::{
    app::App,
    respond::{self, TurnRequest, Work},
};
use turns::{
    flow::{DerivedTurn, RateLimitCell, StartConditions, StartRead, TurnHead, TurnSnapshot, fork_session},
    ports::{Deps, TypedDocuments, Unavailable},
    refusal::Refusal,
    stream::ResponseStart,
};

use super::files;

/// The context of a request.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) app: App,
    pub(crate) caller: Caller,
    pub(crate) correlation: Correlation,
    pub(crate) budget: Duration,
    /// The time of the request, in seconds.
    pub(crate) now: u64,
    /// The session of the turn to start, as it was read beside other reads.
    pub(crate) read: Option<Box<StartRead>>,
    /// The conditions of its search in vector stores.
    pub(crate) scope: Vec<RagCondition>,
    /// The rate limits that the request has counted against, once its turn has started.
    pub(crate) rate_limits: RateLimitCell,
}

impl FromRequestParts<App> for Context {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Reply> {
        let AuthenticatedCaller(caller) = AuthenticatedCaller::from_request_parts(parts, app).await?;
        let Ok(correlation) = Correlation::from_request_parts(parts, app).await;
        let Ok(RemainingTime(budget)) = RemainingTime::from_request_parts(parts, app).await;
        let (now, rate_limits) = (unix_seconds(), RateLimitCell::default());
        let (read, scope) = (None, Vec::new());
        Ok(Self { app: app.clone(), caller, correlation, budget, now, read, scope, rate_limits })
    }
}

impl Context {
    /// Returns the time of the request, as objects show it.
    pub(crate) fn created(&self) -> i64 {
        i64::try_from(self.now).unwrap_or_default()
    }

    /// Parses the body of a request. A `model` without a slash is an agent of the org, unless a model has its name.
    pub(super) async fn body(&self, bytes: &[u8]) -> Result<Body, ApiError> {
        let searches_web = self.app.adapters.config.providers.searches_web;
        let body = Body::parse(bytes)?.with_web_search(searches_web);
        let Some(name) = body.ambiguous_model() else { return Ok(body) };
        let is_agent = self.is_agent(name).await.map_err(|error| refused(&error.into()))?;
        Ok(if is_agent { body.with_agent() } else { body })
    }

    /// True if the name of a model, which has no slash, is an agent's.
    pub(crate) async fn is_agent(&self, name: &str) -> Result<bool, Unavailable> {
        let Ok(agent) = AgentContextId::new(name) else { return Ok(false) };
        if name == self.app.adapters.config.model.as_str() {
            return Ok(false);
        }
        self.has_agent(&agent).await
    }

    /// True if the org has the agent, or it is a built-in one.
    pub(crate) async fn has_agent(&self, agent: &AgentContextId) -> Result<bool, Unavailable> {
        Ok(BUILT_IN_AGENTS.contains(&agent.as_str())
            || self.app.adapters.store().agent_context(&self.caller.org, agent).await?.is_some())
    }

    /// Refuses a request with members that the service ignores, if the org accepts none.
    pub(super) async fn admit(&self, ignored: &Ignored) -> Result<(), ApiError> {
        let Some(refusal) = ignored.refusal() else { return Ok(()) };
        let settings = self.app.adapters.store().org_settings(&self.caller.org).await;
        let settings = settings.map_err(|error| refused(&error.into()))?;
        if settings.strict_requests { Err(refusal) } else { Ok(()) }
    }

    async fn respond(&self, request: TurnRequest) -> ResponseStart<Work> {
        let Self { app, caller, correlation, budget, .. } = self.clone();
        respond::start(&app, caller, correlation.0, request, None, budget).await
    }
}

impl Turns for Context {
    type Work = Work;

    fn caller(&self) -> &Caller {
        &self.caller
    }

    fn id_keys(&self) -> &IdKeys {
        &self.app.id_keys
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn random(&self) -> String {
        uuid::Uuid::new_v4().simple().to_string()
    }

    async fn last_turn(&self, session: &SessionId) -> Result<Option<TurnId>, Refusal> {
        self.app.reader.last_turn_id(&self.caller, session.clone()).await
    }

    async fn head(&self, id: &TurnRound) -> Result<Option<TurnHead>, Refusal> {
        self.app.reader.turn_head(&self.caller, id.session.clone(), id.turn.clone()).await
    }

    async fn derived_all(&self, ids: &[TurnRound]) -> Result<Vec<DerivedTurn>, Refusal> {
        let ids = ids.iter().map(|id| (id.session.clone(), id.turn.clone()));
        self.app.reader.derived_sessions(&self.caller, ids).await
    }

    async fn derived_snapshot(&self, turn: &DerivedTurn) -> Result<TurnSnapshot, Refusal> {
        self.app.reader.derived_snapshot(turn).await
    }

    async fn snapshot(&self, id: &TurnRound) -> Result<TurnSnapshot, Refusal> {
        self.app.reader.turn_snapshot(&self.caller, id.session.clone(), id.turn.clone()).await
    }

    async fn with_contents(&self, message: &UserMessage) -> Result<UserMessage, StartError> {
        let Self { app, caller, now, .. } = self;
        files::with_contents(app, caller, *now, message).await.map_err(|error| StartError::File(error.into()))
    }

    async fn fork(&self, session: &SessionId, request: &ForkRequest) -> Result<(), Refusal> {
        let Self { app, caller, .. } = self;
        fork_session(&app.adapters, app.session_policy, caller, session.clone(), request, IdOrigin::Derived)
            .await
    }

    async fn start(&self, mut turn: UserTurn, conditions: StartConditions) -> ResponseStart<Work> {
        runtime::record_turn(&turn.session_id, &turn.turn_id);
        turn.rag_scope.extend(self.scope.iter().cloned());
        let is_of = |read: &StartRead| {
            read.session.as_ref().is_some_and(|session| session.key.session == turn.session_id)
        };
        // The id of a new turn is fresh, so the session is all that its start has to know.
        let session = self.read.as_ref().filter(|read| conditions.is_new && is_of(read));
        let read = conditions.read.or_else(|| session.cloned());
        let conditions = StartConditions { read, rate_limits: self.rate_limits.clone(), ..conditions };
        self.respond(TurnRequest::Conditional(Box::new(turn), conditions)).await
    }

    async fn resume(&self, results: ToolContinuation) -> ResponseStart<Work> {
        runtime::record_turn(&results.session_id, &results.turn_id);
        self.respond(TurnRequest::Execute(AgentExecuteRequest::from(results))).await
    }
}
