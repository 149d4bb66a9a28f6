//! What the calls of connections reach, and with which secrets.

use agent::connection::{Authentication, Connection, FunctionArn, Protocol, Scheme};
use contracts::id::OrgId;
use egress::{AllowedHost, Guard, Loopback};
use protocol::caller::BearerToken;
use sigv4::Credentials;
use url::Url;

/// AWS credentials that can't be had.
#[derive(Debug, thiserror::Error)]
#[error("the AWS credentials are unavailable")]
pub struct NoAwsCredentials(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// Returns the AWS credentials that requests of a deployment are signed with.
pub trait AwsCredentials: Send + Sync {
    /// Returns credentials that are valid now.
    fn credentials(&self) -> impl Future<Output = Result<Credentials, NoAwsCredentials>> + Send;
}

/// What an operator of the deployment allows connections to do with its AWS credentials. Nothing by default: an org could
/// reach the data of another with them.
#[derive(Debug, Clone, Default)]
pub struct AwsAllowance {
    /// The functions that may be invoked.
    pub functions: Vec<FunctionArn>,
    /// The hosts that signed requests may go to.
    pub signed_hosts: Vec<AllowedHost>,
    /// The URL of Lambda's API, if it isn't the one of the function's region.
    pub lambda_url: Option<Url>,
}

/// What the calls of a process share.
#[derive(Debug, Clone)]
pub(crate) struct Access<S, C> {
    pub(crate) guard: Guard,
    pub(crate) secrets: S,
    pub(crate) credentials: C,
    pub(crate) aws: AwsAllowance,
    /// The guard of requests to Lambda's API. An operator names it and not an org, so it may be in a private network.
    pub(crate) lambda: Guard,
}

/// The connection that a request is made for, and the caller whose token it may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Principal<'a> {
    pub(crate) org: &'a OrgId,
    pub(crate) connection: &'a str,
    pub(crate) token: Option<&'a BearerToken>,
}

impl<S, C> Access<S, C> {
    pub(crate) fn new(guard: Guard, secrets: S, credentials: C, aws: AwsAllowance) -> Self {
        let lambda = lambda_guard(&aws);
        Self { guard, secrets, credentials, aws, lambda }
    }

    /// Returns the function of this ARN, if it may be invoked.
    pub(crate) fn function(&self, arn: &str) -> Option<&FunctionArn> {
        self.aws.functions.iter().find(|allowed| allowed.as_str() == arn)
    }

    /// True if signed requests may go to the host of this URL.
    pub(crate) fn may_sign_for(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        let port = url.port_or_known_default().unwrap_or_default();
        self.aws.signed_hosts.iter().any(|allowed| allowed.is(host, port))
    }

    /// Checks what only the deployment allows a connection.
    pub(crate) fn check(&self, connection: &Connection) -> Result<(), (&'static str, String)> {
        let Connection { protocol, authentication: Authentication { scheme, .. }, function_arn, .. } =
            connection;
        if let (Protocol::Lambda, Some(arn)) = (protocol, function_arn)
            && self.function(arn).is_none()
        {
            let rule =
                "is none that the deployment may invoke. Ask its operator to add it to CONNECTION_FUNCTIONS";
            return Err(("FunctionArn", rule.to_owned()));
        }
        let signed = Url::parse(connection.server_url()).ok().filter(|_| *scheme == Scheme::Sigv4);
        if signed.is_some_and(|url| !self.may_sign_for(&url)) {
            let rule = "is on a host that the deployment signs no requests for. Ask its operator to add it to CONNECTION_SIGNED_HOSTS";
            return Err(("Url", rule.to_owned()));
        }
        Ok(())
    }
}

/// Returns a guard that reaches Lambda's API alone. AWS names resolve to private addresses in a network with an endpoint of
/// its own.
fn lambda_guard(aws: &AwsAllowance) -> Guard {
    let hosts = match &aws.lambda_url {
        Some(url) => Vec::from_iter(url.host_str().zip(url.port_or_known_default())),
        None => Vec::new(),
    };
    let named = hosts.into_iter().map(|(host, port)| format!("{host}:{port}"));
    let regional = aws.functions.iter().map(|arn| arn.parts().api_host());
    let allowed = named.chain(regional).filter_map(|host| host.parse().ok()).collect();
    let is_plain = aws.lambda_url.as_ref().is_some_and(|url| url.scheme() == "http");
    // Only a local cloud has a plain URL.
    let loopback = if is_plain { Loopback::ExceptPorts(Vec::new()) } else { Loopback::Forbidden };
    Guard::new(loopback, allowed)
}
