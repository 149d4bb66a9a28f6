//! The console: the pages of `clients/console`, built on the JavaScript SDK, and their own API.
//!
//! `GET /` and the files below it are public and load nothing from elsewhere. `/console/api` provides the things a
//! page alone can't have: a token and, for a local cloud, the state of its machine. `guard.rs` protects it.
//!
//! A page that a stack hosts has neither (`hosted.rs`): its files are uploaded to a bucket.
//!
//! Deliberately absent: anything that the public API provides.

mod assets;
mod guard;
mod hosted;
mod machine;
mod model;
mod queues;
mod response;
mod upload;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, header};
use axum::middleware;
use axum::response::Response;
use axum::routing::{get, post, put};
use contracts::id::{OrgId, UserId};
use contracts::{Error as WireError, ErrorCode, InvokeResult};
use futures::future::BoxFuture;
use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::contexts;
use crate::listener::{Listener, Server};
use crate::model_setup;
use crate::options::ProviderChoice;
use crate::secret;
use crate::stores::Stores;
use crate::token::{Identity, Tokens};
pub use assets::FRAME_POLICY;
pub use hosted::{HostedFile, HostedPage, PageSignIn, hosted_files};
pub(crate) use machine::Machine;
pub use queues::QueueSource;
use response::{error_response, respond};
pub use upload::{UploadError, upload};

/// Lifetime of a page's token. The page requests the next one by itself.
const TOKEN_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// Largest request body of a page, in bytes.
const MAX_BODY_BYTES: usize = 512 * 1024;
/// Payload origins that the API links to, of deployments on AWS and of local clouds.
const PAYLOAD_ORIGINS: [&str; 2] = ["https://*.amazonaws.com", "http://127.0.0.1:*"];

/// A failure to serve the console.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The deployment's URL is invalid.
    #[error("--api-url {0:?} is not an http or https URL")]
    Url(String),
    /// The port is not available.
    #[error("Can't listen on 127.0.0.1:{port}: {source}. Choose another port with --port.")]
    Port {
        /// The port.
        port: u16,
        /// The cause.
        source: std::io::Error,
    },
}

/// A function that returns a valid token, or the reason that there is none.
pub type TokenSource = Arc<dyn Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Source of a page's tokens.
#[derive(Clone)]
pub(crate) enum Issuer {
    /// This cloud signs them for the identity that the page chooses.
    Local(Tokens),
    /// The user's sign-in, or a token that was provided at the start.
    Provided(TokenSource),
    /// The user types one into the page.
    Typed,
}

/// A console.
#[derive(Clone)]
pub(crate) struct Console {
    /// URL of the API. `None` if it is served next to the console.
    pub(crate) api: Option<String>,
    /// Key that the console's own pages send.
    pub(crate) key: String,
    pub(crate) issuer: Issuer,
    /// Origin of the payloads that the API links to.
    pub(crate) payloads: String,
    /// The machine of a local cloud.
    pub(crate) machine: Option<Machine>,
    /// Access to the queues of a deployment.
    pub(crate) queues: Option<QueueSource>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Config<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    api: Option<&'a str>,
    /// `local`, `given` or `typed`.
    tokens: &'static str,
    is_local: bool,
    /// True if the mock model answers.
    is_mock: bool,
    /// The command that starts this program again.
    command: &'static str,
    /// Id of this start of a local cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<&'a str>,
    /// Providers that the page can set. Empty if the model is set by options.
    providers: &'a [ProviderChoice],
    /// Provider that the page has set.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TokenRequest {
    org: String,
    user: String,
    #[serde(default)]
    operator: bool,
    #[serde(default)]
    agent_editor: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct TokenResponse {
    token: String,
}

/// A running console server; stopped when dropped.
pub struct ConsoleServer {
    server: Server,
    key: String,
}

impl ConsoleServer {
    /// Returns the server's URL, without a trailing slash.
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// Returns the URL that opens the page. It holds the console's key.
    pub fn page_url(&self) -> String {
        page_url(self.url(), &self.key)
    }
}

/// Returns the URL that opens the page of a console with this key.
#[must_use]
pub fn page_url(console: &str, key: &str) -> String {
    format!("{console}/#key={key}")
}

/// Serves the console on this machine for any deployment's API. Port 0 picks a free one. Without a token, the user
/// types one into the page. With `queues`, the operations page shows the queues of the deployment.
///
/// # Errors
/// Fails if the URL is invalid or the port is not available.
pub async fn serve(
    api_url: &str,
    token: Option<TokenSource>,
    queues: Option<QueueSource>,
    port: u16,
) -> Result<ConsoleServer, Error> {
    let url = Url::parse(api_url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| Error::Url(api_url.to_owned()))?;
    let key = secret::random();
    let console = Console {
        api: Some(url.to_string()),
        key: key.clone(),
        issuer: token.map_or(Issuer::Typed, Issuer::Provided),
        payloads: payload_origin(&url).to_owned(),
        machine: None,
        queues,
    };
    let listener = Listener::bind_loopback(port).await.map_err(|source| Error::Port { port, source })?;
    Ok(ConsoleServer { server: listener.serve(router(console)), key })
}

/// Returns the console's routes.
pub(crate) fn router(console: Console) -> Router {
    let policy = policy(&console);
    let console = Arc::new(console);
    let private = Router::new()
        .route("/console/api/config", get(config))
        .route("/console/api/token", post(token))
        .route("/console/api/context-schema", get(context_schema))
        .route("/console/api/machine", get(machine))
        .route("/console/api/logs/{function}", get(logs))
        .route("/console/api/model", put(model::set).delete(model::remove))
        .route("/console/api/queues", get(queues::state))
        .route("/console/api/dead-letters", get(queues::dead_letters))
        .route("/console/api/dead-letters/redrive", post(queues::redrive))
        .route("/console/api/contexts/{org}", get(list_contexts))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(Arc::clone(&console), guard::check))
        .with_state(console);
    assets::router(&policy).merge(private)
}

/// Returns the origin of the payloads that an API links to.
fn payload_origin(api: &Url) -> &'static str {
    let [deployed, local] = PAYLOAD_ORIGINS;
    if matches!(api.host_str(), Some("127.0.0.1" | "localhost")) { local } else { deployed }
}

/// Returns the content security policy of a console's page, with the part that only a header can have.
fn policy(console: &Console) -> String {
    let api = console.api.as_deref().and_then(|api| Url::parse(api).ok());
    let api = api.map(|api| api.origin().ascii_serialization()).unwrap_or_default();
    format!("{}; frame-ancestors 'none'", page_policy(&[&api, &console.payloads]))
}

/// Returns the content security policy: the page may only load from itself and connect to itself and these origins: the
/// API, its payloads, and the sign-in of a hosted page. It shows one frame, for diagrams. Trusted Types enforce that no
/// markup is built from text.
fn page_policy(origins: &[&str]) -> String {
    let origins = origins.join(" ");
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; frame-src 'self'; \
         connect-src 'self' {origins}; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

async fn config(State(console): State<Arc<Console>>) -> Response {
    let tokens = match console.issuer {
        Issuer::Local(_) => "local",
        Issuer::Provided(_) => "given",
        Issuer::Typed => "typed",
    };
    let machine = console.machine.as_ref();
    let setup = machine.and_then(|machine| machine.model_setup.as_ref());
    // An unreadable file is an error of the next start.
    let saved =
        machine.filter(|_| setup.is_some()).and_then(|machine| model_setup::read(&machine.data).ok()?);
    respond(&InvokeResult::ok(Config {
        api: console.api.as_deref(),
        tokens,
        is_local: machine.is_some(),
        is_mock: machine.is_some_and(|machine| machine.is_mock),
        // Cargo sets the variable for the programs that it runs.
        command: if std::env::var_os("CARGO").is_some() { "cargo run -p aptix --" } else { "aptix" },
        start: machine.map(|machine| machine.start.as_str()),
        providers: setup.map_or(&[], |setup| &setup.providers),
        provider: saved.map(|saved| saved.provider),
    }))
}

async fn token(State(console): State<Arc<Console>>, headers: HeaderMap, body: Bytes) -> Response {
    // Browsers send the origin with every POST request; a client without one is not a page.
    if !headers.contains_key(header::ORIGIN) {
        return error_response(
            ErrorCode::Forbidden,
            "Only the console's own pages can request a token here.",
        );
    }
    let token = match &console.issuer {
        Issuer::Local(tokens) => issue_token(tokens, &body),
        Issuer::Provided(source) => {
            source().await.map_err(|reason| WireError::new(ErrorCode::Unauthenticated, reason))
        }
        Issuer::Typed => Err(WireError::new(
            ErrorCode::Forbidden,
            "This console can't issue tokens for the API. Get one from its identity provider.",
        )),
    };
    respond(&InvokeResult::from(token.map(|token| TokenResponse { token })))
}

/// Issues a token for the identity in the body.
fn issue_token(tokens: &Tokens, body: &[u8]) -> Result<String, WireError> {
    let wrong = |message: String| WireError::new(ErrorCode::MemberInvalid, message);
    let TokenRequest { org, user, operator, agent_editor } = serde_json::from_slice(body).map_err(|_| {
        wrong("Send Org and User as strings, and optionally Operator and AgentEditor as booleans.".to_owned())
    })?;
    OrgId::new(org.as_str()).map_err(|fault| wrong(format!("Org {fault}.")))?;
    UserId::new(user.as_str()).map_err(|fault| wrong(format!("User {fault}.")))?;
    let identity = Identity { operator, agent_editor, ..Identity::user(org, user) };
    let token = tokens.sign_at(&identity, SystemTime::now(), TOKEN_LIFETIME);
    token.map_err(|_| ErrorCode::Internal.into())
}

/// The JSON Schema of contexts, from which the page makes its form.
async fn context_schema() -> Response {
    respond(&InvokeResult::ok(agent::context::schema()))
}

async fn machine(State(console): State<Arc<Console>>) -> Response {
    match &console.machine {
        Some(machine) => respond(&InvokeResult::ok(machine.state().await)),
        None => not_local(),
    }
}

async fn logs(State(console): State<Arc<Console>>, Path(function): Path<String>) -> Response {
    match console.machine.as_ref().and_then(|machine| machine.log(&function)) {
        Some(lines) => respond(&InvokeResult::ok(lines)),
        None => not_local(),
    }
}

/// Lists an org's contexts with their models for the picker of new conversations, which people without a role see too.
async fn list_contexts(State(console): State<Arc<Console>>, Path(org): Path<String>) -> Response {
    let Some(machine) = &console.machine else { return not_local() };
    let found = match Stores::of_local_cloud(&machine.data) {
        Ok(stores) => contexts::all(&stores, &org).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let unavailable = |message| vec![WireError::new(ErrorCode::StorageUnavailable, message)];
    respond(&InvokeResult::from(found.map_err(unavailable)))
}

fn not_local() -> Response {
    error_response(ErrorCode::RouteNotFound, "This console has no local cloud, or there is no such function.")
}

#[cfg(test)]
mod tests;
