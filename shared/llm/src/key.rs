//! The provider's API key, which never shows.

use std::fmt;
use std::future::Future;

use agent::model::Error;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

/// An API key. Debug prints nothing of it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// A key as the provider issued it; white space around it is dropped.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// The key itself, for a client that makes its own header. Nothing else is done with it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The header that carries it, marked as sensitive so that no client logs it; none where no key is asked for.
    pub(crate) fn header(&self, place: &KeyPlace) -> Result<Option<(HeaderName, HeaderValue)>, Error> {
        let (name, value) = match place {
            KeyPlace::Nowhere => return Ok(None),
            KeyPlace::Bearer => (AUTHORIZATION, format!("Bearer {}", self.0)),
            KeyPlace::Header(name) => (name.clone(), self.0.clone()),
        };
        let mut value = HeaderValue::try_from(value).map_err(|_| Error::Unauthenticated)?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}

/// Where a request carries the key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeyPlace {
    /// `Authorization: Bearer …`.
    #[default]
    Bearer,
    /// A header of the provider's own, such as `api-key`.
    Header(HeaderName),
    /// The provider asks for none.
    Nowhere,
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(…)")
    }
}

/// Where the client gets its key. An [`ApiKey`] is its own source; a store of secrets can be another,
/// which caches the key and fetches it anew when the provider refuses it.
pub trait Keys: Send + Sync {
    /// The key to use. `refused` is the one that the provider just answered with 401, if any; when the
    /// same key comes back, the refusal stands.
    ///
    /// # Errors
    ///
    /// What the model call ends with when there is no key to be had.
    fn key(&self, refused: Option<&ApiKey>) -> impl Future<Output = Result<ApiKey, Error>> + Send;
}

impl Keys for ApiKey {
    async fn key(&self, _refused: Option<&ApiKey>) -> Result<ApiKey, Error> {
        Ok(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_shows() {
        let key = ApiKey::new(" sk-secret\n");
        assert_eq!(format!("{key:?}"), "ApiKey(…)");
        for (place, expected) in [
            (KeyPlace::Bearer, ("authorization", "Bearer sk-secret")),
            (KeyPlace::Header(HeaderName::from_static("api-key")), ("api-key", "sk-secret")),
        ] {
            let (name, value) = key.header(&place).unwrap().unwrap();
            assert_eq!((name.as_str(), value.to_str().unwrap()), expected);
            assert_eq!(format!("{value:?}"), "Sensitive");
        }
        assert_eq!(key.header(&KeyPlace::Nowhere), Ok(None));
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_refused() {
        assert_eq!(ApiKey::new("a\nb").header(&KeyPlace::Bearer), Err(Error::Unauthenticated));
    }
}
