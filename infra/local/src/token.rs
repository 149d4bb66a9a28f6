//! Bearer tokens: what a Cognito user pool does on AWS, with a secret of this machine.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// How long a token lasts unless told otherwise.
pub const LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);
/// Who the tokens say issued them.
const ISSUER: &str = "local-cloud";
/// For whom they are.
pub(crate) const AUDIENCE: &str = "local-cloud";
/// The file in the data folder that holds the secret.
const SECRET_FILE: &str = "token-secret";
/// A token longer than any header that API Gateway accepts is not looked at.
const MAX_TOKEN_BYTES: usize = 10_240;

/// The names of the claims that the functions are configured with.
pub(crate) mod claim {
    pub(crate) const ORG: &str = "custom:org";
    pub(crate) const ORG_NAME: &str = "custom:org_name";
    pub(crate) const USER: &str = "sub";
    pub(crate) const USER_NAME: &str = "name";
    pub(crate) const OPERATOR: &str = "custom:operator";
}

/// Why a token could not be made, or the secret not be kept.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The secret can neither be read nor written.
    #[error("cannot keep the token secret in {path}")]
    Secret {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Signing failed.
    #[error("cannot sign a token")]
    Sign(#[source] jsonwebtoken::errors::Error),
}

/// Why a token is refused. The messages are what a client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is none.
    #[error("The request has no bearer token: send an Authorization header.")]
    Missing,
    /// It was valid once.
    #[error("The bearer token has expired: get a new one.")]
    Expired,
    /// It is not a token, or not one of ours.
    #[error("The bearer token is not valid.")]
    Invalid,
}

/// Whom a token is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The tenant.
    pub org: String,
    /// The tenant's display name, where it is known.
    pub org_name: Option<String>,
    /// The user, also shown as the user's name.
    pub user: String,
    /// Whether the operator claim is set.
    pub operator: bool,
}

impl Identity {
    /// A user of an org, without the operator claim.
    pub fn user(org: impl Into<String>, user: impl Into<String>) -> Self {
        Self { org: org.into(), org_name: None, user: user.into(), operator: false }
    }
}

/// Signs tokens and checks them.
#[derive(Clone)]
pub struct Tokens {
    encoding: EncodingKey,
    decoding: DecodingKey,
}

impl Tokens {
    /// With a secret that nobody else has and that is never written down.
    pub fn ephemeral() -> Self {
        Self::from_secret(&new_secret())
    }

    /// With the secret of a data folder, made when there is none yet, so that a token made by one
    /// process is good for another.
    ///
    /// # Errors
    /// When the secret can neither be read nor written.
    pub fn of_folder(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(SECRET_FILE);
        match kept_secret(folder, &path) {
            Ok(secret) => Ok(Self::from_secret(&secret)),
            Err(source) => Err(Error::Secret { path: path.display().to_string(), source }),
        }
    }

    fn from_secret(secret: &[u8]) -> Self {
        Self { encoding: EncodingKey::from_secret(secret), decoding: DecodingKey::from_secret(secret) }
    }

    /// A token that is good from now on for [`LIFETIME`].
    ///
    /// # Errors
    /// When signing fails.
    pub fn sign(&self, identity: &Identity) -> Result<String, Error> {
        self.sign_at(identity, SystemTime::now(), LIFETIME)
    }

    /// A token issued at `issued` that expires `lifetime` later; both may lie in the past.
    ///
    /// # Errors
    /// When signing fails.
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
        if identity.operator
            && let Some(claims) = claims.as_object_mut()
        {
            claims.insert(claim::OPERATOR.to_owned(), "true".into());
        }
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding).map_err(Error::Sign)
    }

    /// Checks an Authorization header as a Cognito authorizer does (with or without the word
    /// `Bearer`) and returns the claims as it hands them on: every value a string.
    ///
    /// # Errors
    /// When there is no token, or it is not valid now.
    pub fn verify(&self, authorization: Option<&str>) -> Result<Map<String, Value>, Refused> {
        let token = authorization.map(bearer).unwrap_or_default();
        if token.is_empty() {
            return Err(Refused::Missing);
        }
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Refused::Invalid);
        }
        let mut rules = Validation::new(Algorithm::HS256);
        rules.leeway = 0;
        rules.validate_aud = false;
        rules.set_issuer(&[ISSUER]);
        rules.set_required_spec_claims(&["exp", "iss", "sub"]);
        let verified =
            jsonwebtoken::decode::<Map<String, Value>>(token, &self.decoding, &rules).map_err(|error| {
                match error.kind() {
                    jsonwebtoken::errors::ErrorKind::ExpiredSignature => Refused::Expired,
                    _ => Refused::Invalid,
                }
            })?;
        let claims = verified.claims.into_iter();
        Ok(claims.map(|(name, value)| (name, as_string(value))).collect())
    }
}

fn bearer(header: &str) -> &str {
    let header = header.trim();
    let (scheme, token) = header.split_once(' ').unwrap_or((header, ""));
    if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { header }
}

fn as_string(value: Value) -> Value {
    match value {
        Value::String(_) => value,
        other => Value::String(other.to_string()),
    }
}

/// 244 random bits from the operating system.
fn new_secret() -> Vec<u8> {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()).into_bytes()
}

/// Reads the secret, or makes it: written aside and put in place in one step, so that another
/// process that starts now reads a whole one.
fn kept_secret(folder: &Path, path: &Path) -> std::io::Result<Vec<u8>> {
    if path.exists() {
        return std::fs::read(path);
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&new_secret())?;
    match file.persist_noclobber(path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.error),
    }
    std::fs::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada() -> Identity {
        Identity::user("acme", "ada")
    }

    #[test]
    fn claims_come_out_as_strings() {
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
    fn the_scheme_may_be_left_out() {
        let tokens = Tokens::ephemeral();
        let token = tokens.sign(&ada()).unwrap();
        let claims = tokens.verify(Some(&token)).unwrap();
        assert!(!claims.contains_key("custom:operator"));
    }

    #[test]
    fn no_token_is_missing() {
        let tokens = Tokens::ephemeral();
        assert_eq!(tokens.verify(None), Err(Refused::Missing));
        assert_eq!(tokens.verify(Some("Bearer ")), Err(Refused::Missing));
    }

    #[test]
    fn a_token_of_another_cloud_is_invalid() {
        let token = Tokens::ephemeral().sign(&ada()).unwrap();
        assert_eq!(Tokens::ephemeral().verify(Some(&token)), Err(Refused::Invalid));
    }

    #[test]
    fn an_unsigned_token_is_invalid() {
        let unsigned =
            "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEiLCJpc3MiOiJsb2NhbC1jbG91ZCIsImV4cCI6OTk5OTk5OTk5OX0.";
        assert_eq!(Tokens::ephemeral().verify(Some(unsigned)), Err(Refused::Invalid));
    }

    #[test]
    fn an_old_token_is_expired() {
        let tokens = Tokens::ephemeral();
        let issued = SystemTime::now() - Duration::from_secs(120);
        let token = tokens.sign_at(&ada(), issued, Duration::from_secs(60)).unwrap();
        assert_eq!(tokens.verify(Some(&token)), Err(Refused::Expired));
    }

    #[test]
    fn a_folder_keeps_its_secret() {
        let folder = tempfile::tempdir().unwrap();
        let token = Tokens::of_folder(folder.path()).unwrap().sign(&ada()).unwrap();
        assert!(Tokens::of_folder(folder.path()).unwrap().verify(Some(&token)).is_ok());
    }
}
