//! The vector database and the embedding provider of a command. The local cloud stands in for whichever is not named.

use std::path::PathBuf;
use std::time::Duration;

use llm::config::{Config, Timeouts};
use llm::embeddings::{Embeddings, Limits};
use llm::key::ApiKey;
use retrieval::connection::{Connection, QdrantError, QdrantTimeouts};

use super::error::Error;
use crate::cloud::executable;
use crate::programs::{Locations, QDRANT};
use crate::{Cloud, Data, Options, Vectors, data_folder, discovery};

/// Timeout of an embedding request. A model on this machine takes minutes for a large batch.
const EMBEDDING_TIMEOUT: Duration = Duration::from_secs(840);

/// A server and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// URL of the server.
    pub url: String,
    /// API key, if the server requires one.
    pub key: Option<String>,
}

/// Options that select a [`Target`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetOptions {
    /// The vector database. Default: the local cloud's.
    pub qdrant: Option<Server>,
    /// The embedding provider. Defaults to the local cloud's mock model.
    pub provider: Option<Server>,
    /// Storage of the local cloud.
    pub data: Data,
}

/// A vector database and an embedding provider, with the local cloud that was started for them, if any.
pub struct Target {
    pub(super) connection: Connection<ApiKey>,
    /// URL of the vector database.
    database_url: String,
    provider: Server,
    cloud: Option<Cloud>,
}

impl Target {
    /// Connects to both. Starts the local cloud if it is needed and not running, and builds the embedded engine first
    /// if necessary.
    ///
    /// # Errors
    /// Fails if one of them is not available.
    pub async fn open(options: TargetOptions) -> Result<Self, Error> {
        let (qdrant, provider, cloud) = match (options.qdrant, options.provider) {
            (Some(qdrant), Some(provider)) => (qdrant, provider, None),
            (qdrant, provider) => {
                let (qdrant_url, model_url, cloud) = local_cloud(&options.data, qdrant.is_none()).await?;
                let without_key = |url| Server { url, key: None };
                (
                    qdrant.unwrap_or_else(|| without_key(qdrant_url)),
                    provider.unwrap_or_else(|| without_key(model_url)),
                    cloud,
                )
            }
        };
        let key = qdrant.key.map(ApiKey::new);
        let connection = Connection::new(&qdrant.url, key, QdrantTimeouts::INDEXER)?;
        Ok(Self { connection, database_url: qdrant.url, provider, cloud })
    }

    /// Names the server whose failure ended a run.
    pub(super) fn name_server(&self, error: indexing::run::Error) -> Error {
        match error {
            indexing::run::Error::Embeddings(error) => self.provider_error(error),
            indexing::run::Error::Database(error) => Error::Server { url: shown(&self.database_url), error },
            error => error.into(),
        }
    }

    /// Names the provider of a failed request.
    pub(super) fn provider_error(&self, error: llm::Error) -> Error {
        Error::Provider { url: shown(&self.provider.url), error }
    }

    /// Returns a client of the embedding provider.
    pub(super) fn embeddings(&self) -> Result<Embeddings<ApiKey>, Error> {
        let timeouts = Timeouts { first_byte: EMBEDDING_TIMEOUT, ..Timeouts::default() };
        let config = Config { base_url: self.provider.url.clone(), timeouts, ..Config::default() };
        // The mock model accepts any key, and local providers need none.
        let key = ApiKey::new(self.provider.key.as_deref().unwrap_or("none"));
        Ok(Embeddings::new(config, Limits::default(), key)?)
    }

    /// Stops the local cloud if it was started for this target.
    pub async fn close(self) {
        if let Some(cloud) = self.cloud {
            cloud.shutdown().await;
        }
    }
}

/// Returns a URL without credentials and query.
fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, host)| host))
        }
        None => url.to_owned(),
    }
}

/// Connects to a vector database, and returns true if it has this collection.
///
/// # Errors
/// Fails if the database does not answer or rejects the key.
pub async fn has_collection(server: &Server, name: &str) -> Result<bool, Error> {
    let key = server.key.as_deref().map(ApiKey::new);
    let connection: Connection<ApiKey> = Connection::new(&server.url, key, QdrantTimeouts::INDEXER)?;
    match connection.collection(name).await {
        Ok(_) => Ok(true),
        Err(QdrantError::CollectionNotFound) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the vector database's and the model's URL of the local cloud on this folder, and the cloud if it had to be
/// started.
async fn local_cloud(data: &Data, needs_qdrant: bool) -> Result<(String, String, Option<Cloud>), Error> {
    let cloud_options =
        Options { data: data.clone(), vectors: Vectors::Embedded, sweep: None, ..Options::default() };
    match (Cloud::start(cloud_options).await, data) {
        (Ok(cloud), _) => {
            let qdrant = if needs_qdrant { cloud.qdrant().await? } else { "" }.to_owned();
            Ok((qdrant, cloud.endpoints().model.clone(), Some(cloud)))
        }
        (Err(crate::Error::Data(data_folder::Error::InUse(_))), Data::Folder(folder)) => {
            if needs_qdrant {
                Locations::of(&QDRANT, &executable(None)?).find()?.build().await?;
            }
            let (qdrant, model_url) = discovery::vector_endpoints(&PathBuf::from(folder))?;
            Ok((qdrant, model_url, None))
        }
        (Err(error), _) => Err(error.into()),
    }
}
