//! The tools of connections, from the function's settings.

use std::{fmt::Display, str::FromStr};

use egress::{AllowedHost, Guard, Loopback};
use llm::key::KeySource;
use remote_tools::{AwsAllowance, AwsCredentials, Connections, NoAwsCredentials};
use settings::Env;
use storage::{ConnectionSecretStore, Secrets, WebhookSecretStore};

use crate::{
    providers::{CachedKey, KeyConfig},
    webhooks::WebhookClient,
};

/// The caller of connections' tools.
pub type RemoteTools = Connections<ConnectionSecretStore, FunctionCredentials>;

/// The variable with the address of the Runtime API, which hands out the events of every caller.
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";

/// The settings of requests to addresses that an org names.
#[derive(Debug)]
struct OutsideSettings {
    secret_prefix: String,
    hosts: Vec<String>,
    own_ports: Option<Vec<String>>,
}

/// The settings of connections.
#[derive(Debug)]
pub(crate) struct Settings {
    outside: OutsideSettings,
    functions: Vec<String>,
    signed_hosts: Vec<String>,
    lambda_url: Option<String>,
    credentials_url: Option<String>,
}

impl OutsideSettings {
    /// Reads the settings. Invalid settings are reported when `env` finishes.
    fn read(env: &mut Env) -> Self {
        Self {
            secret_prefix: env.read(&settings::CONNECTION_SECRET_PREFIX),
            hosts: env.read(&settings::CONNECTION_HOSTS).unwrap_or_default(),
            own_ports: env.read(&settings::CONNECTION_OWN_PORTS),
        }
    }

    /// Builds the guard of requests to addresses that an org names.
    ///
    /// # Errors
    /// If a setting has a host or a port that isn't one.
    fn guard(&self) -> Result<Guard, lambda_http::Error> {
        let hosts: Vec<AllowedHost> = parsed(settings::CONNECTION_HOSTS.name, &self.hosts)?;
        let loopback = match &self.own_ports {
            None => Loopback::Forbidden,
            Some(ports) => {
                let mut ports: Vec<u16> = parsed(settings::CONNECTION_OWN_PORTS.name, ports)?;
                let runtime = std::env::var(RUNTIME_API).unwrap_or_default();
                ports.extend(runtime.rsplit(':').next().and_then(|port| port.parse::<u16>().ok()));
                Loopback::ExceptPorts(ports)
            }
        };
        Ok(Guard::new(loopback, hosts))
    }
}

impl Settings {
    /// Reads the settings. Invalid settings are reported when `env` finishes.
    pub(crate) fn read(env: &mut Env) -> Self {
        Self {
            outside: OutsideSettings::read(env),
            functions: env.read(&settings::CONNECTION_FUNCTIONS).unwrap_or_default(),
            signed_hosts: env.read(&settings::CONNECTION_SIGNED_HOSTS).unwrap_or_default(),
            lambda_url: env.read(&settings::AWS_ENDPOINT_URL_LAMBDA),
            credentials_url: env.read(&settings::PROVIDER_CREDENTIALS_URL),
        }
    }

    /// Builds what an operator allows connections to do with the AWS credentials.
    fn aws(&self) -> Result<AwsAllowance, lambda_http::Error> {
        let lambda_url = self.lambda_url.as_slice();
        Ok(AwsAllowance {
            functions: parsed(settings::CONNECTION_FUNCTIONS.name, &self.functions)?,
            signed_hosts: parsed(settings::CONNECTION_SIGNED_HOSTS.name, &self.signed_hosts)?,
            lambda_url: parsed(settings::AWS_ENDPOINT_URL_LAMBDA.name, lambda_url)?.pop(),
        })
    }

    /// Builds the secrets and the caller, and the sender and the secrets of webhooks.
    ///
    /// # Errors
    /// If a setting has a host or a port that isn't one.
    pub(crate) fn connect(self, secrets: &Secrets) -> Result<Outside, lambda_http::Error> {
        let (guard, aws) = (self.outside.guard()?, self.aws()?);
        let connection_secrets = secrets.of_connections(self.outside.secret_prefix.clone());
        let credentials = FunctionCredentials::new(self.credentials_url, secrets.clone());
        Ok(Outside {
            remote_tools: Connections::new(guard.clone(), connection_secrets.clone(), credentials, aws),
            connection_secrets,
            receivers: WebhookClient::new(guard),
            webhook_secrets: secrets.of_webhooks(self.outside.secret_prefix),
        })
    }
}

/// Parses the parts of a setting.
fn parsed<T: FromStr<Err: Display>>(setting: &str, parts: &[String]) -> Result<Vec<T>, lambda_http::Error> {
    let parts: Result<Vec<T>, T::Err> = parts.iter().map(|part| part.parse()).collect();
    parts.map_err(|error| format!("{setting}: {error}").into())
}

/// The AWS credentials of the function's role, or on a developer's machine those that a URL serves.
#[derive(Debug, Clone)]
pub struct FunctionCredentials(CachedKey);

impl FunctionCredentials {
    fn new(url: Option<String>, secrets: Secrets) -> Self {
        Self(CachedKey::new(KeyConfig::Aws(url), secrets))
    }
}

impl AwsCredentials for FunctionCredentials {
    async fn credentials(&self) -> Result<sigv4::Credentials, NoAwsCredentials> {
        let unavailable = |source| NoAwsCredentials(source);
        let key = self.0.key(None).await.map_err(|error| unavailable(error.into()))?;
        key.aws_credentials().cloned().ok_or_else(|| unavailable("they are no AWS credentials".into()))
    }
}

/// The settings of a function that only sends to webhooks.
#[derive(Debug)]
pub struct WebhookSettings(OutsideSettings);

impl WebhookSettings {
    /// Reads the settings. Invalid settings are reported when `env` finishes.
    pub fn read(env: &mut Env) -> Self {
        Self(OutsideSettings::read(env))
    }

    /// Builds the sender and its secrets.
    ///
    /// # Errors
    /// If a setting has a host or a port that isn't one.
    pub fn connect(
        self,
        secrets: &Secrets,
    ) -> Result<(WebhookClient, WebhookSecretStore), lambda_http::Error> {
        let guard = self.0.guard()?;
        Ok((WebhookClient::new(guard), secrets.of_webhooks(self.0.secret_prefix)))
    }
}

/// What reaches addresses that an org names, with the secrets that it sends there.
pub(crate) struct Outside {
    pub(crate) remote_tools: RemoteTools,
    pub(crate) connection_secrets: ConnectionSecretStore,
    pub(crate) receivers: WebhookClient,
    pub(crate) webhook_secrets: WebhookSecretStore,
}
