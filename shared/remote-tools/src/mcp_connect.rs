//! A session with an MCP server, over a connection to the checked addresses alone.

use std::time::Duration;

use agent::connection::ConnectionSecrets;
use contracts::id::OrgId;
use egress::{Guard, Target};
use mcp_client::{Authentication, Client, Session};

use crate::{authentication, secrecy::Secrecy};

/// The reason that there is no session, for the model.
pub(crate) struct Unconnected {
    pub(crate) reason: String,
    pub(crate) is_outage: bool,
}

/// Begins a session, without an effect.
pub(crate) async fn connect(
    guard: &Guard,
    secrets: &impl ConnectionSecrets,
    url: &str,
    authentication: &agent::connection::Authentication,
    connection: (&OrgId, &str),
    time: Duration,
) -> Result<(Session, Secrecy), Unconnected> {
    let unsent = |fault: &dyn std::fmt::Display| Unconnected {
        reason: format!("Nothing was sent: {fault}. Continue without the tool, or try again later."),
        is_outage: false,
    };
    let checked = guard.resolve(url).await.map_err(|rule| unsent(&format_args!("the URL {rule}")))?;
    let credential = authentication::credential(secrets, authentication, checked.url(), connection, false)
        .await
        .map_err(|fault| Unconnected { reason: fault.to_string(), is_outage: false })?;
    let secrecy = Secrecy::of(credential.as_ref().map(|credential| credential.secret.as_str()));
    let authentication =
        credential.map(|credential| Authentication { name: credential.header, value: credential.value });
    let http = pinned(&checked).ok_or_else(|| unsent(&"TLS isn't available"))?;
    let client =
        Client::new(&http, checked.url().clone(), authentication, time).map_err(|fault| unsent(&fault))?;
    let session = client.connect().await.map_err(|fault| Unconnected {
        reason: secrecy.hide(&unsent(&fault).reason),
        is_outage: !matches!(
            fault,
            mcp_client::Error::Rejected { .. }
                | mcp_client::Error::Revision
                | mcp_client::Error::Status(400..=499)
        ),
    })?;
    Ok((session, secrecy))
}

/// Returns a client that connects to the checked addresses alone, and follows nothing.
fn pinned(target: &Target) -> Option<reqwest::Client> {
    let host = target.url().host_str()?;
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls::client_config().ok()?)
        .resolve_to_addrs(host, target.addresses())
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(0)
        .http1_only()
        .build()
        .ok()
}
