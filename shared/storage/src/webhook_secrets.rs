//! The secrets of webhooks, each an entry of its own in Secrets Manager.

use std::time::{Duration, Instant};

use aws_sdk_secretsmanager::{Client, error::ProvideErrorMetadata};
use contracts::{
    Fingerprint, Timestamp,
    error::JsonError,
    id::{OrgId, WebhookId},
};
use turns::ports::{SigningSecrets, Unavailable, WebhookSecrets};

use crate::{Prewarmed, failure, table::ttl_cache::TtlCache};

/// The most time that cached secrets may be stale.
const TTL: Duration = Duration::from_secs(60);
/// The most secrets to cache.
const MAX_ENTRIES: usize = 1_000;
/// The name of the secrets in errors.
const RESOURCE: &str = "the secrets of webhooks";

/// Adapter for the secrets of webhooks in Secrets Manager. Their names begin as those of connections.
#[derive(Clone)]
pub struct WebhookSecretStore {
    client: Prewarmed<Client>,
    prefix: String,
    cache: TtlCache<String, SigningSecrets>,
}

impl WebhookSecretStore {
    pub(crate) fn new(client: Prewarmed<Client>, prefix: String) -> Self {
        Self { client, prefix, cache: TtlCache::new(TTL, MAX_ENTRIES) }
    }

    /// Returns the name of a secret. An org's id may have characters that names can't have, so it is hashed.
    fn name(&self, org: &OrgId, webhook: &WebhookId) -> String {
        let mut hash = Fingerprint::hash_bytes(org.as_str().as_bytes()).to_string();
        hash.truncate(32);
        format!("{}{hash}/webhooks/{webhook}", self.prefix)
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
        if let Some(found) = self.cache.get(&name).filter(|found| found.created >= since) {
            return Ok(Some(found));
        }
        let began = Instant::now();
        let unavailable = |source| Unavailable { what: RESOURCE, source };
        let found = match self.client.get_secret_value().secret_id(&name).send().await {
            Ok(found) => found.secret_string,
            Err(error) if error.code() == Some("ResourceNotFoundException") => None,
            Err(error) => return Err(unavailable(failure::cause(error))),
        };
        // The parser's own error would show the secret.
        let parse = |text: &str| {
            serde_json::from_str::<SigningSecrets>(text).map_err(|error| JsonError::from(&error))
        };
        let found = found.as_deref().map(parse).transpose().map_err(|error| unavailable(error.into()))?;
        if let Some(found) = &found {
            self.cache.put(name, found.clone(), began);
        }
        Ok(found)
    }

    async fn set_signing_secrets(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        secrets: &SigningSecrets,
    ) -> Result<(), Unavailable> {
        let name = self.name(org, webhook);
        let unavailable = |source| Unavailable { what: RESOURCE, source };
        let value = serde_json::to_string(secrets).map_err(|error| unavailable(error.into()))?;
        let put = || self.client.put_secret_value().secret_id(&name).secret_string(&value).send();
        let written = match put().await {
            Err(error) if error.code() == Some("ResourceNotFoundException") => {
                let description = format!("Secret of the webhook {webhook}");
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
        written.map_err(unavailable)
    }
}

/// Hides the cached secrets.
impl std::fmt::Debug for WebhookSecretStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookSecretStore").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
