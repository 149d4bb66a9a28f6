//! Calls the tools of an org's connections: the implementation of [`RemoteTools`].
//!
//! A call has a target, which the turn stored at its start, and arguments that match the tool's schema. This crate makes
//! the request, sends it once over the guard's own connection, and says what is known of its outcome. Deliberately
//! absent: retries, redirects and pools, and any meaning of a result. A result is data for the model.

mod authentication;
mod http_call;
mod mcp_call;
mod mcp_result;
mod outcome;
mod request;
mod result_text;
mod secrecy;

use std::time::Duration;

use agent::{
    connection::{ConnectionSecrets, ConnectionTarget, Protocol},
    tool::remote::{RemoteCall, RemoteOutcome, RemoteTools},
};
use egress::Guard;

/// Calls tools over HTTP, with the guard and the secrets of a deployment.
#[derive(Debug, Clone)]
pub struct Connections<S> {
    guard: Guard,
    secrets: S,
}

impl<S: ConnectionSecrets> Connections<S> {
    /// Creates the implementation.
    #[must_use]
    pub fn new(guard: Guard, secrets: S) -> Self {
        Self { guard, secrets }
    }
}

impl<S: ConnectionSecrets> RemoteTools for Connections<S> {
    fn check_url(&self, url: &str) -> Result<String, String> {
        self.guard.check(url).map(|url| authentication::host_of(&url)).map_err(|refusal| refusal.to_string())
    }

    async fn call(&self, call: RemoteCall<'_>, may_send: &(dyn Fn() -> bool + Send + Sync)) -> RemoteOutcome {
        let Ok(target) = serde_json::from_value::<ConnectionTarget>(call.tool.target.clone()) else {
            return outcome::unusable();
        };
        let timeout = call.timeout.min(Duration::from_secs(target.timeout_seconds.into()));
        match target.protocol {
            Protocol::Http => {
                http_call::call(&self.guard, &self.secrets, &target, call, timeout, may_send).await
            }
            Protocol::Mcp => {
                mcp_call::call(&self.guard, &self.secrets, &target, call, timeout, may_send).await
            }
        }
    }
}
