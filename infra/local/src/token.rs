//! Bearer tokens, signed with a secret of this machine in place of a Cognito user pool.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, errors::ErrorKind};
use serde_json::{Map, Value, json};

use crate::secret;

/// Default lifetime of a token.
pub const LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);
/// `iss` claim of the tokens.
const ISSUER: &str = "local-cloud";
/// `aud` claim of the tokens.
pub(crate) const AUDIENCE: &str = "local-cloud";
/// File in the data folder that holds the secret.
const SECRET_FILE: &str = "token-secret";
/// Longest token that is checked, in bytes: API Gateway accepts no longer header.
const MAX_TOKEN_BYTES: usize = 10_240;

/// Names of the claims that the functions are configured with.
pub(crate) mod claim {
    pub(crate) const ORG: &str = "custom:org";
    pub(crate) const ORG_NAME: &str = "custom:org_name";
    pub(crate) const USER: &str = "sub";
    pub(crate) const USER_NAME: &str = "name";
    pub(crate) const OPERATOR: &str = "custom:operator";
    pub(crate) const AGENT_EDITOR: &str = "custom:agent_editor";
}

/// A failure to sign a token, or to read or write the secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The secret can't be read or written, or is too short.
    #[error(transparent)]
    Secret(#[from] secret::Error),
    /// Signing failed.
    #[error("Can't sign a token")]
    Sign(#[source] jsonwebtoken::errors::Error),
}

/// Reason for which a token is rejected. Clients see these messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The request has no token.
    #[error("The request has no bearer token: send an Authorization header.")]
    Missing,
    /// The token has expired.
    #[error("The bearer token has expired: get a new one.")]
    Expired,
    /// The token becomes valid later, or was issued in the future.
    #[error("The bearer token is not valid yet: check the clock of the machine that issued it.")]
    NotYetValid,
    /// The token is malformed or was issued by somebody else.
    #[error("The bearer token is not valid.")]
    Invalid,
}

/// Identity that a token is issued for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The tenant.
    pub org: String,
    /// The tenant's display name, if known.
    pub org_name: Option<String>,
    /// The user; also used as the display name.
    pub user: String,
    /// True if the operator claim is set.
    pub operator: bool,
    /// True if the agent editor claim is set.
    pub agent_editor: bool,
}

impl Identity {
    /// Returns a user of an org, without a role.
    pub fn user(org: impl Into<String>, user: impl Into<String>) -> Self {
        Self { org: org.into(), org_name: None, user: user.into(), operator: false, agent_editor: false }
    }
}

/// Signs and verifies tokens.
#[derive(Clone)]
pub struct Tokens {
    encoding: EncodingKey,
    decoding: DecodingKey,
}

impl Tokens {
    /// Creates tokens with a random secret that is never written to disk.
    pub fn ephemeral() -> Self {
        Self::from_secret(&secret::random())
    }

    /// Creates tokens with the secret of a data folder, which is generated if missing. A token signed by one process
    /// is valid for every other process on that folder.
    ///
    /// # Errors
    /// Fails if the secret can't be read or written, or if it is too short.
    pub fn from_folder(folder: &Path) -> Result<Self, Error> {
        Ok(Self::from_secret(&secret::read_or_create(folder, SECRET_FILE)?))
    }

    fn from_secret(secret: &str) -> Self {
        let secret = secret.as_bytes();
        Self { encoding: EncodingKey::from_secret(secret), decoding: DecodingKey::from_secret(secret) }
    }

    /// Signs a token that is valid for [`LIFETIME`] from now on.
    ///
    /// # Errors
    /// Fails if signing fails.
    pub fn sign(&self, identity: &Identity) -> Result<String, Error> {
        self.sign_at(identity, SystemTime::now(), LIFETIME)
    }

    /// Signs a token issued at `issued` that expires `lifetime` later. Both may lie in the past.
    ///
    /// # Errors
    /// Fails if signing fails.
    pub fn sign_at(
        &self,
        identity: &Identity,
        issued: SystemTime,
        lifetime: Duration,
    ) -> Result<String, Error> {
        let issued = issued.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut claims = json!({
            "iss": ISSUER,
            "iat": issued.as_secs(),
            "aud": AUDIENCE,
            "token_use": "id",
            "exp": issued.saturating_add(lifetime).as_secs(),
            (claim::USER): identity.user,
            (claim::USER_NAME): identity.user,
            (claim::ORG): identity.org,
        });
        if let (Some(name), Some(claims)) = (&identity.org_name, claims.as_object_mut()) {
            claims.insert(claim::ORG_NAME.to_owned(), name.as_str().into());
        }
        let roles = [(claim::OPERATOR, identity.operator), (claim::AGENT_EDITOR, identity.agent_editor)];
        if let Some(claims) = claims.as_object_mut() {
            let held = roles.into_iter().filter(|(_, has_role)| *has_role);
            claims.extend(held.map(|(name, _)| (name.to_owned(), "true".into())));
        }
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding).map_err(Error::Sign)
    }

    /// Verifies an Authorization header as a Cognito authorizer does, with or without the word `Bearer`. Returns the
    /// claims as the authorizer passes them on: every value is a string.
    ///
    /// # Errors
    /// Fails if there is no token, or if it is not valid now.
    pub fn verify(&self, authorization: Option<&str>) -> Result<Map<String, Value>, Rejection> {
        let token = authorization.map(bearer).unwrap_or_default();
        if token.is_empty() {
            return Err(Rejection::Missing);
        }
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Rejection::Invalid);
        }
        let mut rules = Validation::new(Algorithm::HS256);
        rules.leeway = 0;
        rules.validate_nbf = true;
        rules.validate_aud = false;
        rules.set_issuer(&[ISSUER]);
        rules.set_required_spec_claims(&["exp", "iss", "sub"]);
        let verified =
            jsonwebtoken::decode::<Map<String, Value>>(token, &self.decoding, &rules).map_err(|error| {
                match error.kind() {
                    ErrorKind::ExpiredSignature => Rejection::Expired,
                    ErrorKind::ImmatureSignature => Rejection::NotYetValid,
                    _ => Rejection::Invalid,
                }
            })?;
        if !authorizer::is_issued_by_now(&verified.claims, rules.leeway) {
            return Err(Rejection::NotYetValid);
        }
        let claims = verified.claims.into_iter();
        Ok(claims.map(|(name, value)| (name, to_string_value(value))).collect())
    }
}

fn bearer(header: &str) -> &str {
    let header = header.trim();
    let (scheme, token) = header.split_once(' ').unwrap_or((header, ""));
    if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { header }
}

fn to_string_value(value: Value) -> Value {
    match value {
        Value::String(_) => value,
        other => Value::String(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada() -> Identity {
        Identity::user("acme", "ada")
    }

    #[test]
    fn verified_claims_are_strings() {
        let tokens = Tokens::ephemeral();
        let token = tokens.sign(&Identity { operator: true, ..ada() }).unwrap();
        let claims = tokens.verify(Some(&format!("Bearer {token}"))).unwrap();
        assert_eq!(claims["sub"], "ada");
        assert_eq!(claims["name"], "ada");
        assert_eq!(claims["custom:org"], "acme");
        assert_eq!(claims["custom:operator"], "true");
        assert!(claims["exp"].is_string());
    }

    #[test]
    fn scheme_is_optional() {
        let tokens = Tokens::ephemeral();
        let token = tokens.sign(&ada()).unwrap();
        let claims = tokens.verify(Some(&token)).unwrap();
        assert!(!claims.contains_key("custom:operator"));
    }

    #[test]
    fn absent_token_is_missing() {
        let tokens = Tokens::ephemeral();
        assert_eq!(tokens.verify(None), Err(Rejection::Missing));
        assert_eq!(tokens.verify(Some("Bearer ")), Err(Rejection::Missing));
    }

    #[test]
    fn token_of_another_cloud_is_invalid() {
        let token = Tokens::ephemeral().sign(&ada()).unwrap();
        assert_eq!(Tokens::ephemeral().verify(Some(&token)), Err(Rejection::Invalid));
    }

    #[test]
    fn unsigned_token_is_invalid() {
        let unsigned =
            "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEiLCJpc3MiOiJsb2NhbC1jbG91ZCIsImV4cCI6OTk5OTk5OTk5OX0.";
        assert_eq!(Tokens::ephemeral().verify(Some(unsigned)), Err(Rejection::Invalid));
    }

    #[test]
    fn old_token_is_expired() {
        let tokens = Tokens::ephemeral();
        let issued = SystemTime::now() - Duration::from_secs(120);
        let token = tokens.sign_at(&ada(), issued, Duration::from_secs(60)).unwrap();
        assert_eq!(tokens.verify(Some(&token)), Err(Rejection::Expired));
    }

    #[test]
    fn early_token_is_not_valid_yet() {
        let tokens = Tokens::ephemeral();
        let verify = |times: Value| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
            let mut claims = json!({"iss": ISSUER, "sub": "ada", "exp": now + 600});
            let times = times.as_object().unwrap().iter();
            let times = times.map(|(name, ahead)| {
                (
                    name.clone(),
                    ahead.as_i64().map_or(ahead.clone(), |ahead| json!(now.saturating_add_signed(ahead))),
                )
            });
            claims.as_object_mut().unwrap().extend(times);
            let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &tokens.encoding);
            tokens.verify(Some(&token.unwrap())).map(drop)
        };
        assert_eq!(verify(json!({"nbf": -5, "iat": -5})), Ok(()));
        assert_eq!(verify(json!({})), Ok(()));
        assert_eq!(verify(json!({"nbf": 60})), Err(Rejection::NotYetValid));
        assert_eq!(verify(json!({"iat": 60})), Err(Rejection::NotYetValid));
        assert!(verify(json!({"nbf": "soon"})).is_err() && verify(json!({"iat": "soon"})).is_err());
    }

    #[test]
    fn secret_survives_reopening_folder() {
        let folder = tempfile::tempdir().unwrap();
        let token = Tokens::from_folder(folder.path()).unwrap().sign(&ada()).unwrap();
        assert!(Tokens::from_folder(folder.path()).unwrap().verify(Some(&token)).is_ok());
    }
}
