//! The secrets of an org's documents, each an entry of its own in Secrets Manager.

use std::time::{Duration, Instant};

use agent::connection::{ConnectionSecret, ConnectionSecrets, SecretsUnavailable};
use aws_sdk_secretsmanager::{Client, error::ProvideErrorMetadata};
use contracts::{
    Fingerprint, Timestamp,
    error::JsonError,
    id::{ConnectionId, OrgId, WebhookId},
};
use serde::{Serialize, de::DeserializeOwned};
use turns::ports::{SigningSecrets, Source, Unavailable, WebhookSecrets};

use crate::{Prewarmed, failure, table::ttl_cache::TtlCache};

/// The most time that a cached secret may be stale.
const TTL: Duration = Duration::from_secs(60);
/// The most secrets to cache.
const MAX_ENTRIES: usize = 1_000;

/// Entries whose names begin with the prefix of the deployment, and the org.
#[derive(Clone)]
struct Entries<T> {
    client: Prewarmed<Client>,
    prefix: String,
    cache: TtlCache<String, T>,
}

impl<T: Clone + Serialize + DeserializeOwned> Entries<T> {
    fn new(client: Prewarmed<Client>, prefix: String) -> Self {
        Self { client, prefix, cache: TtlCache::new(TTL, MAX_ENTRIES) }
    }

    /// Returns the name of an org's secret. An org's id may have characters that names can't have, so it is hashed.
    fn name(&self, org: &OrgId, id: &str) -> String {
        let mut hash = Fingerprint::hash_bytes(org.as_str().as_bytes()).to_string();
        hash.truncate(32);
        format!("{}{hash}/{id}", self.prefix)
    }

    /// Reads a secret. An absent one isn't cached, so that a new one works at once.
    async fn read(&self, name: String) -> Result<Option<T>, Source> {
        let began = Instant::now();
        let found = match self.client.get_secret_value().secret_id(&name).send().await {
            Ok(found) => found.secret_string,
            Err(error) if error.code() == Some("ResourceNotFoundException") => None,
            Err(error) => return Err(failure::cause(error)),
        };
        // The parser's own error would show the secret.
        let parse = |text: &str| serde_json::from_str::<T>(text).map_err(|error| JsonError::from(&error));
        let found = found.as_deref().map(parse).transpose()?;
        if let Some(found) = &found {
            self.cache.put(name, found.clone(), began);
        }
        Ok(found)
    }

    async fn write(&self, name: &str, description: String, secret: &T) -> Result<(), Source> {
        let value = serde_json::to_string(secret)?;
        let put = || self.client.put_secret_value().secret_id(name).secret_string(&value).send();
        let written = match put().await {
            Err(error) if error.code() == Some("ResourceNotFoundException") => {
                let create = self.client.create_secret().name(name).description(description);
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
        self.cache.remove(&name.to_owned());
        written
    }
}

/// Hides the cached secrets.
impl<T> std::fmt::Debug for Entries<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// The secrets of connections.
#[derive(Debug, Clone)]
pub struct ConnectionSecretStore(Entries<ConnectionSecret>);

impl ConnectionSecretStore {
    pub(crate) fn new(client: Prewarmed<Client>, prefix: String) -> Self {
        Self(Entries::new(client, prefix))
    }
}

impl ConnectionSecrets for ConnectionSecretStore {
    async fn secret(
        &self,
        org: &OrgId,
        connection: &ConnectionId,
        is_current: bool,
    ) -> Result<Option<ConnectionSecret>, SecretsUnavailable> {
        let name = self.0.name(org, connection.as_str());
        match self.0.cache.get(&name).filter(|_| !is_current) {
            None => self.0.read(name).await.map_err(SecretsUnavailable),
            found => Ok(found),
        }
    }

    async fn set_secret(
        &self,
        org: &OrgId,
        connection: &ConnectionId,
        secret: &ConnectionSecret,
    ) -> Result<(), SecretsUnavailable> {
        let description = format!("Secret of the connection {connection}");
        let name = self.0.name(org, connection.as_str());
        self.0.write(&name, description, secret).await.map_err(SecretsUnavailable)
    }
}

/// The secrets of webhooks.
#[derive(Debug, Clone)]
pub struct WebhookSecretStore(Entries<SigningSecrets>);

impl WebhookSecretStore {
    pub(crate) fn new(client: Prewarmed<Client>, prefix: String) -> Self {
        Self(Entries::new(client, prefix))
    }

    fn name(&self, org: &OrgId, webhook: &WebhookId) -> String {
        self.0.name(org, &format!("webhooks/{webhook}"))
    }
}

impl WebhookSecrets for WebhookSecretStore {
    async fn signing_secrets(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        since: Timestamp,
    ) -> Result<Option<SigningSecrets>, Unavailable> {
        let name = self.name(org, webhook);
        match self.0.cache.get(&name).filter(|found| found.created >= since) {
            None => self.0.read(name).await.map_err(unavailable),
            found => Ok(found),
        }
    }

    async fn set_signing_secrets(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        secrets: &SigningSecrets,
    ) -> Result<(), Unavailable> {
        let description = format!("Secret of the webhook {webhook}");
        self.0.write(&self.name(org, webhook), description, secrets).await.map_err(unavailable)
    }
}

fn unavailable(source: Source) -> Unavailable {
    Unavailable { what: "the secrets of webhooks", source }
}
