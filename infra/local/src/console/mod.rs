//! The console: the pages of `clients/console` on the JavaScript SDK, and what they may ask beside the API.
//!
//! `GET /` and the files below it are public and load nothing from elsewhere. Below `/console/api` is what a page
//! alone can't have: a token, and, of a local cloud, what its machine does. `guard.rs` keeps others out of that.
//!
//! Deliberately absent: anything that the API can answer.

mod assets;
mod guard;
mod machine;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use contracts::id::{OrgId, UserId};
use contracts::{Error as WireError, ErrorCode, InvokeResult};
use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::services::{here, listen};
use crate::token::{Identity, Tokens};
use crate::{contexts, http_server};
pub(crate) use machine::Machine;

/// How long a page's token lasts; it asks for the next one by itself.
const TOKEN_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// The most that a page sends.
const MAX_BODY_BYTES: usize = 512 * 1024;
/// Where a deployment's payloads are, to which its API links; and those of a local cloud.
const PAYLOADS: [&str; 2] = ["https://*.amazonaws.com", "http://127.0.0.1:*"];

/// Why no console is served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The deployment has no such address.
    #[error("--api-url {0:?} is no http or https URL")]
    Url(String),
    /// The port can't be had.
    #[error("cannot listen on 127.0.0.1:{port}: {source}")]
    Port {
        /// The port.
        port: u16,
        /// Why.
        source: std::io::Error,
    },
}

/// Where a page's tokens come from.
#[derive(Clone)]
pub(crate) enum Issuer {
    /// This cloud signs them, for whom the page says.
    Local(Tokens),
    /// There is this one.
    Given(String),
    /// The user types one in.
    Typed,
}

/// A console.
#[derive(Clone)]
pub(crate) struct Console {
    /// The API's URL; none where it answers beside the console.
    pub(crate) api: Option<String>,
    pub(crate) issuer: Issuer,
    /// The origin of the payloads that the API links to.
    pub(crate) payloads: String,
    /// The machine of a local cloud.
    pub(crate) machine: Option<Machine>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Told<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    api: Option<&'a str>,
    /// `local`, `given` or `typed`.
    tokens: &'static str,
    is_local: bool,
    /// Whether the scripted model answers.
    is_scripted: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Asked {
    org: String,
    user: String,
    #[serde(default)]
    operator: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Issued {
    token: String,
}

/// A console that is being served; it ends when dropped.
pub struct Served {
    url: String,
    _task: tokio::task::JoinSet<()>,
}

impl Served {
    /// Where its page is.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Serves the console for any deployment's API on this machine; port 0 is any free one. Without a token the user
/// types one in.
///
/// # Errors
/// When the URL is none, or the port can't be had.
pub async fn serve(api_url: &str, token: Option<String>, port: u16) -> Result<Served, Error> {
    let url = Url::parse(api_url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| Error::Url(api_url.to_owned()))?;
    let is_local = matches!(url.host_str(), Some("127.0.0.1" | "localhost"));
    let [deployed, local] = PAYLOADS;
    let console = Console {
        api: Some(url.to_string()),
        issuer: token.map_or(Issuer::Typed, Issuer::Given),
        payloads: if is_local { local } else { deployed }.to_owned(),
        machine: None,
    };
    let (listener, url) = listen(here(port)).await.map_err(|source| Error::Port { port, source })?;
    let mut task = tokio::task::JoinSet::new();
    task.spawn(http_server::serve(listener, router(console)));
    Ok(Served { url, _task: task })
}

/// The console's routes.
pub(crate) fn router(console: Console) -> Router {
    let policy = policy(&console);
    let private = Router::new()
        .route("/console/api/config", get(config))
        .route("/console/api/token", post(token))
        .route("/console/api/machine", get(machine))
        .route("/console/api/logs/{function}", get(logs))
        .route("/console/api/contexts/{org}", get(list_contexts).put(put_contexts))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn(guard::check))
        .with_state(Arc::new(console));
    assets::router(&policy).merge(private)
}

/// What the page may load and whom it may talk to: itself, the API and what the API links to. No markup is ever made
/// of text, which browsers that know of trusted types hold it to.
fn policy(console: &Console) -> String {
    let api = console.api.as_deref().and_then(|api| Url::parse(api).ok());
    let api = api.map(|api| api.origin().ascii_serialization()).unwrap_or_default();
    let payloads = &console.payloads;
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
         connect-src 'self' {api} {payloads}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

async fn config(State(console): State<Arc<Console>>) -> Response {
    let tokens = match console.issuer {
        Issuer::Local(_) => "local",
        Issuer::Given(_) => "given",
        Issuer::Typed => "typed",
    };
    let machine = console.machine.as_ref();
    answer(&InvokeResult::ok(Told {
        api: console.api.as_deref(),
        tokens,
        is_local: machine.is_some(),
        is_scripted: machine.is_some_and(|machine| machine.is_scripted),
    }))
}

async fn token(State(console): State<Arc<Console>>, headers: HeaderMap, body: Bytes) -> Response {
    // Browsers name the origin of whatever is posted; who names none is no page.
    if !headers.contains_key(header::ORIGIN) {
        return refused(ErrorCode::Forbidden, "Only a page of the console gets a token here.");
    }
    let token = match &console.issuer {
        Issuer::Local(tokens) => issued(tokens, &body),
        Issuer::Given(token) => Ok(token.clone()),
        Issuer::Typed => Err(WireError::new(
            ErrorCode::Forbidden,
            "Tokens for this API come from elsewhere: get one from its provider of identities.",
        )),
    };
    answer(&InvokeResult::from(token.map(|token| Issued { token })))
}

/// A token for whom the body names.
fn issued(tokens: &Tokens, body: &[u8]) -> Result<String, WireError> {
    let wrong = |message: String| WireError::new(ErrorCode::MemberInvalid, message);
    let Asked { org, user, operator } = serde_json::from_slice(body)
        .map_err(|_| wrong("Send Org and User, texts, and Operator, true or false.".to_owned()))?;
    OrgId::new(org.as_str()).map_err(|fault| wrong(format!("Org {fault}.")))?;
    UserId::new(user.as_str()).map_err(|fault| wrong(format!("User {fault}.")))?;
    let identity = Identity { operator, ..Identity::user(org, user) };
    let token = tokens.sign_at(&identity, SystemTime::now(), TOKEN_LIFETIME);
    token.map_err(|_| ErrorCode::Internal.into())
}

async fn machine(State(console): State<Arc<Console>>) -> Response {
    match &console.machine {
        Some(machine) => answer(&InvokeResult::ok(machine.state().await)),
        None => not_local(),
    }
}

async fn logs(State(console): State<Arc<Console>>, Path(function): Path<String>) -> Response {
    match console.machine.as_ref().and_then(|machine| machine.log(&function)) {
        Some(lines) => answer(&InvokeResult::ok(lines)),
        None => not_local(),
    }
}

async fn list_contexts(State(console): State<Arc<Console>>, Path(org): Path<String>) -> Response {
    let Some(machine) = &console.machine else { return not_local() };
    answer(&InvokeResult::from(contexts::all(&machine.data, &org).await.map_err(faults)))
}

async fn put_contexts(
    State(console): State<Arc<Console>>,
    Path(org): Path<String>,
    text: String,
) -> Response {
    let Some(machine) = &console.machine else { return not_local() };
    answer(&InvokeResult::from(contexts::put_text(&machine.data, &org, &text).await.map_err(faults)))
}

/// Every fault as an error of its own.
fn faults(error: contexts::Error) -> Vec<WireError> {
    let code = match &error {
        contexts::Error::Faults(all) => {
            return all.lines().map(|fault| WireError::new(ErrorCode::MemberInvalid, fault)).collect();
        }
        contexts::Error::Org(_) | contexts::Error::Unknown { .. } => ErrorCode::ParameterInvalid,
        contexts::Error::NotRunning(_) | contexts::Error::Table { .. } | contexts::Error::File { .. } => {
            ErrorCode::StorageUnavailable
        }
    };
    vec![WireError::new(code, error.to_string())]
}

fn not_local() -> Response {
    refused(
        ErrorCode::RouteNotFound,
        "This console has no local cloud behind it, or no such function is there.",
    )
}

fn refused(code: ErrorCode, message: &str) -> Response {
    answer(&InvokeResult::<()>::err(WireError::new(code, message)))
}

/// An envelope, as the API answers. No other origin is allowed to read it, and nobody keeps it.
fn answer<T: Serialize>(result: &InvokeResult<T>) -> Response {
    let status = StatusCode::from_u16(result.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, headers, serde_json::to_vec(result).unwrap_or_default()).into_response()
}

#[cfg(test)]
mod tests;
