//! Secrets, read on demand, so that a function's environment contains none.

use aws_sdk_secretsmanager::Client;
use turns::ports::Unavailable;

use crate::{Prewarmed, failure};

/// The secrets in Secrets Manager.
#[derive(Debug, Clone)]
pub struct Secrets {
    client: Prewarmed<Client>,
}

impl Secrets {
    /// Creates an adapter for the secrets that the function's role may read.
    #[must_use]
    pub fn new(client: impl Into<Prewarmed<Client>>) -> Self {
        Self { client: client.into() }
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
