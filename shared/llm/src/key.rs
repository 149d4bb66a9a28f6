//! The provider's API key, which never shows.

use std::fmt;
use std::future::Future;

use agent::model::Error;
use reqwest::header::HeaderValue;

/// An API key. Debug prints nothing of it.
#[derive(Clone, PartialEq, Eq)]
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

    /// The `authorization` header, marked as sensitive so that no client logs it.
    pub(crate) fn header(&self) -> Result<HeaderValue, Error> {
        let header = HeaderValue::try_from(format!("Bearer {}", self.0));
        let mut header = header.map_err(|_| Error::Unauthenticated)?;
        header.set_sensitive(true);
        Ok(header)
    }
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
        let header = key.header().unwrap();
        assert_eq!(header, "Bearer sk-secret");
        assert_eq!(format!("{header:?}"), "Sensitive");
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_refused() {
        assert_eq!(ApiKey::new("a\nb").header(), Err(Error::Unauthenticated));
    }
}
