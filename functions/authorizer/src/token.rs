//! Verifies a token with a key: its signature, issuer, times and type. No I/O.

use std::time::Duration;

use jsonwebtoken::{
    Algorithm, DecodingKey, Header, Validation, decode, decode_header, errors, get_current_timestamp,
    jwk::{Jwk, PublicKeyUse},
};
use serde_json::{Map, Value};
use settings::Env;

use crate::keys::KeyError;

/// The most bytes of a token. API Gateway accepts 10,240 bytes of headers in total.
const MAX_TOKEN_BYTES: usize = 10_240;

/// The accepted signature algorithms, all asymmetric. Symmetric ones (`HS…`) would need a shared secret, and accepting
/// them would let an attacker sign with the public key as the secret.
const ALGORITHMS: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// The accepted `typ` headers: of ID tokens, and of access tokens (RFC 9068).
const TYPES: &[&str] = &["jwt", "at+jwt", "application/at+jwt"];
/// The accepted `typ` claims of some providers. Others are `Refresh`, `Offline` and `Logout`.
const CLAIMED_TYPES: &[&str] = &["ID", "Bearer", "JWT"];

/// An invalid token. The messages contain nothing of the token.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    /// The token is missing.
    #[error("the request has no bearer token")]
    Missing,
    /// The token is longer than the header limit.
    #[error("the token is too long")]
    TooLong,
    /// The signature, the issuer or a time is invalid.
    #[error("the token is not valid")]
    Invalid(#[from] errors::Error),
    /// The token was issued in the future.
    #[error("the token was issued in the future")]
    IssuedLater,
    /// The signature algorithm is not accepted.
    #[error("the token's signature algorithm is not accepted for its key")]
    Algorithm,
    /// The token has a critical header parameter (RFC 7515 §4.1.11). None is supported.
    #[error("the token has a critical header parameter that is not supported")]
    Critical,
    /// The token is neither an ID token nor an access token.
    #[error("the token is neither an ID token nor an access token")]
    Type,
    /// The token has a different audience.
    #[error("{0}")]
    Claims(String),
    /// There is no key for the signature.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The rules for valid tokens.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The exact value of `iss`.
    pub(crate) issuer: String,
    /// The tolerated difference between the issuer's clock and ours.
    pub(crate) clock_skew: Duration,
}

impl Rules {
    pub(crate) fn read(env: &mut Env) -> Self {
        Self {
            issuer: env.read(&settings::OIDC_ISSUER),
            clock_skew: env.read(&settings::OIDC_CLOCK_SKEW_SECONDS),
        }
    }

    /// Verifies a token with a key and returns its claims. The caller checks the audience.
    pub(crate) fn verify(
        &self,
        token: &str,
        header: &Header,
        key: &Jwk,
    ) -> Result<Map<String, Value>, TokenError> {
        if !supports(header.alg, key) {
            return Err(TokenError::Algorithm);
        }
        let typ = header.typ.as_deref().unwrap_or("jwt").to_ascii_lowercase();
        if !TYPES.contains(&typ.as_str()) {
            return Err(TokenError::Type);
        }
        let mut rules = Validation::new(header.alg);
        rules.set_issuer(&[&self.issuer]);
        rules.set_required_spec_claims(&["exp", "iss", "sub"]);
        rules.leeway = self.clock_skew.as_secs();
        rules.validate_nbf = true;
        rules.validate_aud = false;
        let claims: Map<String, Value> = decode(token, &DecodingKey::from_jwk(key)?, &rules)?.claims;
        if !is_issued_by_now(&claims, rules.leeway) {
            return Err(TokenError::IssuedLater);
        }
        match claims.get("typ").and_then(Value::as_str) {
            Some(typ) if !CLAIMED_TYPES.contains(&typ) => Err(TokenError::Type),
            _ => Ok(claims),
        }
    }
}

/// True if the time in `iat` has come, with a tolerance in seconds, or if there is no such claim. False for an `iat` that
/// is no time. `jsonwebtoken` checks `exp` and `nbf` alone.
#[must_use]
pub fn is_issued_by_now(claims: &Map<String, Value>, leeway: u64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "seconds of these millennia are exact")]
    let latest = get_current_timestamp().saturating_add(leeway) as f64;
    match claims.get("iat") {
        None | Some(Value::Null) => true,
        Some(issued) => issued.as_f64().is_some_and(|issued| issued <= latest),
    }
}

/// Returns the token of an Authorization header. `Bearer` is optional, as with a Cognito user pool's authorizer.
pub(crate) fn bearer(header: &str) -> &str {
    let header = header.trim();
    match header.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => header,
    }
}

/// Decodes the header of a token.
pub(crate) fn header(token: &str) -> Result<Header, TokenError> {
    match token.len() {
        0 => Err(TokenError::Missing),
        length if length > MAX_TOKEN_BYTES => Err(TokenError::TooLong),
        _ => {
            let header = decode_header(token)?;
            if header.crit.is_some() { Err(TokenError::Critical) } else { Ok(header) }
        }
    }
}

/// True if the key may verify signatures with this algorithm.
fn supports(algorithm: Algorithm, key: &Jwk) -> bool {
    let named = key.common.key_algorithm.map(|named| named.to_string());
    let signs = !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption));
    signs && ALGORITHMS.contains(&algorithm) && named.is_none_or(|named| named == format!("{algorithm:?}"))
}
