//! The index of sessions of a deployment, from the functions' settings: where it is, in which collection, with which key.
//!
//! Deliberately absent: every way to ask a model, and to search sources. Whoever searches, keeps or purges sessions depends
//! on this, and not on what turns retrieve through.

use providers::{ProviderKey, Source};
use retrieval::{SessionPoints, connection::Unusable};
use settings::Env;
use storage::Secrets;

pub use retrieval::sessions::Wait;

/// The index.
pub type SessionIndex = SessionPoints<ProviderKey>;

/// What the settings say.
#[derive(Debug)]
pub struct Settings {
    url: String,
    key: Option<Source>,
    collection: String,
}

impl Settings {
    /// Reads the settings; none where sessions are not indexed. What is wrong is named when `env` finishes.
    pub fn read(env: &mut Env) -> Option<Self> {
        let (url, collection) =
            (env.read(&settings::QDRANT_URL), env.read(&settings::QDRANT_SESSIONS_COLLECTION));
        let key = Source::optional(env, &settings::QDRANT_API_KEY, &settings::QDRANT_API_KEY_SECRET_ARN);
        Some(Self { url: url?, key, collection: collection? })
    }

    /// The index by these settings. Nothing is connected to before it is asked.
    ///
    /// # Errors
    /// Which setting is at fault.
    pub fn index(self, secrets: &Secrets, wait: Wait) -> Result<SessionIndex, Unusable> {
        let key = self.key.map(|key| ProviderKey::new(key, secrets.clone()));
        SessionPoints::new(&self.url, key, self.collection, wait)
    }
}
