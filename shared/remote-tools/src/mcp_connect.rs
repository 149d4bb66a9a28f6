//! A session with an MCP server, over a connection to the checked addresses alone.

use std::{sync::Arc, time::Duration};

use agent::connection::ConnectionSecrets;
use egress::Target;
use mcp_client::{Authentication, Client, Session};

use crate::{
    access::{Access, AwsCredentials, Principal},
    authentication::{self, Proof},
    secrecy::Secrecy,
};

/// The reason that there is no session, for the model.
pub(crate) struct Unconnected {
    pub(crate) reason: String,
    pub(crate) is_outage: bool,
}

/// Begins a session, without an effect.
pub(crate) async fn connect<S: ConnectionSecrets, C: AwsCredentials>(
    access: &Access<S, C>,
    url: &str,
    authentication: &agent::connection::Authentication,
    principal: Principal<'_>,
    time: Duration,
) -> Result<(Session, Secrecy), Unconnected> {
    let unsent = |fault: &dyn std::fmt::Display| Unconnected {
        reason: format!("Nothing was sent: {fault}. Continue without the tool, or try again later."),
        is_outage: false,
    };
    let checked = access.guard.resolve(url).await.map_err(|rule| unsent(&format_args!("the URL {rule}")))?;
    let credential = authentication::credential(access, authentication, checked.url(), principal, false)
        .await
        .map_err(|fault| Unconnected { reason: fault.to_string(), is_outage: false })?;
    let secrecy = Secrecy::of(credential.as_ref().and_then(|credential| credential.secret.as_deref()));
    let authentication = credential.map(|credential| match credential.proof {
        Proof::Header(name, value) => Authentication::Header { name, value },
        Proof::Signature(signer) => Authentication::Signature(Arc::new(signer)),
    });
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
