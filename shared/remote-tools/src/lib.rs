//! Calls the tools of an org's connections: the implementation of [`RemoteTools`].
//!
//! A call has a target, which the turn stored at its start, and arguments that match the tool's schema. This crate makes
//! the request, sends it once over the guard's own connection, and says what is known of its outcome. Deliberately
//! absent: retries, redirects and pools, and any meaning of a result. A result is data for the model.

mod access;
mod authentication;
mod breakers;
mod file;
mod http_call;
mod lambda_call;
mod lambda_outcome;
mod lookup;
mod mcp_call;
mod mcp_connect;
mod mcp_offer;
mod mcp_result;
mod openapi;
mod openapi_document;
mod outcome;
mod pins;
mod request;
mod result_text;
mod secrecy;
mod signature;

use std::time::Duration;

use agent::{
    connection::{Connection, ConnectionSecrets, ConnectionTarget, Listing, Offer, Protocol, ToolOffers},
    tool::{
        ToolSuccess,
        remote::{RemoteCall, RemoteOutcome, RemoteTools},
    },
};
use egress::Guard;
use serde_json::json;
use tokio::time::Instant;

use crate::{access::Access, breakers::Breakers, pins::Pins};

pub use access::{AwsAllowance, AwsCredentials, NoAwsCredentials};

/// Calls tools over HTTP, with the guard, the secrets and the AWS credentials of a deployment.
#[derive(Debug, Clone)]
pub struct Connections<S, C> {
    access: Access<S, C>,
    pins: Pins,
    breakers: Breakers,
}

impl<S: ConnectionSecrets, C: AwsCredentials> Connections<S, C> {
    /// Creates the implementation.
    #[must_use]
    pub fn new(guard: Guard, secrets: S, credentials: C, aws: AwsAllowance) -> Self {
        let access = Access::new(guard, secrets, credentials, aws);
        Self { access, pins: Pins::default(), breakers: Breakers::default() }
    }
}

impl<S: ConnectionSecrets, C: AwsCredentials> RemoteTools for Connections<S, C> {
    fn check_url(&self, url: &str) -> Result<String, String> {
        self.access
            .guard
            .check(url)
            .map(|url| authentication::host_of(&url))
            .map_err(|refusal| refusal.to_string())
    }

    async fn call(&self, call: RemoteCall<'_>, may_send: &(dyn Fn() -> bool + Send + Sync)) -> RemoteOutcome {
        let Ok(target) = serde_json::from_value::<ConnectionTarget>(call.tool.target.clone()) else {
            return outcome::unusable();
        };
        let timeout = call.timeout.min(Duration::from_secs(target.timeout_seconds.into()));
        let breaker = self.breakers.of(call.org, &call.tool.connection);
        let Ok(permit) = breaker.acquire(Instant::now()) else {
            return outcome::paused(&call.tool.connection);
        };
        let answer = match target.protocol {
            Protocol::Http | Protocol::Openapi => {
                http_call::call(&self.access, &target, call, timeout, may_send).await
            }
            Protocol::Mcp => mcp_call::call(&self.access, &self.pins, &target, call, timeout, may_send).await,
            Protocol::Lambda => lambda_call::call(&self.access, &target, call, timeout, may_send).await,
        };
        permit.record(answer.is_outage, Instant::now());
        answer.outcome
    }

    async fn look_up(&self, call: RemoteCall<'_>) -> Option<ToolSuccess> {
        let (target, tool) = lookup::read_of(call.tool)?;
        let arguments = json!({ lookup::KEY: call.key });
        let timeout = call.timeout.min(Duration::from_secs(target.timeout_seconds.into()));
        let read = RemoteCall { tool: &tool, arguments: &arguments, ..call };
        match http_call::call(&self.access, &target, read, timeout, &|| true).await.outcome {
            RemoteOutcome::Done(success) => Some(success),
            RemoteOutcome::Refused(_) | RemoteOutcome::NotSent(_) | RemoteOutcome::Unknown(_) => None,
        }
    }
}

impl<S: ConnectionSecrets, C: AwsCredentials> ToolOffers for Connections<S, C> {
    fn check_access(&self, connection: &Connection) -> Result<(), (&'static str, String)> {
        self.access.check(connection)
    }

    async fn offer(&self, listing: Listing<'_>) -> Result<Offer, String> {
        match listing.connection.protocol {
            Protocol::Http => Err("An HTTP API has no list of tools.".to_owned()),
            Protocol::Lambda => Err("A function has no list of tools.".to_owned()),
            Protocol::Mcp => mcp_offer::offer(&self.access, listing).await,
            Protocol::Openapi => openapi::offer(
                &openapi_document::load(&self.access.guard, listing).await?,
                listing.connection,
            ),
        }
    }
}
