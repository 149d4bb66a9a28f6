//! The tools of connections, from the function's settings.

use egress::{AllowedHost, Guard, Loopback};
use remote_tools::Connections;
use settings::Env;
use storage::{ConnectionSecretStore, Secrets, WebhookSecretStore};

use crate::webhooks::WebhookClient;

/// The caller of connections' tools.
pub type RemoteTools = Connections<ConnectionSecretStore>;

/// The variable with the address of the Runtime API, which hands out the events of every caller.
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";

/// The settings of connections.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) secret_prefix: String,
    hosts: Vec<String>,
    own_ports: Option<Vec<String>>,
}

impl Settings {
    /// Reads the settings. Invalid settings are reported when `env` finishes.
    pub(crate) fn read(env: &mut Env) -> Self {
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
    pub(crate) fn guard(&self) -> Result<Guard, lambda_http::Error> {
        let invalid = |name: &str, error: &dyn std::fmt::Display| format!("{name}: {error}");
        let hosts: Result<Vec<AllowedHost>, _> = self.hosts.iter().map(|host| host.parse()).collect();
        let hosts = hosts.map_err(|error| invalid(settings::CONNECTION_HOSTS.name, &error))?;
        let loopback = match &self.own_ports {
            None => Loopback::Forbidden,
            Some(ports) => {
                let ports: Result<Vec<u16>, _> = ports.iter().map(|port| port.parse()).collect();
                let mut ports =
                    ports.map_err(|error| invalid(settings::CONNECTION_OWN_PORTS.name, &error))?;
                let runtime = std::env::var(RUNTIME_API).unwrap_or_default();
                ports.extend(runtime.rsplit(':').next().and_then(|port| port.parse::<u16>().ok()));
                Loopback::ExceptPorts(ports)
            }
        };
        Ok(Guard::new(loopback, hosts))
    }

    /// Builds the secrets and the caller, and the sender and the secrets of webhooks.
    ///
    /// # Errors
    /// If a setting has a host or a port that isn't one.
    pub(crate) fn connect(self, secrets: &Secrets) -> Result<Outside, lambda_http::Error> {
        let guard = self.guard()?;
        let connection_secrets = secrets.of_connections(self.secret_prefix.clone());
        Ok(Outside {
            remote_tools: Connections::new(guard.clone(), connection_secrets.clone()),
            connection_secrets,
            receivers: WebhookClient::new(guard),
            webhook_secrets: secrets.of_webhooks(self.secret_prefix),
        })
    }
}

/// The settings of a function that only sends to webhooks.
#[derive(Debug)]
pub struct WebhookSettings(Settings);

impl WebhookSettings {
    /// Reads the settings. Invalid settings are reported when `env` finishes.
    pub fn read(env: &mut Env) -> Self {
        Self(Settings::read(env))
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
