//! How a local cloud is to be started.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// How a local cloud is to be started. The default suits a test: any free port, nothing kept, the
/// scripted model.
#[derive(Debug, Clone)]
pub struct Options {
    /// The API's port on 127.0.0.1; 0 is any free port.
    pub port: u16,
    /// Where the services and the model listen. What has an address of its own, a container as a rule, reaches another
    /// than 127.0.0.1 alone.
    pub services_host: IpAddr,
    /// The port of DynamoDB; S3, SQS, the model and Qdrant have the next ones, in this order. 0 is any free ports.
    pub services_port: u16,
    /// Where state is kept.
    pub data: Data,
    /// The executable that is started as the functions: the `aptix` program. The running one if not set.
    pub executable: Option<PathBuf>,
    /// Processes per function, at most.
    pub concurrency: usize,
    /// How long an invocation of an API function may take; 840 s, as deployed, if not set.
    pub timeout: Option<Duration>,
    /// How long an attempt owns its turn; the functions' default if not set. Everything that waits for
    /// it (grace, visibility timeout) becomes as short.
    pub lease: Option<Duration>,
    /// Time between sweeps; no sweeps but those asked for if not set.
    pub sweep: Option<Duration>,
    /// How long a message stays invisible once received. By default six minutes, or a few seconds
    /// when a lease is set.
    pub visibility: Option<Duration>,
    /// Who answers the model calls.
    pub model: Model,
    /// Who keeps the vectors.
    pub vectors: Vectors,
    /// Whose tokens count; those of this cloud if not set.
    pub oidc: Option<Oidc>,
    /// More environment for every function; wins over what the local cloud sets itself.
    pub environment: BTreeMap<String, String>,
    /// A folder that gets each event that a function gets, a file each.
    pub events: Option<PathBuf>,
    /// What of the functions' logs is printed to the terminal too.
    pub logs: Logs,
}

/// What of the functions' logs is printed to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logs {
    /// Nothing.
    None,
    /// What goes wrong with the model, in a line each.
    Trouble,
    /// Everything.
    All,
}

/// Where state is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// In this folder, made when it does not exist.
    Folder(PathBuf),
    /// Nowhere: it is gone when the cloud is.
    Ephemeral,
}

/// Who keeps the vectors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Vectors {
    /// The embedded engine, in the data folder.
    #[default]
    Embedded,
    /// A real Qdrant.
    Server {
        /// The URL of its gRPC port.
        url: String,
        /// The key, where it asks for one.
        api_key: Option<String>,
    },
}

/// An OpenID Connect provider whose tokens count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oidc {
    /// The `iss` of its tokens.
    pub issuer: String,
    /// The clients or APIs whose tokens count, with commas between them.
    pub audiences: String,
}

/// Who answers the model calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Model {
    /// The built-in scripted model, which plays this provider.
    Scripted(scripted_model::Provider),
    /// A provider that speaks the Responses API.
    Provider {
        /// Its base URL, up to and with `/v1`.
        base_url: String,
        /// The key.
        api_key: String,
        /// The model's name; the functions' default if not set.
        name: Option<String>,
    },
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 0,
            services_host: Ipv4Addr::LOCALHOST.into(),
            services_port: 0,
            data: Data::Ephemeral,
            executable: None,
            concurrency: 8,
            timeout: None,
            lease: None,
            sweep: Some(Duration::from_secs(60)),
            visibility: None,
            model: Model::Scripted(scripted_model::Provider::default()),
            vectors: Vectors::default(),
            oidc: None,
            environment: BTreeMap::new(),
            events: None,
            logs: Logs::None,
        }
    }
}

impl Options {
    /// Where one of the services listens: so many ports after the first.
    pub(crate) fn service(&self, place: u16) -> SocketAddr {
        let port = if self.services_port == 0 { 0 } else { self.services_port.saturating_add(place) };
        (self.services_host, port).into()
    }

    /// The visibility timeout of the finalize queue, in seconds.
    pub(crate) fn visibility_seconds(&self) -> u32 {
        /// Six times the function's timeout, as on AWS.
        const DEPLOYED: Duration = Duration::from_secs(360);
        /// For a cloud whose leases are short, so that a retry can be waited for.
        const SHORT: Duration = Duration::from_secs(5);
        let default = if self.lease.is_some() { SHORT } else { DEPLOYED };
        let seconds = self.visibility.unwrap_or(default).as_secs();
        u32::try_from(seconds).unwrap_or(u32::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_stand_side_by_side_or_anywhere() {
        let at = |services_port, place| {
            let options =
                Options { services_port, services_host: [172, 17, 0, 1].into(), ..Options::default() };
            options.service(place).to_string()
        };
        assert_eq!([at(9100, 0), at(9100, 4)], ["172.17.0.1:9100", "172.17.0.1:9104"]);
        assert_eq!([at(0, 0), at(0, 4)], ["172.17.0.1:0", "172.17.0.1:0"], "any free ports");
    }
}
