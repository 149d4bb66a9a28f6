//! `GET /v1/models`: the agents and the model that turns of the org may use.

use agent::context::check_model;
use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use contracts::{id::AgentContextId, request::OrgSettings};
use fronts::{BUILT_IN_AGENTS, OfferedAgent, OwnAgents, allows_agent, offered};
use openai_api::{
    delivery::refused,
    error::ApiError,
    http::{Parameters, json},
    models,
    request::AGENT,
};
use protocol::Caller;
use runtime::AuthenticatedCaller;
use serde_json::{Value, json};
use turns::{
    ports::{TypedDocuments, Unavailable},
    refusal::Refusal,
};

use crate::app::App;

/// The most agents of an org that are listed. Clients show the list in a menu and don't page.
const MAX_AGENTS: usize = 100;

pub(super) async fn list(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    uri: Uri,
) -> Result<Response, ApiError> {
    Parameters::read(&uri, &["limit", "after", "order"])?;
    let settings = app.documents.org_settings(&caller.org).await.map_err(unavailable)?;
    let agents = agents(&app, &caller, &settings).await.map_err(unavailable)?;
    let agents = agents.iter().map(|(id, description)| (id.as_str(), description.as_deref()));
    let data = models::list(agents, allowed_model(&app, &settings), caller.org.as_str());
    Ok(json(200, &json!({"object": "list", "data": data})))
}

/// Returns the agents that turns of the org may use, with their descriptions.
pub(crate) async fn agents(
    app: &App,
    caller: &Caller,
    settings: &OrgSettings,
) -> Result<Vec<(String, Option<String>)>, Unavailable> {
    let own = app.documents.agents(&caller.org, None, MAX_AGENTS).await?;
    let mut agents = offered(OwnAgents { page: &own, after: None, has_more: false }, settings);
    // Clients preselect the first model: the built-in agents precede the org's own.
    agents.sort_by_key(|agent| own.iter().any(|own| own.id.as_str() == agent.id));
    let owned = |agent: OfferedAgent<'_>| (agent.id.to_owned(), agent.description.map(str::to_owned));
    Ok(agents.into_iter().map(owned).collect())
}

pub(super) async fn model(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    Parameters::read(&uri, &[])?;
    let settings = app.documents.org_settings(&caller.org).await.map_err(unavailable)?;
    let found = |model: &Value| model["id"] == id;
    let built_in = BUILT_IN_AGENTS.into_iter().filter(|agent| allows_agent(&settings, agent));
    let built_in = built_in.map(|agent| (agent, None));
    let known = models::list(built_in, allowed_model(&app, &settings), caller.org.as_str());
    if let Some(model) = known.into_iter().find(found) {
        return Ok(json(200, &model));
    }
    let agent = AgentContextId::new(id.strip_prefix(AGENT).unwrap_or(&id)).ok();
    let found = match agent.filter(|agent| allows_agent(&settings, agent.as_str())) {
        Some(agent) => app.documents.agent_context(&caller.org, &agent).await.map_err(unavailable)?,
        None => None,
    };
    if let Some(agent) = found {
        let description = agent.content.description.as_deref();
        return Ok(json(200, &models::model(&id, caller.org.as_str(), description)));
    }
    let message = format!("The model '{id}' doesn't exist.");
    Err(ApiError { status: 404, ..ApiError::invalid("model", "model_not_found", message) })
}

/// Returns the deployment's model if turns of the org may use it.
fn allowed_model<'a>(app: &'a App, settings: &OrgSettings) -> Option<&'a str> {
    let model = &*app.model;
    (!settings.disabled.org && check_model(settings, model).is_ok()).then_some(model)
}

fn unavailable(error: Unavailable) -> ApiError {
    refused(&Refusal::from(error))
}
