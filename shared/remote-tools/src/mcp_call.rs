//! A call of a tool at an MCP server.

use std::time::Duration;

use agent::{
    connection::{ConnectionSecrets, ConnectionTarget},
    tool::remote::{RemoteCall, RemoteOutcome},
};
use contracts::gen_ai;
use mcp_client::{Call, NotSent, Observer, Outcome, ParamHeader, Progress, Session, Unknown};
use tokio::time::{Instant, timeout_at};
use tracing::Span;
use url::Url;

use crate::{
    access::{Access, AwsCredentials, Principal},
    mcp_connect::{Unconnected, connect},
    mcp_result,
    outcome::Answer,
    pins::{ConnectionVersion, Pins},
    secrecy::Secrecy,
};

/// Calls a tool once, in a session of its own where the server needs one.
pub(crate) async fn call<S: ConnectionSecrets, C: AwsCredentials>(
    access: &Access<S, C>,
    pins: &Pins,
    target: &ConnectionTarget,
    call: RemoteCall<'_>,
    time: Duration,
    may_send: &(dyn Fn() -> bool + Send + Sync),
) -> Answer {
    let started = Instant::now();
    // The mirrored arguments stand in the schema that an operator accepted.
    let headers = match ParamHeader::of_schema(&call.tool.definition.parameters) {
        Ok(headers) => headers,
        Err(rule) => return RemoteOutcome::NotSent(format!("Nothing was sent: {rule}.")).into(),
    };
    let principal = Principal { org: call.org, connection: call.tool.connection.as_str(), token: call.token };
    let connected =
        timeout_at(started + time, connect(access, &target.url, &target.authentication, principal, time));
    let (session, secrecy) = match connected.await {
        Ok(Ok(connected)) => connected,
        Ok(Err(Unconnected { reason, is_outage })) => {
            return Answer { outcome: RemoteOutcome::NotSent(reason), is_outage };
        }
        Err(_) => {
            let reason = "Nothing was sent: the server doesn't respond.".to_owned();
            return Answer { outcome: RemoteOutcome::NotSent(reason), is_outage: true };
        }
    };
    trace(&session, &target.url);
    if let Some(accepted) = &target.hash {
        let place = ConnectionVersion {
            org: call.org,
            connection: &call.tool.connection,
            revision: call.tool.revision,
        };
        let unchanged = timeout_at(started + time, pins.check(place, &session, &target.name, accepted));
        if let Err(why) = unchanged.await.unwrap_or_else(|_| Err("its server doesn't respond".to_owned())) {
            session.close().await;
            return RemoteOutcome::NotSent(
                secrecy.hide(&format!("Nothing was sent to {}: {why}.", target.name)),
            )
            .into();
        }
    }
    let made = Call {
        name: &target.name,
        arguments: call.arguments,
        headers: &headers,
        key: Some(call.key),
        timeout: time.saturating_sub(started.elapsed()),
    };
    let outcome = session.call(&made, &Watch { may_send, call, secrecy: &secrecy }).await;
    session.close().await;
    let is_outage = matches!(
        outcome,
        Outcome::Unknown(
            Unknown::Connection(_) | Unknown::Timeout(_) | Unknown::Status { .. } | Unknown::Read(_)
        ) | Outcome::NotSent(NotSent::Connection(_) | NotSent::Timeout(_))
    );
    Answer { outcome: outcome_of(outcome, &target.name, &secrecy), is_outage }
}

/// Completes the span of the call with OpenTelemetry's attributes for MCP.
fn trace(session: &Session, url: &str) {
    let span = Span::current();
    span.record(gen_ai::MCP_METHOD_NAME, "tools/call");
    span.record(gen_ai::MCP_PROTOCOL_VERSION, session.revision().as_str());
    if let Some(id) = session.id() {
        span.record(gen_ai::MCP_SESSION_ID, id);
    }
    if let Some(host) = Url::parse(url).ok().as_ref().and_then(Url::host_str) {
        span.record("server.address", host);
    }
}

/// Passes questions and progress on to the turn.
struct Watch<'a> {
    may_send: &'a (dyn Fn() -> bool + Send + Sync),
    call: RemoteCall<'a>,
    secrecy: &'a Secrecy,
}

impl Observer for Watch<'_> {
    async fn cancelled(&self) {
        self.call.cancel.cancelled().await;
    }

    fn may_send(&self) -> bool {
        (self.may_send)()
    }

    fn progress(&self, Progress { progress, total, message }: Progress) {
        let count = total.map_or_else(|| progress.to_string(), |total| format!("{progress} of {total}"));
        let line = message.map_or_else(|| count.clone(), |message| format!("{count}: {message}"));
        self.call.progress.send(contracts::text::one_line(&self.secrecy.hide(&line)));
    }
}

fn outcome_of(outcome: Outcome, tool: &str, secrecy: &Secrecy) -> RemoteOutcome {
    match outcome {
        Outcome::Done(result) => RemoteOutcome::Done(mcp_result::of(result, tool, secrecy)),
        Outcome::Refused(refusal) => RemoteOutcome::Refused(secrecy.hide(&refusal.to_string())),
        Outcome::NotSent(reason) => RemoteOutcome::NotSent(reason.to_string()),
        Outcome::Unknown(reason) => {
            RemoteOutcome::Unknown(secrecy.hide(&format!("The outcome of the call isn't known. {reason}")))
        }
    }
}
