//! Retrieval from an org's indexed sources, from the function's settings.
//!
//! Connects on the first search.

use agent::retrieval::{DefaultSources, EmbeddingModel};
use llm::{
    Config,
    client::Timeouts,
    embeddings::{Embeddings, Limits},
    retry::Policy,
};
use retrieval::{Connection, Retriever, connection, retriever::BREAKER_POLICY};
use settings::Env;
use std::{sync::Arc, time::Duration};
use storage::Secrets;

use crate::providers::{CachedKey, KeyConfig};

/// The retriever of turns.
pub type Sources = Retriever<CachedKey, CachedKey>;

/// The retrieval settings.
#[derive(Debug)]
pub struct Settings {
    url: String,
    key: Option<KeyConfig>,
    /// The provider of embeddings, if it differs from the model's.
    provider: Option<(String, KeyConfig)>,
    configured: DefaultSources,
}

impl Settings {
    /// Reads the settings. Returns `None` if nothing is indexed. Invalid settings are reported when `env` finishes.
    pub fn read(env: &mut Env) -> Option<Self> {
        let url = env.read(&settings::QDRANT_URL)?;
        let provider = env.read(&settings::EMBEDDING_BASE_URL).map(|base_url| {
            // The model's key must not be sent to another host.
            (
                base_url,
                KeyConfig::required(
                    env,
                    &settings::EMBEDDING_API_KEY,
                    &settings::EMBEDDING_API_KEY_SECRET_ARN,
                ),
            )
        });
        Some(Self {
            url,
            key: KeyConfig::optional(env, &settings::QDRANT_API_KEY, &settings::QDRANT_API_KEY_SECRET_ARN),
            provider,
            configured: DefaultSources {
                collection: env.read(&settings::QDRANT_COLLECTION),
                embedding: EmbeddingModel {
                    name: env.read(&settings::EMBEDDING_MODEL),
                    dimensions: env.read(&settings::EMBEDDING_DIMENSIONS),
                },
            },
        })
    }

    /// Returns what an indexer needs. The model's provider computes the embeddings, unless another one is configured.
    ///
    /// # Errors
    /// If a URL is invalid.
    pub fn index_target(
        self,
        model: &Config,
        model_key: &CachedKey,
        secrets: &Secrets,
    ) -> Result<IndexTarget<CachedKey>, lambda_http::Error> {
        let (config, key) = self.provider(model, model_key, secrets);
        let key_of_database = self.key.map(|key| CachedKey::new(key, secrets.clone()));
        Ok(IndexTarget {
            embeddings: Arc::new(Embeddings::new(config, Limits::default(), key)?),
            connection: Connection::new(&self.url, key_of_database, connection::QdrantTimeouts::INDEXER)?,
            configured: self.configured,
        })
    }

    /// Returns the provider that computes the embeddings.
    fn provider(&self, model: &Config, model_key: &CachedKey, secrets: &Secrets) -> (Config, CachedKey) {
        match &self.provider {
            Some((base_url, key)) => {
                let config = Config { base_url: base_url.clone(), ..Config::default() };
                (config, CachedKey::new(key.clone(), secrets.clone()))
            }
            None => (model.clone(), model_key.clone()),
        }
    }

    /// Creates the retriever. The model's provider computes the embeddings, unless another one is configured.
    pub(crate) fn sources(
        self,
        model: &Config,
        model_key: &CachedKey,
        secrets: &Secrets,
    ) -> Result<(DefaultSources, Sources), lambda_http::Error> {
        let (config, key) = self.provider(model, model_key, secrets);
        let embeddings = Embeddings::new(with_retrieval_limits(config), Limits::default(), key)?;
        let key = self.key.map(|key| CachedKey::new(key, secrets.clone()));
        let connection = Connection::new(&self.url, key, connection::QdrantTimeouts::TURN)?;
        let collection = self.configured.collection.clone();
        Ok((self.configured, Retriever::new(embeddings, connection, collection, BREAKER_POLICY)))
    }
}

/// The vector database and the embedding provider of an indexer.
#[derive(Debug)]
pub struct IndexTarget<K> {
    /// The collection and the model.
    pub configured: DefaultSources,
    /// The vector database.
    pub connection: Connection<K>,
    /// The embedding provider.
    pub embeddings: Arc<Embeddings<K>>,
}

/// Shortens timeouts and backoff: a turn waits at most two seconds for retrieval, so retries must follow at once.
fn with_retrieval_limits(config: Config) -> Config {
    let timeouts = Timeouts { connect: Duration::from_millis(700), ..Config::default().timeouts };
    let retry = Policy {
        retries: 2,
        initial_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_millis(500),
    };
    Config { timeouts, retry, ..config }
}
