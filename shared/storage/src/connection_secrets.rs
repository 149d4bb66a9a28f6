//! The secrets of connections, each an entry of its own in Secrets Manager.

use std::time::{Duration, Instant};

use agent::connection::{ConnectionSecret, ConnectionSecrets, SecretsUnavailable};
use aws_sdk_secretsmanager::{Client, error::ProvideErrorMetadata};
use contracts::{
    Fingerprint,
    error::JsonError,
    id::{ConnectionId, OrgId},
};

use crate::{Prewarmed, failure, table::ttl_cache::TtlCache};

/// The most time that a cached secret may be stale.
const TTL: Duration = Duration::from_secs(60);
/// The most secrets to cache.
const MAX_ENTRIES: usize = 1_000;

/// Adapter for the secrets of connections in Secrets Manager. Their names begin with the prefix of the deployment.
#[derive(Clone)]
pub struct ConnectionSecretStore {
    client: Prewarmed<Client>,
    prefix: String,
    cache: TtlCache<String, Option<ConnectionSecret>>,
}

impl ConnectionSecretStore {
    pub(crate) fn new(client: Prewarmed<Client>, prefix: String) -> Self {
        Self { client, prefix, cache: TtlCache::new(TTL, MAX_ENTRIES) }
    }

    /// Returns the name of a secret. An org's id may have characters that names can't have, so it is hashed.
    fn name(&self, org: &OrgId, connection: &ConnectionId) -> String {
        let mut hash = Fingerprint::hash_bytes(org.as_str().as_bytes()).to_string();
        hash.truncate(32);
        format!("{}{hash}/{connection}", self.prefix)
    }
}

impl ConnectionSecrets for ConnectionSecretStore {
    async fn secret(
        &self,
        org: &OrgId,
        connection: &ConnectionId,
        is_current: bool,
    ) -> Result<Option<ConnectionSecret>, SecretsUnavailable> {
        let name = self.name(org, connection);
        if !is_current && let Some(found) = self.cache.get(&name) {
            return Ok(found);
        }
        let began = Instant::now();
        let found = match self.client.get_secret_value().secret_id(&name).send().await {
            Ok(found) => found.secret_string,
            Err(error) if error.code() == Some("ResourceNotFoundException") => None,
            Err(error) => return Err(SecretsUnavailable(failure::cause(error))),
        };
        // The parser's own error would show the secret.
        let parse = |text: &str| serde_json::from_str(text).map_err(|error| JsonError::from(&error));
        let found =
            found.as_deref().map(parse).transpose().map_err(|error| SecretsUnavailable(error.into()))?;
        // An absent one isn't cached, so that a new one works at once.
        if found.is_some() {
            self.cache.put(name, found.clone(), began);
        }
        Ok(found)
    }

    async fn set_secret(
        &self,
        org: &OrgId,
        connection: &ConnectionId,
        secret: &ConnectionSecret,
    ) -> Result<(), SecretsUnavailable> {
        let name = self.name(org, connection);
        let value = serde_json::to_string(secret).map_err(|error| SecretsUnavailable(error.into()))?;
        let put = || self.client.put_secret_value().secret_id(&name).secret_string(&value).send();
        let written = match put().await {
            Err(error) if error.code() == Some("ResourceNotFoundException") => {
                let description = format!("Secret of the connection {connection}");
                let create = self.client.create_secret().name(&name).description(description);
                match create.secret_string(&value).send().await {
                    // Another request has created it meanwhile.
                    Err(error) if error.code() == Some("ResourceExistsException") => {
                        put().await.map(drop).map_err(failure::cause)
                    }
                    created => created.map(drop).map_err(failure::cause),
                }
            }
            written => written.map(drop).map_err(failure::cause),
        };
        self.cache.remove(&name);
        written.map_err(SecretsUnavailable)
    }
}

/// Hides the cached secrets.
impl std::fmt::Debug for ConnectionSecretStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionSecretStore").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
