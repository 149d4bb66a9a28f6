//! Secrets, read when they are needed, so that none stands in a function's environment.

use aws_sdk_secretsmanager::Client;
use turns::ports::Unavailable;

use crate::{Ahead, failure};

/// Secrets Manager.
#[derive(Debug, Clone)]
pub struct Secrets {
    client: Ahead<Client>,
}

impl Secrets {
    /// The secrets that the function's role may read.
    #[must_use]
    pub fn new(client: impl Into<Ahead<Client>>) -> Self {
        Self { client: client.into() }
    }

    /// A secret's current text.
    ///
    /// # Errors
    /// When it can't be read, or is not text.
    pub async fn text(&self, id: &str) -> Result<String, Unavailable> {
        let unavailable = |source| Unavailable { what: "the secret", source };
        let got = self.client.get_secret_value().secret_id(id).send().await;
        let got = got.map_err(|error| unavailable(failure::cause(error)))?;
        got.secret_string.ok_or_else(|| unavailable("it holds no text".into()))
    }
}
