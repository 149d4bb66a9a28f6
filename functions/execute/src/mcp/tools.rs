//! `tools/list`, `tools/call`, and the cancellation of a call.

use axum::response::Response;
use contracts::{
    id::{AgentContextId, SessionId},
    read::TurnStatus,
    request::TurnOptions,
};
use fronts::{OwnAgents, deliver, offered, refused};
use futures::future::try_join;
use histories::{NewTurn, TurnRound, Turns};
use mcp_api::{
    call::{RunningCall, failed},
    error::RpcError,
    message::Request,
    repetition::RequestName,
    server::{Caching, respond},
    tool::{self, Agent, Call},
};
use protocol::session::IdOrigin;
use runtime::query::ListScope;
use service::app::{Invocation, cancel_turn};
use turns::{
    flow::{SessionFilter, StartConditions},
    ports::{Deps, TypedDocuments},
    refusal::Refusal,
};

use super::{open_page, seal_page};
use crate::openai::context::Context;

/// The agents that a page is made from.
const AGENTS_PER_PAGE: usize = 100;
/// The running sessions of a user in which a cancelled call is looked for.
const MAX_RUNNING: u32 = 20;

pub(super) async fn list(context: &Context, request: &Request) -> Result<Response, RpcError> {
    let (scope, org) = (ListScope::unfiltered("mcp/tools"), &context.caller.org);
    let after = open_page(context, &scope, request.cursor()?)?;
    let after = after.and_then(|after| AgentContextId::new(after).ok());
    let store = context.app.adapters.store();
    let read = try_join(store.org_settings(org), store.agents(org, after.as_ref(), AGENTS_PER_PAGE)).await;
    let (settings, own) = read.map_err(|error| refused::<RpcError>(&error.into()))?;
    let has_more = own.len() == AGENTS_PER_PAGE;
    let last = own.last().filter(|_| has_more).map(|last| last.id.as_str());
    let next = seal_page(context, &scope, last);
    let agents = offered(OwnAgents { page: &own, after: after.as_ref(), has_more }, &settings);
    let agents =
        agents.iter().map(|agent| Agent { id: agent.id, name: agent.name, description: agent.description });
    Ok(respond(request, tool::list(agents, next.as_deref()), Caching::Tools))
}

/// Runs a turn, or finds the one that an earlier call with the same name started.
pub(super) async fn call(context: &Context, request: &Request, streams: bool) -> Result<Response, RpcError> {
    let call = Call::read(request)?;
    let (name, token) = (request.name()?, request.progress_token()?);
    let agent = AgentContextId::new(call.tool).map_err(|_| call.unknown_tool())?;
    let exists = context.has_agent(&agent).await;
    if !exists.map_err(|error| refused::<RpcError>(&error.into()))? {
        return Err(call.unknown_tool());
    }
    let arguments = match call.arguments() {
        Ok(arguments) => arguments,
        Err(invalid) => return Ok(failed(request, &invalid.to_string())),
    };
    let session = arguments.session.as_ref();
    // The flow would create a session under an id that no session has.
    if let Some(session) = session
        && context.last_turn(session).await.map_err(|refusal| refused::<RpcError>(&refusal))?.is_none()
    {
        return Ok(failed(request, &Refusal::SessionNotFound.to_string()));
    }
    let turn = match name {
        Some(name) => named(context, &name, session).await?,
        None => unnamed(context, session)?,
    };
    let is_streamed = streams && token.is_some();
    let options = TurnOptions::default();
    let new = NewTurn {
        agent: Some(agent.as_str()),
        instructions: "",
        options: &options,
        is_streamed,
        ancestry: &[],
        message: &arguments.message,
    };
    let started = match new.with_ids(&turn) {
        Ok(new) => context.start(new, conditions(session)).await,
        Err(invalid) => return Ok(failed(request, &invalid.to_string())),
    };
    let running = RunningCall::new(request, turn, token);
    let delivered = deliver(started, running, is_streamed, context.app.keep_alive).await;
    Ok(delivered.unwrap_or_else(|refused| refused.respond(request)))
}

/// Nobody chose the id of a session that a call begins, so it may use a new one and the user's own.
fn conditions(session: Option<&SessionId>) -> StartConditions {
    let id_origin = if session.is_some() { IdOrigin::Client } else { IdOrigin::Derived };
    StartConditions { id_origin, ..StartConditions::default() }
}

/// Returns the turn of a call with a name. After a rotation of the keys, it is the one that a previous key named, if it is
/// there.
async fn named(
    context: &Context,
    name: &RequestName,
    session: Option<&SessionId>,
) -> Result<TurnRound, RpcError> {
    let turns = turns(context, name, session);
    for turn in turns.iter().skip(1) {
        if context.head(turn).await.map_err(|refusal| refused::<RpcError>(&refusal))?.is_some() {
            return Ok(turn.clone());
        }
    }
    turns.into_iter().next().ok_or_else(|| contracts::ErrorCode::Internal.into())
}

/// Returns the turns that a name may have, that of the current key first.
fn turns(context: &Context, name: &RequestName, session: Option<&SessionId>) -> Vec<TurnRound> {
    let user = (context.caller.org.as_str(), context.caller.user.id.as_str());
    context.id_keys().iter().filter_map(|key| name.turn(key, user, session)).collect()
}

fn unnamed(context: &Context, session: Option<&SessionId>) -> Result<TurnRound, RpcError> {
    let internal = || RpcError::from(contracts::ErrorCode::Internal);
    let session = match session {
        Some(session) => session.clone(),
        None => SessionId::new(context.random()).map_err(|_| internal())?,
    };
    Ok(TurnRound::first(session, context.random().parse().map_err(|_| internal())?))
}

/// Cancels the turn of a call that has this name, if it runs. A session that the call continued is one of the user's
/// running ones, since the cancellation doesn't name it.
pub(super) async fn cancel(context: &Context, name: &RequestName) -> Result<(), RpcError> {
    let failed = |refusal: Refusal| RpcError::of_notification(refusal.error());
    let mut candidates = turns(context, name, None);
    let filter = SessionFilter {
        user: Some(context.caller.user.id.clone()),
        status: Some(TurnStatus::Pending),
        ..SessionFilter::default()
    };
    let running = context.app.reader.sessions(&context.caller, &filter, MAX_RUNNING, None);
    for session in running.await.map_err(failed)?.result.items {
        candidates.extend(turns(context, name, Some(&session.id)));
    }
    for turn in candidates {
        if context.head(&turn).await.map_err(failed)?.is_none() {
            continue;
        }
        let invocation =
            Invocation { budget: context.budget, correlation: Some(context.correlation.0.clone()) };
        let TurnRound { session, turn, .. } = turn;
        runtime::record_turn(&session, &turn);
        let cancelled = cancel_turn(&context.app.adapters, &context.caller, session, turn, &invocation).await;
        return cancelled.map(drop).map_err(failed);
    }
    Ok(())
}
