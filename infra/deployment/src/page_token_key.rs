//! Rotation of the key that encrypts page tokens and derives ids of requests: the secret of the stack gets a new key in
//! front of its current one.
//!
//! The functions get the keys with their deployment, since a read of the secret would delay each cold start
//! (docs/internals/decisions/0016-page-tokens.md). The first key seals and derives, all of them open and find.

use aws_lc_rs::rand;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::aws::{Aws, AwsError};
use crate::stack::Stack;

/// The secret in the template.
const SECRET: &str = "PageTokenKey";
/// The function in the template that reads the keys.
const FUNCTION: &str = "SessionReadFunction";
/// The alias of the function's deployed version.
const ALIAS: &str = "current";
/// The setting that holds the keys.
const SETTING: &str = "PAGE_TOKEN_KEY";
/// Separates the keys. No key contains it.
const SEPARATOR: char = ',';
/// Length of a key in bytes.
const KEY_BYTES: usize = 32;

/// A rotation that was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    /// AWS can't be reached or refuses a request.
    #[error(transparent)]
    Aws(#[from] AwsError),
    /// The deployed function doesn't use the current secret. A second key in front of it would invalidate its tokens.
    #[error(
        "The stack {stack:?} doesn't use its current key for page tokens yet. Deploy it first: \
         sam deploy --stack-name {stack} --parameter-overrides Revision=VALUE"
    )]
    NotDeployed {
        /// The stack's name.
        stack: String,
    },
    /// The secret has no text.
    #[error("The secret {0} has no key. Store one with `aws secretsmanager put-secret-value`.")]
    NoKey(String),
    /// The system has no randomness.
    #[error("Can't generate a key")]
    NoRandomness,
}

/// Puts a new key in front of the current one, and drops older ones. The stack uses it from its next deployment on.
///
/// # Errors
/// Fails if the stack doesn't use the current secret yet, or if AWS can't be asked.
pub async fn rotate(aws: &Aws, stack: &Stack) -> Result<(), RotationError> {
    let secret = stack.resource(aws, SECRET).await?;
    let function = stack.resource(aws, FUNCTION).await?;
    let stored =
        aws.json("secretsmanager", "secretsmanager.GetSecretValue", &json!({"SecretId": secret})).await?;
    let stored = stored.get("SecretString").and_then(Value::as_str).unwrap_or_default();
    let path = format!("/2015-03-31/functions/{function}/configuration?Qualifier={ALIAS}");
    let configuration = aws.get("lambda", "GetFunctionConfiguration", &path).await?;
    let deployed =
        configuration.pointer(&format!("/Environment/Variables/{SETTING}")).and_then(Value::as_str);
    if deployed != Some(stored) {
        return Err(RotationError::NotDeployed { stack: stack.name.clone() });
    }
    let keys = with_new_key(stored, &generate()?).ok_or_else(|| RotationError::NoKey(secret.clone()))?;
    let change = json!({"SecretId": secret, "SecretString": keys});
    aws.json("secretsmanager", "secretsmanager.PutSecretValue", &change).await?;
    Ok(())
}

/// Returns the new key and the newest of the stored ones. `None` if there are none.
fn with_new_key(stored: &str, new: &str) -> Option<String> {
    let newest = stored.split(SEPARATOR).map(str::trim).find(|key| !key.is_empty())?;
    Some(format!("{new}{SEPARATOR}{newest}"))
}

fn generate() -> Result<String, RotationError> {
    let mut key = [0; KEY_BYTES];
    rand::fill(&mut key).map_err(|_| RotationError::NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_keeps_the_previous_key_alone() {
        assert_eq!(with_new_key("a", "b").as_deref(), Some("b,a"));
        assert_eq!(with_new_key("b, a", "c").as_deref(), Some("c,b"));
        assert_eq!(with_new_key(" ,", "c"), None);
        let key = generate().unwrap();
        assert!(key.len() == 43 && !key.contains(SEPARATOR) && key != generate().unwrap(), "{key}");
    }
}
