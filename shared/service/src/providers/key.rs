//! API keys of model providers and other services: from Secrets Manager, or from the environment in a local run.

use std::sync::Arc;

use contracts::error::causes;
use llm::{ApiKey, Error, key::KeySource};
use settings::{Env, Optional, Setting, Text};
use storage::Secrets;
use tokio::sync::Mutex;

/// A setting with a key or the name of its secret.
type KeySetting = Setting<Text, Optional>;

/// The configured origin of a key.
#[derive(Debug, Clone)]
pub enum KeyConfig {
    /// The value of a setting, on a developer's machine.
    Setting(ApiKey),
    /// The name of a secret.
    Secret(String),
    /// The provider needs no key.
    Keyless,
}

impl KeyConfig {
    /// Reads a required key: the value of `setting`, or the secret that `secret` names.
    pub fn required(env: &mut Env, setting: &KeySetting, secret: &KeySetting) -> Self {
        Self::optional(env, setting, secret).unwrap_or_else(|| {
            env.add_fault(format!("{} must be set", secret.name));
            Self::Keyless
        })
    }

    /// Reads an optional key.
    pub fn optional(env: &mut Env, setting: &KeySetting, secret: &KeySetting) -> Option<Self> {
        let key = env.read(setting).map(|key| Self::Setting(ApiKey::new(key)));
        key.or_else(|| env.read(secret).map(Self::Secret))
    }
}

/// A key that is cached for the life of the process and fetched again when the provider rejects it.
#[derive(Debug, Clone)]
pub struct CachedKey {
    source: KeyConfig,
    secrets: Secrets,
    cached: Arc<Mutex<Option<ApiKey>>>,
}

impl CachedKey {
    /// Creates the cache without fetching the key.
    #[must_use]
    pub fn new(source: KeyConfig, secrets: Secrets) -> Self {
        Self { source, secrets, cached: Arc::default() }
    }

    /// Fetches the key in the background, while the first request reads other data. If this fails, the model call tries
    /// again and reports the error.
    pub fn prefetch(&self) {
        let source = self.clone();
        tokio::spawn(async move { source.key(None).await.is_ok() });
    }
}

impl KeySource for CachedKey {
    async fn key(&self, rejected: Option<&ApiKey>) -> Result<ApiKey, Error> {
        let id = match &self.source {
            KeyConfig::Setting(key) => return Ok(key.clone()),
            KeyConfig::Keyless => return Ok(ApiKey::default()),
            KeyConfig::Secret(id) => id,
        };
        // The lock is held while fetching, so that concurrent callers share one fetch.
        let mut cached = self.cached.lock().await;
        match cached.as_ref() {
            Some(key) if Some(key) != rejected => Ok(key.clone()),
            _ => {
                let fetched = self.secrets.text(id).await.map_err(|error| {
                    tracing::error!(error = %causes(&error), "{}", contracts::log::PROVIDER_KEY_UNREADABLE);
                    Error::Unauthenticated
                })?;
                Ok(cached.insert(ApiKey::new(fetched)).clone())
            }
        }
    }
}
