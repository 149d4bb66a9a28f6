//! How an org's indexed sources are reached, from the function's settings.
//!
//! | setting | meaning | bounds | default |
//! |---|---|---|---|
//! | `QDRANT_URL` | the vector database's gRPC port; blank: nothing is retrieved | http or https | |
//! | `QDRANT_API_KEY` | its key: on a developer's machine | | none is sent |
//! | `QDRANT_API_KEY_SECRET_ARN` | the secret that holds it | | none is sent |
//! | `QDRANT_COLLECTION` | the collection where no context names one | | `sources` |
//! | `EMBEDDING_MODEL` | the model where no context names one | | `text-embedding-3-small` |
//! | `EMBEDDING_DIMENSIONS` | the length of its vectors, where it can choose | 1 to 8192 | its own |
//! | `EMBEDDING_BASE_URL` | the provider of embeddings; `/embeddings` is added | http or https | the default provider of models, with its key |
//! | `EMBEDDING_API_KEY`, `EMBEDDING_API_KEY_SECRET_ARN` | its key, of a base URL of its own alone | | |
//!
//! Nothing is connected to before the first question.

use agent::retrieval::{Configured, EmbeddingModel};
use llm::{
    Config,
    client::Timeouts,
    embeddings::{Embeddings, Limits},
    retry::Policy,
};
use retrieval::{Connection, Retriever, collection, connection::Patience, retriever::BREAKER};
use runtime::Env;
use std::time::Duration;
use storage::Secrets;

use crate::provider_key::{ProviderKey, Source};

const LONGEST_VECTOR: u32 = 8_192;

/// What turns search, and through what.
pub type Sources = Retriever<ProviderKey, ProviderKey>;

/// What the settings say.
#[derive(Debug)]
pub(crate) struct Settings {
    url: String,
    key: Option<Source>,
    /// The provider of embeddings, where it is not the model's.
    provider: Option<(String, Source)>,
    configured: Configured,
}

impl Settings {
    /// Reads the settings; none where nothing is indexed. What is wrong is named when `env` finishes.
    pub(crate) fn read(env: &mut Env) -> Option<Self> {
        let url = env.optional("QDRANT_URL")?;
        let provider = env.optional("EMBEDDING_BASE_URL").map(|base| {
            // The model's key is not for another host.
            (base, Source::read(env, "EMBEDDING_API_KEY", "EMBEDDING_API_KEY_SECRET_ARN"))
        });
        Some(Self {
            url,
            key: Source::optional(env, "QDRANT_API_KEY", "QDRANT_API_KEY_SECRET_ARN"),
            provider,
            configured: Configured {
                collection: env.or("QDRANT_COLLECTION", collection::DEFAULT_NAME),
                embedding: EmbeddingModel {
                    name: env.or("EMBEDDING_MODEL", "text-embedding-3-small"),
                    dimensions: env.between("EMBEDDING_DIMENSIONS", 1..=LONGEST_VECTOR, "numbers"),
                },
            },
        })
    }

    /// What turns search by these settings: of the model's provider, unless another one makes the vectors.
    pub(crate) fn sources(
        self,
        model: &Config,
        model_key: &ProviderKey,
        secrets: &Secrets,
    ) -> Result<(Configured, Sources), lambda_http::Error> {
        let (config, key) = match self.provider {
            Some((base, key)) => {
                (Config { base, ..Config::default() }, ProviderKey::new(key, secrets.clone()))
            }
            None => (model.clone(), model_key.clone()),
        };
        let embeddings = Embeddings::new(patient(config), Limits::default(), key)?;
        let key = self.key.map(|key| ProviderKey::new(key, secrets.clone()));
        let connection = Connection::new(&self.url, key, Patience::OF_A_TURN)?;
        let collection = self.configured.collection.clone();
        Ok((self.configured, Retriever::new(embeddings, connection, collection, BREAKER)))
    }
}

/// A turn waits for all of retrieval no longer than two seconds: what fails is asked for again at once, or not at all.
fn patient(config: Config) -> Config {
    let timeouts = Timeouts { connect: Duration::from_millis(700), ..Config::default().timeouts };
    let retry =
        Policy { retries: 2, shortest: Duration::from_millis(100), longest: Duration::from_millis(500) };
    Config { timeouts, retry, ..config }
}
