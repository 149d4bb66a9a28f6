//! Options of a local cloud.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent::model::Wire;
use futures::future::BoxFuture;
use llm::signing_scope::SigningScope;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::aws_credentials::SharedCredentialsProvider;
use crate::model_setup::SavedModel;

/// Default of [`Options::min_free_bytes`]: space for a few writes of the databases and their logs.
const MIN_FREE_BYTES: u64 = 1 << 20;

/// Options of a local cloud. The default suits a test: any free port, nothing persisted, the mock model.
#[derive(Debug, Clone)]
pub struct Options {
    /// The API's port on 127.0.0.1; 0 picks a free port.
    pub port: u16,
    /// Address on which the services and the mock model listen. Containers usually can't reach 127.0.0.1 of this
    /// machine.
    pub services_host: IpAddr,
    /// Port of DynamoDB. S3, SQS, the model, Qdrant and Secrets Manager take the next ones, in this order; 0 picks free ports.
    pub services_port: u16,
    /// Storage of the state.
    pub data: Data,
    /// Executable that is started as the functions: the `aptix` program. Defaults to the running executable.
    pub executable: Option<PathBuf>,
    /// Maximum number of processes per function.
    pub concurrency: usize,
    /// Invocations that a process of an API function serves at a time, as on Lambda Managed Instances. With one, as in
    /// default Lambda, a killed process affects a single request.
    pub concurrency_per_process: usize,
    /// Timeout of an invocation of an API function. Defaults to 840 s, as deployed.
    pub timeout: Option<Duration>,
    /// Duration of a turn's lease. Defaults to the functions' setting. The abandon grace and the visibility timeout
    /// become as short.
    pub lease: Option<Duration>,
    /// Time between sweeps. Without it, sweeps run only on request.
    pub sweep: Option<Duration>,
    /// Visibility timeout of the finalize queue. Defaults to six minutes, or to a few seconds if a lease is set.
    pub visibility: Option<Duration>,
    /// The model provider.
    pub model: Model,
    /// The way in which the console changes the model. Without it, the console can't.
    pub model_setup: Option<ModelSetup>,
    /// APIs of the mock model. Tests add those of `mock-wires`.
    pub mock_wires: &'static [&'static mock_model::Wire],
    /// The AWS credentials with which functions sign requests to providers with `Auth: aws-sigv4`.
    pub aws_credentials: Option<SharedCredentialsProvider>,
    /// Set to show the provider's address and message of a failed model call in log, error and console.
    pub provider_messages: bool,
    /// Set to store the raw model requests and responses of every turn, which operators see in its trace.
    pub raw_payloads: bool,
    /// The vector database.
    pub vectors: Vectors,
    /// OpenID Connect provider whose tokens are accepted. Defaults to the tokens of this cloud.
    pub oidc: Option<Oidc>,
    /// Additional environment variables of every function. They win over those that the local cloud sets.
    pub environment: BTreeMap<String, String>,
    /// Folder into which every event for a function is written, one file each.
    pub event_folder: Option<PathBuf>,
    /// Function log lines to print to the terminal.
    pub logs: Logs,
    /// Free space of the data folder's disk below which writing requests are refused, in bytes.
    pub min_free_bytes: u64,
}

/// Function log lines that are printed to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logs {
    /// Nothing.
    None,
    /// Errors of model calls, one line each.
    ModelErrors,
    /// Everything.
    All,
}

/// Storage of the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// In this folder, which is created if it does not exist.
    Folder(PathBuf),
    /// In a temporary folder that is deleted when the cloud stops.
    Ephemeral,
}

/// The vector database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Vectors {
    /// The embedded engine, in the data folder.
    #[default]
    Embedded,
    /// An external Qdrant server.
    Server {
        /// URL of its gRPC port.
        url: String,
        /// API key, if the server requires one.
        api_key: Option<String>,
    },
}

/// An OpenID Connect provider whose tokens are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oidc {
    /// `iss` claim of its tokens.
    pub issuer: String,
    /// Accepted audiences (client or API identifiers), separated by commas.
    pub audiences: String,
}

/// The model provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Model {
    /// The built-in mock model, which imitates this provider.
    Mock(mock_model::Provider),
    /// A provider of models.
    Provider {
        /// API that it offers.
        wire: Wire,
        /// Base URL, including `/v1`.
        base_url: String,
        /// API key.
        api_key: String,
        /// Name of the model. Defaults to the functions' setting.
        name: Option<String>,
    },
    /// Amazon Bedrock, whose requests are signed with [`Options::aws_credentials`].
    Bedrock {
        /// API of the model.
        wire: Wire,
        /// Base URL, including `/openai/v1`, `/anthropic/v1` or `/v1`.
        base_url: String,
        /// Scope of the signatures.
        scope: SigningScope,
        /// Name of the model.
        name: String,
    },
}

/// A provider that the console offers.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ProviderChoice {
    /// Name of the provider, as for `--provider`.
    pub name: String,
    /// True if it refuses requests without a key.
    pub needs_key: bool,
    /// Its base URL, unless it differs for every account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<&'static str>,
}

/// A function that checks a choice with its provider. The error is a sentence for the user.
pub type ModelCheck = Arc<dyn Fn(SavedModel) -> BoxFuture<'static, Result<Model, String>> + Send + Sync>;

/// The means by which the console changes the model. The receiver of `changes` restarts the cloud with the new one.
#[derive(Clone)]
pub struct ModelSetup {
    /// The providers to choose from.
    pub providers: Vec<ProviderChoice>,
    /// Checks a choice before it is saved.
    pub check: ModelCheck,
    /// Receives the model of each change.
    pub changes: mpsc::Sender<Model>,
}

impl fmt::Debug for ModelSetup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ModelSetup").field("providers", &self.providers).finish_non_exhaustive()
    }
}

/// Addresses on which the services and the mock model listen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServiceAddresses {
    pub(crate) dynamodb: SocketAddr,
    pub(crate) s3: SocketAddr,
    pub(crate) sqs: SocketAddr,
    pub(crate) model: SocketAddr,
    pub(crate) qdrant: SocketAddr,
    pub(crate) secrets: SocketAddr,
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
            concurrency_per_process: 1,
            timeout: None,
            lease: None,
            sweep: Some(Duration::from_secs(60)),
            visibility: None,
            model: Model::Mock(mock_model::Provider::default()),
            model_setup: None,
            mock_wires: mock_model::WIRES,
            aws_credentials: None,
            provider_messages: false,
            raw_payloads: false,
            vectors: Vectors::default(),
            oidc: None,
            environment: BTreeMap::new(),
            event_folder: None,
            logs: Logs::None,
            min_free_bytes: MIN_FREE_BYTES,
        }
    }
}

impl Options {
    /// Returns the addresses of the services: consecutive ports, or free ones.
    pub(crate) fn service_addresses(&self) -> ServiceAddresses {
        let address = |offset| {
            let port = if self.services_port == 0 { 0 } else { self.services_port.saturating_add(offset) };
            (self.services_host, port).into()
        };
        ServiceAddresses {
            dynamodb: address(0),
            s3: address(1),
            sqs: address(2),
            model: address(3),
            qdrant: address(4),
            secrets: address(5),
        }
    }

    /// Returns the visibility timeout of the finalize queue, in seconds.
    pub(crate) fn visibility_seconds(&self) -> u32 {
        /// Six times the function's timeout, as on AWS.
        const DEPLOYED: Duration = Duration::from_secs(360);
        /// Used with short leases, so that tests don't wait long for a retry.
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
    fn service_ports_are_consecutive_or_free() {
        let at = |services_port| {
            let options =
                Options { services_port, services_host: [172, 17, 0, 1].into(), ..Options::default() };
            let ServiceAddresses { dynamodb, qdrant, .. } = options.service_addresses();
            [dynamodb, qdrant].map(|address| address.to_string())
        };
        assert_eq!(at(9100), ["172.17.0.1:9100", "172.17.0.1:9104"]);
        assert_eq!(at(0), ["172.17.0.1:0", "172.17.0.1:0"], "free ports");
    }
}
