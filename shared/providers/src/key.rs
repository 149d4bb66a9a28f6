//! API keys of the model's provider, and of what else is asked: from Secrets Manager, or from the environment of a
//! local run.

use std::sync::Arc;

use contracts::error::causes;
use llm::{ApiKey, Error, key::Keys};
use settings::{Env, Nothing, Setting, Text};
use storage::Secrets;
use tokio::sync::Mutex;

/// A setting that says something of a key.
type Key = Setting<Text, Nothing>;

/// Where the key comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A setting: on a developer's machine.
    Setting(ApiKey),
    /// The secret of this name.
    Secret(String),
    /// The provider asks for none.
    Keyless,
}

impl Source {
    /// A key that has to be there: the setting itself, or the secret that the other one names.
    pub fn read(env: &mut Env, setting: &Key, secret: &Key) -> Self {
        Self::optional(env, setting, secret).unwrap_or_else(|| {
            env.fault(format!("{} must be set", secret.name));
            Self::Keyless
        })
    }

    /// A key that may be left out.
    pub fn optional(env: &mut Env, setting: &Key, secret: &Key) -> Option<Self> {
        let key = env.read(setting).map(|key| Self::Setting(ApiKey::new(key)));
        key.or_else(|| env.read(secret).map(Self::Secret))
    }
}

/// The key, cached for the life of the process and fetched anew when the provider refuses it.
#[derive(Debug, Clone)]
pub struct ProviderKey {
    source: Source,
    secrets: Secrets,
    cached: Arc<Mutex<Option<ApiKey>>>,
}

impl ProviderKey {
    /// The key from there.
    #[must_use]
    pub fn new(source: Source, secrets: Secrets) -> Self {
        Self { source, secrets, cached: Arc::default() }
    }

    /// Fetches the key ahead, beside whatever the first request has to read. Should it fail, the model
    /// call tries again and tells.
    pub fn fetch_ahead(&self) {
        let ahead = self.clone();
        tokio::spawn(async move { ahead.key(None).await.is_ok() });
    }
}

impl Keys for ProviderKey {
    async fn key(&self, refused: Option<&ApiKey>) -> Result<ApiKey, Error> {
        let id = match &self.source {
            Source::Setting(key) => return Ok(key.clone()),
            Source::Keyless => return Ok(ApiKey::default()),
            Source::Secret(id) => id,
        };
        // Held while fetching, so that one fetch serves everyone who waits for it.
        let mut cached = self.cached.lock().await;
        match cached.as_ref() {
            Some(key) if Some(key) != refused => Ok(key.clone()),
            _ => {
                let fetched = self.secrets.text(id).await.map_err(|error| {
                    tracing::error!(error = %causes(&error), "a provider's key can't be read");
                    Error::Unauthenticated
                })?;
                Ok(cached.insert(ApiKey::new(fetched)).clone())
            }
        }
    }
}
