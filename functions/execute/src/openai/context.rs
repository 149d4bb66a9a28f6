//! The context of a request: the turns of its caller.

use std::time::Duration;

use contracts::{
    AgentExecuteRequest,
    id::{SessionId, TurnId},
    request::{ForkRequest, ToolContinuation, UserTurn},
};
use openai_api::{files::unix_seconds, id::ResponseId, start::Turns};
use protocol::{Caller, session::IdOrigin};
use runtime::{Correlation, id_key::IdKeys};
use service::{
    app::App,
    respond::{self, TurnRequest, Work},
};
use turns::{
    flow::{DerivedSession, RateLimitCell, StartConditions, TurnHead, TurnSnapshot, fork_session},
    refusal::Refusal,
    stream::ResponseStart,
};

/// The context of a request.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) app: App,
    pub(super) caller: Caller,
    pub(super) correlation: Correlation,
    pub(super) budget: Duration,
    /// The time of the request, in seconds.
    pub(super) now: u64,
    /// The rate limits that the request has counted against, once its turn has started.
    pub(super) rate_limits: RateLimitCell,
}

impl Context {
    pub(super) fn new(app: App, caller: Caller, correlation: Correlation, budget: Duration) -> Self {
        Self { app, caller, correlation, budget, now: unix_seconds(), rate_limits: RateLimitCell::default() }
    }

    /// Returns the time of the request, as objects show it.
    pub(super) fn created(&self) -> i64 {
        i64::try_from(self.now).unwrap_or_default()
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

    async fn head(&self, id: &ResponseId) -> Result<Option<TurnHead>, Refusal> {
        self.app.reader.turn_head(&self.caller, id.session.clone(), id.turn.clone()).await
    }

    async fn derived(&self, id: &ResponseId) -> Result<DerivedSession, Refusal> {
        self.app.reader.derived_session(&self.caller, id.session.clone(), id.turn.clone()).await
    }

    async fn snapshot(&self, id: &ResponseId) -> Result<TurnSnapshot, Refusal> {
        self.app.reader.turn_snapshot(&self.caller, id.session.clone(), id.turn.clone()).await
    }

    async fn fork(&self, session: &SessionId, request: &ForkRequest) -> Result<(), Refusal> {
        let Self { app, caller, .. } = self;
        fork_session(&app.adapters, app.session_policy, caller, session.clone(), request, IdOrigin::Derived)
            .await
    }

    async fn start(&self, turn: UserTurn, conditions: StartConditions) -> ResponseStart<Work> {
        runtime::record_turn(&turn.session_id, &turn.turn_id);
        let conditions = StartConditions { rate_limits: self.rate_limits.clone(), ..conditions };
        self.respond(TurnRequest::Conditional(Box::new(turn), conditions)).await
    }

    async fn resume(&self, results: ToolContinuation) -> ResponseStart<Work> {
        runtime::record_turn(&results.session_id, &results.turn_id);
        self.respond(TurnRequest::Execute(AgentExecuteRequest::from(results))).await
    }
}
