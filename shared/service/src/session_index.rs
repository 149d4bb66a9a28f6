//! The session index of a deployment, from the functions' settings: its URL, collection and key.
//!
//! Model calls and source search are out of scope: functions that search, index or purge sessions use this module and
//! not [`sources`](crate::sources).

use retrieval::{SessionPoints, connection::InvalidUrl};
use settings::Env;
use storage::Secrets;

pub use retrieval::sessions::SessionIndexTimeouts;

use crate::providers::{CachedKey, KeyConfig};

/// The session index.
pub type SessionIndex = SessionPoints<CachedKey>;

/// The settings of the session index.
#[derive(Debug)]
pub struct Settings {
    url: String,
    key: Option<KeyConfig>,
    collection: String,
}

impl Settings {
    /// Reads the settings. Returns `None` if sessions are not indexed. Invalid settings are reported when `env` finishes.
    pub fn read(env: &mut Env) -> Option<Self> {
        let (url, collection) =
            (env.read(&settings::QDRANT_URL), env.read(&settings::QDRANT_SESSIONS_COLLECTION));
        let key = KeyConfig::optional(env, &settings::QDRANT_API_KEY, &settings::QDRANT_API_KEY_SECRET_ARN);
        Some(Self { url: url?, key, collection: collection? })
    }

    /// Creates the index. Connects on first use.
    ///
    /// # Errors
    /// The invalid setting.
    pub fn index(self, secrets: &Secrets, wait: SessionIndexTimeouts) -> Result<SessionIndex, InvalidUrl> {
        let key = self.key.map(|key| CachedKey::new(key, secrets.clone()));
        SessionPoints::new(&self.url, key, self.collection, wait)
    }
}
