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
use std::time::Duration;
use storage::Secrets;

use crate::providers::{CachedKey, KeyConfig};

/// The retriever of turns.
pub type Sources = Retriever<CachedKey, CachedKey>;

/// The retrieval settings.
#[derive(Debug)]
pub(crate) struct Settings {
    url: String,
    key: Option<KeyConfig>,
    /// The provider of embeddings, if it differs from the model's.
    provider: Option<(String, KeyConfig)>,
    configured: DefaultSources,
}

impl Settings {
    /// Reads the settings. Returns `None` if nothing is indexed. Invalid settings are reported when `env` finishes.
    pub(crate) fn read(env: &mut Env) -> Option<Self> {
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

    /// Creates the retriever. The model's provider computes the embeddings, unless another one is configured.
    pub(crate) fn sources(
        self,
        model: &Config,
        model_key: &CachedKey,
        secrets: &Secrets,
    ) -> Result<(DefaultSources, Sources), lambda_http::Error> {
        let (config, key) = match self.provider {
            Some((base_url, key)) => {
                (Config { base_url, ..Config::default() }, CachedKey::new(key, secrets.clone()))
            }
            None => (model.clone(), model_key.clone()),
        };
        let embeddings = Embeddings::new(with_retrieval_limits(config), Limits::default(), key)?;
        let key = self.key.map(|key| CachedKey::new(key, secrets.clone()));
        let connection = Connection::new(&self.url, key, connection::QdrantTimeouts::TURN)?;
        let collection = self.configured.collection.clone();
        Ok((self.configured, Retriever::new(embeddings, connection, collection, BREAKER_POLICY)))
    }
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
