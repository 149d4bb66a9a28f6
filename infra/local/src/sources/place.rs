//! Where the vectors are kept and who makes them: what was named, and the local cloud for the rest.

use std::path::PathBuf;
use std::time::Duration;

use llm::config::{Config, Timeouts};
use llm::embeddings::{Embeddings, Limits};
use llm::key::ApiKey;
use retrieval::connection::{Connection, Patience};

use super::Error;
use crate::cloud::executable;
use crate::services::qdrant;
use crate::{Cloud, Data, Options, Vectors, data_folder, running};

/// How long a provider may be silent: a model on this machine takes minutes for what one request holds.
const PATIENCE: Duration = Duration::from_secs(840);

/// A server, and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its URL.
    pub url: String,
    /// Its key, where it asks for one.
    pub key: Option<String>,
}

/// What was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Where {
    /// The vector database; the local cloud's if none.
    pub qdrant: Option<Server>,
    /// The provider of embeddings; the local cloud's scripted model if none.
    pub provider: Option<Server>,
    /// The local cloud's data.
    pub data: Data,
}

/// A vector database and a provider, and the local cloud that they are of, if it was started for this.
pub struct Place {
    pub(super) connection: Connection<ApiKey>,
    provider: Server,
    cloud: Option<Cloud>,
}

impl Place {
    /// Finds both, starting the local cloud if it is needed and does not run. The embedded engine is built first if it
    /// has to be.
    ///
    /// # Errors
    /// When one of them can't be had.
    pub async fn open(named: Where) -> Result<Self, Error> {
        let (qdrant, provider, cloud) = match (named.qdrant, named.provider) {
            (Some(qdrant), Some(provider)) => (qdrant, provider, None),
            (qdrant, provider) => {
                let (local_qdrant, model, cloud) = local(&named.data, qdrant.is_none()).await?;
                let keyless = |url| Server { url, key: None };
                (
                    qdrant.unwrap_or_else(|| keyless(local_qdrant)),
                    provider.unwrap_or_else(|| keyless(model)),
                    cloud,
                )
            }
        };
        let key = qdrant.key.map(ApiKey::new);
        let connection = Connection::new(&qdrant.url, key, Patience::OF_AN_INDEXER)?;
        Ok(Self { connection, provider, cloud })
    }

    /// A client of the provider.
    pub(super) fn embeddings(&self) -> Result<Embeddings<ApiKey>, Error> {
        let timeouts = Timeouts { first_byte: PATIENCE, ..Timeouts::default() };
        let config = Config { base: self.provider.url.clone(), timeouts, ..Config::default() };
        // The scripted model takes any key, and a provider on this machine none.
        let key = ApiKey::new(self.provider.key.as_deref().unwrap_or("none"));
        Ok(Embeddings::new(config, Limits::default(), key)?)
    }

    /// Ends what was started.
    pub async fn close(self) {
        if let Some(cloud) = self.cloud {
            cloud.shutdown().await;
        }
    }
}

/// The running local cloud on this folder, or one that is started on it.
async fn local(data: &Data, embedded: bool) -> Result<(String, String, Option<Cloud>), Error> {
    let options =
        Options { data: data.clone(), vectors: Vectors::Embedded, sweep: None, ..Options::default() };
    match (Cloud::start(options).await, data) {
        (Ok(cloud), _) => {
            let qdrant = if embedded { cloud.qdrant().await? } else { "" }.to_owned();
            Ok((qdrant, cloud.endpoints().model.clone(), Some(cloud)))
        }
        (Err(crate::Error::Data(data_folder::Error::InUse(_))), Data::Folder(folder)) => {
            if embedded {
                qdrant::prepare(&executable(None)?).await?;
            }
            let (qdrant, model) = running::sources(&PathBuf::from(folder))?;
            Ok((qdrant, model, None))
        }
        (Err(error), _) => Err(error.into()),
    }
}
