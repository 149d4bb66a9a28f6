//! A call of a tool at an MCP server.

use std::time::Duration;

use agent::{
    connection::{ConnectionSecrets, ConnectionTarget},
    tool::remote::{RemoteCall, RemoteOutcome},
};
use egress::{Guard, Target};
use mcp_client::{Authentication, Call, Client, Observer, Outcome, ParamHeader, Session};
use tokio::time::{Instant, timeout_at};

use crate::{authentication, mcp_result, secrecy::Secrecy};

/// Calls a tool once, in a session of its own where the server needs one.
pub(crate) async fn call(
    guard: &Guard,
    secrets: &impl ConnectionSecrets,
    target: &ConnectionTarget,
    call: RemoteCall<'_>,
    time: Duration,
    may_send: &(dyn Fn() -> bool + Send + Sync),
) -> RemoteOutcome {
    let started = Instant::now();
    // The mirrored arguments stand in the schema that an operator accepted.
    let headers = match ParamHeader::of_schema(&call.tool.definition.parameters) {
        Ok(headers) => headers,
        Err(rule) => return RemoteOutcome::NotSent(format!("Nothing was sent: {rule}.")),
    };
    let connected = timeout_at(started + time, connect(guard, secrets, target, call, time));
    let (session, secrecy) = match connected.await {
        Ok(Ok(connected)) => connected,
        Ok(Err(fault)) => return RemoteOutcome::NotSent(fault),
        Err(_) => return RemoteOutcome::NotSent("Nothing was sent: the server doesn't respond.".to_owned()),
    };
    let made = Call {
        name: &target.name,
        arguments: call.arguments,
        headers: &headers,
        key: Some(call.key),
        timeout: time.saturating_sub(started.elapsed()),
    };
    let outcome = session.call(&made, &Permission(may_send)).await;
    session.close().await;
    outcome_of(outcome, &secrecy)
}

/// Begins a session, without an effect.
async fn connect(
    guard: &Guard,
    secrets: &impl ConnectionSecrets,
    target: &ConnectionTarget,
    call: RemoteCall<'_>,
    time: Duration,
) -> Result<(Session, Secrecy), String> {
    let unsent = |fault: &dyn std::fmt::Display| {
        format!("Nothing was sent: {fault}. Continue without the tool, or try again later.")
    };
    let checked = guard.resolve(&target.url).await.map_err(|rule| unsent(&format_args!("the URL {rule}")))?;
    let credential = authentication::credential(secrets, target, checked.url(), call, false)
        .await
        .map_err(|fault| fault.to_string())?;
    let secrecy = Secrecy::of(credential.as_ref().map(|credential| credential.secret.as_str()));
    let authentication =
        credential.map(|credential| Authentication { name: credential.header, value: credential.value });
    let http = pinned(&checked).ok_or_else(|| unsent(&"TLS isn't available"))?;
    let client =
        Client::new(&http, checked.url().clone(), authentication, time).map_err(|fault| unsent(&fault))?;
    let session = client.connect().await.map_err(|fault| secrecy.hide(&unsent(&fault)))?;
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

/// Passes the question on to the turn.
struct Permission<'a>(&'a (dyn Fn() -> bool + Send + Sync));

impl Observer for Permission<'_> {
    fn may_send(&self) -> bool {
        (self.0)()
    }
}

fn outcome_of(outcome: Outcome, secrecy: &Secrecy) -> RemoteOutcome {
    match outcome {
        Outcome::Done(result) => RemoteOutcome::Done(mcp_result::of(result, secrecy).into()),
        Outcome::Refused(refusal) => RemoteOutcome::Refused(secrecy.hide(&refusal.to_string())),
        Outcome::NotSent(reason) => RemoteOutcome::NotSent(reason.to_string()),
        Outcome::Unknown(reason) => {
            RemoteOutcome::Unknown(secrecy.hide(&format!("The outcome of the call isn't known. {reason}")))
        }
    }
}
