//! The listener on this machine to which the browser comes back.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::browser::BrowserError;

/// Path of the redirect.
pub(super) const PATH: &str = "/signed-in";
/// Time for the browser to read the last page.
const LINGER: Duration = Duration::from_millis(200);

/// A listener for one redirect.
pub(super) struct RedirectListener {
    redirects: mpsc::Receiver<Result<String, BrowserError>>,
    _server: JoinSet<()>,
}

#[derive(Clone)]
struct Expected {
    state: String,
    issuer: String,
    redirects: mpsc::Sender<Result<String, BrowserError>>,
}

impl RedirectListener {
    /// Listens on the loopback address for a redirect with this state. A redirect that names an issuer must name this
    /// one (RFC 9207).
    pub(super) async fn bind(port: u16, state: String, issuer: String) -> Result<Self, BrowserError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(|source| BrowserError::Port { port, source })?;
        let (sender, redirects) = mpsc::channel(1);
        let expected = Expected { state, issuer, redirects: sender };
        let router = Router::new().route(PATH, get(receive)).with_state(expected);
        let mut server = JoinSet::new();
        server.spawn(async move { _ = axum::serve(listener, router).await });
        Ok(Self { redirects, _server: server })
    }

    /// Waits for the authorization code.
    pub(super) async fn code(mut self) -> Result<String, BrowserError> {
        let code = self.redirects.recv().await.ok_or(BrowserError::Interrupted)?;
        tokio::time::sleep(LINGER).await;
        code
    }
}

async fn receive(
    State(expected): State<Expected>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    let text = |name: &str| query.get(name).cloned();
    let is_expected = query.get("state") == Some(&expected.state)
        && query.get("iss").is_none_or(|issuer| *issuer == expected.issuer);
    if !is_expected {
        // Any page can send a browser here, so a wrong request doesn't end the sign-in.
        return page(StatusCode::BAD_REQUEST, "This link belongs to no sign-in that is in progress.");
    }
    let (redirect, shown) = match text("code") {
        Some(code) => (Ok(code), "You are signed in. Close this tab and return to the terminal."),
        None => {
            let code = text("error").unwrap_or_else(|| "no code".to_owned());
            let description = text("error_description").unwrap_or_else(|| "no description".to_owned());
            (Err(BrowserError::Refused { code, description }), "The sign-in failed. The terminal says why.")
        }
    };
    // A second redirect finds the channel full.
    _ = expected.redirects.try_send(redirect);
    page(StatusCode::OK, shown)
}

fn page(status: StatusCode, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONNECTION, "close"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (status, headers, text).into_response()
}
