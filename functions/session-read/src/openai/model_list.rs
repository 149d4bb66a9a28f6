//! `GET /v1/models`: the agents and the model that turns of the org may use.

use agent::context::check_model;
use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use contracts::{id::AgentContextId, request::OrgSettings};
use openai_api::{
    delivery::refused,
    error::ApiError,
    http::{Parameters, json},
    models,
    request::AGENT,
};
use runtime::AuthenticatedCaller;
use serde_json::{Value, json};
use turns::{
    ports::{TypedDocuments, Unavailable},
    refusal::Refusal,
};

use crate::app::App;

/// The most agents of an org that are listed. Clients show the list in a menu and don't page.
const MAX_AGENTS: usize = 100;
/// The agents that every org has.
const BUILT_IN_AGENTS: [&str; 2] = ["default", "workspace"];

pub(super) async fn list(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    uri: Uri,
) -> Result<Response, ApiError> {
    Parameters::read(&uri, &["limit", "after", "order"])?;
    let settings = app.documents.org_settings(&caller.org).await.map_err(unavailable)?;
    let own = app.documents.agents(&caller.org, MAX_AGENTS).await.map_err(unavailable)?;
    let built_in = BUILT_IN_AGENTS.into_iter().filter(|id| !own.iter().any(|own| own.id.as_str() == *id));
    let offered = own.iter().filter(|agent| !agent.is_deprecated).map(|agent| agent.id.as_str());
    let agents = built_in.chain(offered).filter(|agent| allows_agent(&settings, agent));
    let data = models::list(agents, allowed_model(&app, &settings), caller.org.as_str());
    Ok(json(200, &json!({"object": "list", "data": data})))
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
    let known = models::list(built_in, allowed_model(&app, &settings), caller.org.as_str());
    if let Some(model) = known.into_iter().find(found) {
        return Ok(json(200, &model));
    }
    let agent = id.strip_prefix(AGENT).and_then(|agent| AgentContextId::new(agent).ok());
    let exists = match agent.filter(|agent| allows_agent(&settings, agent.as_str())) {
        Some(agent) => app.documents.agent_context(&caller.org, &agent).await.map_err(unavailable)?.is_some(),
        None => false,
    };
    if exists {
        return Ok(json(200, &models::model(&id, caller.org.as_str())));
    }
    let message = format!("The model '{id}' doesn't exist.");
    Err(ApiError { status: 404, ..ApiError::invalid("model", "model_not_found", message) })
}

/// True if neither the org nor the agent is disabled.
fn allows_agent(settings: &OrgSettings, agent: &str) -> bool {
    let disabled = &settings.disabled;
    !disabled.org && disabled.agents.iter().all(|disabled| disabled.as_str() != agent)
}

/// Returns the deployment's model if turns of the org may use it.
fn allowed_model<'a>(app: &'a App, settings: &OrgSettings) -> Option<&'a str> {
    let model = &*app.model;
    (!settings.disabled.org && check_model(settings, model).is_ok()).then_some(model)
}

fn unavailable(error: Unavailable) -> ApiError {
    refused(&Refusal::from(error))
}
