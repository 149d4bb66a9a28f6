//! How an org's indexed sources are reached, from the function's settings.
//!
//! Nothing is connected to before the first question.

use agent::retrieval::{Configured, EmbeddingModel};
use llm::{
    Config,
    client::Timeouts,
    embeddings::{Embeddings, Limits},
    retry::Policy,
};
use providers::{ProviderKey, Source};
use retrieval::{Connection, Retriever, connection::Patience, retriever::BREAKER};
use settings::Env;
use std::time::Duration;
use storage::Secrets;

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
        let url = env.read(&settings::QDRANT_URL)?;
        let provider = env.read(&settings::EMBEDDING_BASE_URL).map(|base| {
            // The model's key is not for another host.
            (base, Source::read(env, &settings::EMBEDDING_API_KEY, &settings::EMBEDDING_API_KEY_SECRET_ARN))
        });
        Some(Self {
            url,
            key: Source::optional(env, &settings::QDRANT_API_KEY, &settings::QDRANT_API_KEY_SECRET_ARN),
            provider,
            configured: Configured {
                collection: env.read(&settings::QDRANT_COLLECTION),
                embedding: EmbeddingModel {
                    name: env.read(&settings::EMBEDDING_MODEL),
                    dimensions: env.read(&settings::EMBEDDING_DIMENSIONS),
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
