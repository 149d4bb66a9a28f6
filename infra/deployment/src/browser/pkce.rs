//! Proof Key for Code Exchange (RFC 7636).

use aws_lc_rs::{digest, rand};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::browser::BrowserError;

/// Length of random values, in bytes.
const RANDOM_BYTES: usize = 32;

/// The secret of one sign-in.
pub(super) struct Pkce(String);

impl Pkce {
    pub(super) fn random() -> Result<Self, BrowserError> {
        Ok(Self(random()?))
    }

    /// The secret, which only the token endpoint gets.
    pub(super) fn verifier(&self) -> &str {
        &self.0
    }

    /// The hash of the secret, which the browser carries.
    pub(super) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, self.0.as_bytes()))
    }
}

/// Returns a random text.
pub(super) fn random() -> Result<String, BrowserError> {
    let mut bytes = [0; RANDOM_BYTES];
    rand::fill(&mut bytes).map_err(|_| BrowserError::Random)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    #[test]
    fn challenge_equals_that_of_the_rfc() {
        let pkce = Pkce("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned());
        assert_eq!(pkce.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
