//! The provider's API key or AWS credentials, which are never printed.

use std::fmt;
use std::future::Future;
use std::time::SystemTime;

use agent::model::Error;
use aws_credential_types::Credentials;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use crate::signing_scope::SigningScope;

/// An API key, or the AWS credentials that take its place. `Debug` hides its value.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Secret);

#[derive(Clone, PartialEq, Eq)]
enum Secret {
    Text(String),
    Aws(Credentials),
}

impl ApiKey {
    /// Creates a key. Trims surrounding white space.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(Secret::Text(key.as_ref().trim().to_owned()))
    }

    /// Returns the key itself, for a client that builds its own header, or the empty text for AWS credentials. Don't use
    /// it for anything else.
    pub fn reveal(&self) -> &str {
        match &self.0 {
            Secret::Text(key) => key,
            Secret::Aws(_) => "",
        }
    }

    /// Returns the texts that must not be shown.
    pub(crate) fn secrets(&self) -> Vec<&str> {
        match &self.0 {
            Secret::Text(key) => vec![key],
            Secret::Aws(credentials) => [Some(credentials.secret_access_key()), credentials.session_token()]
                .into_iter()
                .flatten()
                .collect(),
        }
    }

    /// Returns the AWS credentials. `None` for an API key.
    pub fn aws_credentials(&self) -> Option<&Credentials> {
        match &self.0 {
            Secret::Text(_) => None,
            Secret::Aws(credentials) => Some(credentials),
        }
    }

    /// Returns the time at which the AWS credentials expire. `None` for an API key, and for credentials that outlive the
    /// process.
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.aws_credentials().and_then(Credentials::expiry)
    }

    /// Returns the header with the key, marked as sensitive so that no client logs it. `None` if the provider needs no
    /// key.
    pub(crate) fn header(&self, location: &KeyLocation) -> Result<Option<(HeaderName, HeaderValue)>, Error> {
        let (name, value) = match location {
            KeyLocation::Absent | KeyLocation::Signature(_) => return Ok(None),
            KeyLocation::Bearer => (AUTHORIZATION, format!("Bearer {}", self.reveal())),
            KeyLocation::Header(name) => (name.clone(), self.reveal().to_owned()),
        };
        let mut value = HeaderValue::try_from(value).map_err(|_| Error::Unauthenticated)?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}

/// The place of the key in a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeyLocation {
    /// `Authorization: Bearer …`.
    #[default]
    Bearer,
    /// A provider-specific header, such as `api-key`.
    Header(HeaderName),
    /// The provider needs no key.
    Absent,
    /// A signature with AWS credentials, which the module `auth` adds.
    Signature(SigningScope),
}

impl Default for ApiKey {
    fn default() -> Self {
        Self::new("")
    }
}

impl From<Credentials> for ApiKey {
    fn from(credentials: Credentials) -> Self {
        Self(Secret::Aws(credentials))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(…)")
    }
}

/// A source of API keys or AWS credentials. An [`ApiKey`] is its own source. A secret store is another: it caches the key and fetches it
/// again when the provider rejects it.
pub trait KeySource: Send + Sync {
    /// Returns the key to use. `rejected` is the key to which the provider just answered 401, if any. If the same key
    /// comes back, the call fails.
    ///
    /// # Errors
    ///
    /// The error that the model call ends with if no key is available.
    fn key(&self, rejected: Option<&ApiKey>) -> impl Future<Output = Result<ApiKey, Error>> + Send;
}

impl KeySource for ApiKey {
    async fn key(&self, _rejected: Option<&ApiKey>) -> Result<ApiKey, Error> {
        Ok(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_key_is_never_printed() {
        let key = ApiKey::new(" sk-secret\n");
        assert_eq!(format!("{key:?}"), "ApiKey(…)");
        for (location, expected) in [
            (KeyLocation::Bearer, ("authorization", "Bearer sk-secret")),
            (KeyLocation::Header(HeaderName::from_static("api-key")), ("api-key", "sk-secret")),
        ] {
            let (name, value) = key.header(&location).unwrap().unwrap();
            assert_eq!((name.as_str(), value.to_str().unwrap()), expected);
            assert_eq!(format!("{value:?}"), "Sensitive");
        }
        assert_eq!(key.header(&KeyLocation::Absent), Ok(None));
    }

    #[test]
    fn aws_credentials_are_never_printed_and_never_a_header() {
        let key = ApiKey::from(Credentials::new("AKID", "secret", Some("token".to_owned()), None, "test"));
        assert_eq!((format!("{key:?}"), key.reveal(), key.expires_at()), ("ApiKey(…)".to_owned(), "", None));
        let scope = SigningScope::new("bedrock", "us-east-1").unwrap();
        assert_eq!(key.header(&KeyLocation::Signature(scope)), Ok(None));
    }

    #[test]
    fn key_with_invalid_header_bytes_is_rejected() {
        assert_eq!(ApiKey::new("a\nb").header(&KeyLocation::Bearer), Err(Error::Unauthenticated));
    }
}
