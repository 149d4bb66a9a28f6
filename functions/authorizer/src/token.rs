//! A token against a key: who signed it, when, and what kind of token it is. No I/O.

use std::time::Duration;

use jsonwebtoken::{
    Algorithm, DecodingKey, Header, Validation, decode, decode_header, errors,
    jwk::{Jwk, PublicKeyUse},
};
use serde_json::{Map, Value};
use settings::Env;

use crate::keys::NoKey;

/// No longer one is looked at: API Gateway takes headers of 10,240 bytes in all.
const MOST_TOKEN_BYTES: usize = 10_240;

/// Signatures that a public key checks. A secret that both sides share (`HS…`) would have to be given to us, and who
/// takes such a token with a public key as its secret has been fooled.
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

/// The types of a token in its header: of an ID token, and of an access token (RFC 9068).
const TYPES: &[&str] = &["jwt", "at+jwt", "application/at+jwt"];
/// The types that some providers claim: `Refresh`, `Offline` and `Logout` are others.
const CLAIMED_TYPES: &[&str] = &["ID", "Bearer", "JWT"];

/// Why a token does not count. Names nothing of the token's contents.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// There is none.
    #[error("the request has no bearer token")]
    Missing,
    /// It is longer than a header.
    #[error("the token is too long")]
    TooLong,
    /// The signature, the issuer or a time is wrong.
    #[error("the token is not valid")]
    Invalid(#[from] errors::Error),
    /// It is signed in a way that is not accepted.
    #[error("the token's algorithm is none that is accepted with its key")]
    Algorithm,
    /// It is no ID or access token.
    #[error("the token is neither an ID token nor an access token")]
    Type,
    /// It is not for us.
    #[error("{0}")]
    Claims(String),
    /// There is no key for its signature.
    #[error(transparent)]
    NoKey(#[from] NoKey),
}

/// Whose tokens count.
#[derive(Debug)]
pub(crate) struct Rules {
    /// `iss`, to the letter.
    pub(crate) issuer: String,
    /// How far the issuer's clock may be from ours.
    pub(crate) skew: Duration,
}

impl Rules {
    pub(crate) fn read(env: &mut Env) -> Self {
        Self { issuer: env.read(&settings::OIDC_ISSUER), skew: env.read(&settings::OIDC_CLOCK_SKEW_SECONDS) }
    }

    /// The claims of a token that this key signed and that counts now. Its audience is another's to check.
    pub(crate) fn verify(
        &self,
        token: &str,
        header: &Header,
        key: &Jwk,
    ) -> Result<Map<String, Value>, Refused> {
        if !fits(header.alg, key) {
            return Err(Refused::Algorithm);
        }
        let typ = header.typ.as_deref().unwrap_or("jwt").to_ascii_lowercase();
        if !TYPES.contains(&typ.as_str()) {
            return Err(Refused::Type);
        }
        let mut rules = Validation::new(header.alg);
        rules.set_issuer(&[&self.issuer]);
        rules.set_required_spec_claims(&["exp", "iss", "sub"]);
        rules.leeway = self.skew.as_secs();
        rules.validate_nbf = true;
        rules.validate_aud = false;
        let claims: Map<String, Value> = decode(token, &DecodingKey::from_jwk(key)?, &rules)?.claims;
        match claims.get("typ").and_then(Value::as_str) {
            Some(typ) if !CLAIMED_TYPES.contains(&typ) => Err(Refused::Type),
            _ => Ok(claims),
        }
    }
}

/// The token of an Authorization header; the word `Bearer` may be left out, as a user pool's authorizer has it.
pub(crate) fn bearer(header: &str) -> &str {
    let header = header.trim();
    match header.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => header,
    }
}

/// What a token says of its own signature.
pub(crate) fn header(token: &str) -> Result<Header, Refused> {
    match token.len() {
        0 => Err(Refused::Missing),
        length if length > MOST_TOKEN_BYTES => Err(Refused::TooLong),
        _ => Ok(decode_header(token)?),
    }
}

/// Whether a key may check such a signature.
fn fits(algorithm: Algorithm, key: &Jwk) -> bool {
    let named = key.common.key_algorithm.map(|named| named.to_string());
    let signs = !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption));
    signs && ALGORITHMS.contains(&algorithm) && named.is_none_or(|named| named == format!("{algorithm:?}"))
}
