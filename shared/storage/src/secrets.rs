//! Secrets, read on demand, so that a function's environment contains none.

use aws_credential_types::{
    Credentials,
    provider::{ProvideCredentials, SharedCredentialsProvider},
};
use aws_sdk_secretsmanager::Client;
use turns::ports::Unavailable;

use crate::{ConnectionSecretStore, Prewarmed, WebhookSecretStore, failure};

/// The secrets in Secrets Manager, and the AWS credentials for requests that the SDK doesn't send.
#[derive(Debug, Clone)]
pub struct Secrets {
    client: Prewarmed<Client>,
    credentials: Option<SharedCredentialsProvider>,
}

impl Secrets {
    /// Creates an adapter for the secrets that the function's role may read.
    #[must_use]
    pub fn new(client: impl Into<Prewarmed<Client>>) -> Self {
        Self { client: client.into(), credentials: None }
    }

    /// Adds the provider of AWS credentials.
    #[must_use]
    pub fn with_credentials(self, credentials: Option<SharedCredentialsProvider>) -> Self {
        Self { credentials, ..self }
    }

    /// Returns the secrets of connections, whose names begin with the prefix.
    #[must_use]
    pub fn of_connections(&self, prefix: String) -> ConnectionSecretStore {
        ConnectionSecretStore::new(self.client.clone(), prefix)
    }

    /// Returns the secrets of webhooks, whose names begin with the prefix of connections.
    #[must_use]
    pub fn of_webhooks(&self, prefix: String) -> WebhookSecretStore {
        WebhookSecretStore::new(self.client.clone(), prefix)
    }

    /// Returns the current AWS credentials, from the function's role or a developer's profile.
    ///
    /// # Errors
    /// Fails if there are none.
    pub async fn aws_credentials(&self) -> Result<Credentials, Unavailable> {
        let unavailable = |source| Unavailable { what: "the AWS credentials", source };
        let provider = self.credentials.as_ref().ok_or_else(|| unavailable("none are configured".into()))?;
        provider.provide_credentials().await.map_err(|error| unavailable(error.into()))
    }

    /// Returns the current text of a secret.
    ///
    /// # Errors
    /// Fails if the secret can't be read or isn't text.
    pub async fn text(&self, id: &str) -> Result<String, Unavailable> {
        let unavailable = |source| Unavailable { what: "the secret", source };
        let got = self.client.get_secret_value().secret_id(id).send().await;
        let got = got.map_err(|error| unavailable(failure::cause(error)))?;
        got.secret_string.ok_or_else(|| unavailable("it holds no text".into()))
    }
}
