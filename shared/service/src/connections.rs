//! The tools of connections, from the function's settings.

use egress::{AllowedHost, Guard, Loopback};
use remote_tools::Connections;
use settings::Env;
use storage::{ConnectionSecretStore, Secrets};

/// The caller of connections' tools.
pub type RemoteTools = Connections<ConnectionSecretStore>;

/// The variable with the address of the Runtime API, which hands out the events of every caller.
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";

/// The settings of connections.
#[derive(Debug)]
pub(crate) struct Settings {
    secret_prefix: String,
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

    /// Builds the secrets and the caller.
    ///
    /// # Errors
    /// If a setting has a host or a port that isn't one.
    pub(crate) fn connect(
        self,
        secrets: &Secrets,
    ) -> Result<(ConnectionSecretStore, RemoteTools), lambda_http::Error> {
        let invalid = |name: &str, error: &dyn std::fmt::Display| format!("{name}: {error}");
        let hosts: Result<Vec<AllowedHost>, _> = self.hosts.iter().map(|host| host.parse()).collect();
        let hosts = hosts.map_err(|error| invalid(settings::CONNECTION_HOSTS.name, &error))?;
        let loopback = match self.own_ports {
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
        let secrets = secrets.of_connections(self.secret_prefix);
        Ok((secrets.clone(), Connections::new(Guard::new(loopback, hosts), secrets)))
    }
}
