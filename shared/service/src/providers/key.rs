//! API keys of model providers and other services: from Secrets Manager, or from the environment in a local run. Also the
//! AWS credentials of providers whose requests are signed.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use contracts::error::causes;
use llm::{ApiKey, Error, key::KeySource};
use settings::{Env, Optional, Setting, Text};
use storage::Secrets;
use tokio::sync::Mutex;

/// A setting with a key or the name of its secret.
type KeySetting = Setting<Text, Optional>;

/// The time before the end of AWS credentials at which they are fetched again.
const RENEWAL: Duration = Duration::from_secs(5 * 60);

/// The configured origin of a key.
#[derive(Debug, Clone)]
pub enum KeyConfig {
    /// The value of a setting, on a developer's machine.
    Setting(ApiKey),
    /// The name of a secret.
    Secret(String),
    /// The AWS credentials of the function's role, or on a developer's machine those that this URL serves.
    Aws(Option<String>),
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
        match &self.source {
            KeyConfig::Setting(key) => return Ok(key.clone()),
            KeyConfig::Keyless => return Ok(ApiKey::default()),
            KeyConfig::Secret(_) | KeyConfig::Aws(_) => {}
        }
        // The lock is held while fetching, so that concurrent callers share one fetch.
        let mut cached = self.cached.lock().await;
        let usable = cached.as_ref().filter(|key| Some(*key) != rejected);
        if let Some(key) = usable.filter(|key| is_valid_in(key, RENEWAL)) {
            return Ok(key.clone());
        }
        match self.fetch().await {
            Ok(fetched) => Ok(cached.insert(fetched).clone()),
            // Credentials that are due for renewal still sign.
            Err(error) => usable.filter(|key| is_valid_in(key, Duration::ZERO)).cloned().ok_or(error),
        }
    }
}

impl CachedKey {
    /// Fetches the key from its origin.
    async fn fetch(&self) -> Result<ApiKey, Error> {
        let (fetched, message) = match &self.source {
            KeyConfig::Setting(key) => return Ok(key.clone()),
            KeyConfig::Keyless => return Ok(ApiKey::default()),
            KeyConfig::Secret(id) => {
                (self.secrets.text(id).await.map(ApiKey::new), contracts::log::PROVIDER_KEY_UNREADABLE)
            }
            KeyConfig::Aws(url) => {
                let credentials = match url {
                    Some(url) => storage::credentials::fetch(url).await,
                    None => self.secrets.aws_credentials().await,
                };
                (credentials.map(ApiKey::from), contracts::log::PROVIDER_CREDENTIALS_UNAVAILABLE)
            }
        };
        fetched.map_err(|error| {
            tracing::error!(error = %causes(&error), "{message}");
            Error::Unauthenticated
        })
    }
}

/// True if the key is still valid after this time. Only AWS credentials expire.
fn is_valid_in(key: &ApiKey, time: Duration) -> bool {
    key.expires_at().is_none_or(|end| end > SystemTime::now() + time)
}
