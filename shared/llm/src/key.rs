//! The provider's API key, which is never printed.

use std::fmt;
use std::future::Future;

use agent::model::Error;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

/// An API key. `Debug` hides its value.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Creates a key. Trims surrounding white space.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// Returns the key itself, for a client that builds its own header. Don't use it for anything else.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the header with the key, marked as sensitive so that no client logs it. `None` if the provider needs no
    /// key.
    pub(crate) fn header(&self, location: &KeyLocation) -> Result<Option<(HeaderName, HeaderValue)>, Error> {
        let (name, value) = match location {
            KeyLocation::Absent => return Ok(None),
            KeyLocation::Bearer => (AUTHORIZATION, format!("Bearer {}", self.0)),
            KeyLocation::Header(name) => (name.clone(), self.0.clone()),
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
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(…)")
    }
}

/// A source of API keys. An [`ApiKey`] is its own source. A secret store is another: it caches the key and fetches it
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
    fn key_with_invalid_header_bytes_is_rejected() {
        assert_eq!(ApiKey::new("a\nb").header(&KeyLocation::Bearer), Err(Error::Unauthenticated));
    }
}
