//! Secrets Manager: the operations that the functions use, over a file that is encrypted and that only its owner can read.
//!
//! The key is in a file of its own, so that a copy of the secrets alone, in a backup or a bug report, is of no use.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::digest;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::{Error, listen};
use super::signature::{Verifier, verify};
use crate::listener::Server;
use crate::service_keys::ServiceKeys;
use crate::{private_file, secret};

/// Largest request. A secret has at most 64 KiB.
const MAX_REQUEST_BYTES: usize = 256 * 1024;
/// File in the data folder that holds the encrypted secrets.
const SECRETS: &str = "connection-secrets";
/// File in the data folder that holds their key.
const KEY: &str = "connection-secrets-key";
/// Format of the file, which the encryption authenticates.
const FORMAT: &[u8] = b"aptix-secrets-1";

/// A running Secrets Manager.
#[derive(Debug)]
pub(crate) struct SecretsManager(Server);

impl SecretsManager {
    /// Starts it on the secrets of a data folder. Requests have to be signed with one of the keys.
    pub(super) async fn start(address: SocketAddr, folder: &Path, keys: &ServiceKeys) -> Result<Self, Error> {
        let verifier =
            Verifier { keys: keys.clone(), service: "secretsmanager", max_bytes: MAX_REQUEST_BYTES };
        let router = Router::new()
            .fallback(handle)
            .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
            .with_state(Arc::new(Secrets::open(folder)?))
            .layer(from_fn_with_state(Arc::new(verifier), verify));
        Ok(Self(listen(address).await?.serve(router)))
    }

    pub(crate) fn url(&self) -> &str {
        self.0.url()
    }
}

async fn handle(State(secrets): State<Arc<Secrets>>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let action = target.strip_prefix("secretsmanager.").unwrap_or_default();
    let answered = match serde_json::from_slice(&body) {
        Ok(input) => secrets.answer(action, input),
        Err(_) => Err("InvalidParameterException"),
    };
    let (status, body) = match answered {
        Ok(body) => (StatusCode::OK, body),
        Err(code) => (StatusCode::BAD_REQUEST, json!({ "__type": code })),
    };
    (status, [(header::CONTENT_TYPE, "application/x-amz-json-1.1")], body.to_string()).into_response()
}

/// Input of any supported action.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Input {
    name: String,
    secret_id: String,
    secret_string: String,
}

/// The secrets by name, and their file.
struct Secrets {
    path: PathBuf,
    key: RandomizedNonceKey,
    values: Mutex<BTreeMap<String, String>>,
}

impl Secrets {
    /// Opens the secrets of a data folder, or begins with none.
    fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(SECRETS);
        let unusable = || Error::Secrets(path.display().to_string());
        let text = secret::read_or_create(folder, KEY).map_err(|_| unusable())?;
        let bytes = digest::digest(&digest::SHA256, text.as_bytes());
        let key = RandomizedNonceKey::new(&AES_256_GCM, bytes.as_ref()).map_err(|_| unusable())?;
        let values = match std::fs::read(&path) {
            Ok(sealed) => decrypt(&key, &sealed).ok_or_else(unusable)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(_) => return Err(unusable()),
        };
        Ok(Self { path, key, values: Mutex::new(values) })
    }

    fn answer(&self, action: &str, input: Input) -> Result<Value, &'static str> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, exists) = match action {
            "CreateSecret" => (input.name, false),
            "GetSecretValue" | "PutSecretValue" => (input.secret_id, true),
            _ => return Err("InvalidRequestException"),
        };
        match (values.contains_key(&name), exists) {
            (false, true) => return Err("ResourceNotFoundException"),
            (true, false) => return Err("ResourceExistsException"),
            _ => {}
        }
        if action == "GetSecretValue" {
            return Ok(json!({ "Name": name, "SecretString": values.get(&name) }));
        }
        let mut changed = values.clone();
        changed.insert(name.clone(), input.secret_string);
        // A secret that isn't stored must not work until the next start.
        self.store(&changed).ok_or("InternalServiceError")?;
        *values = changed;
        Ok(json!({ "Name": name }))
    }

    fn store(&self, values: &BTreeMap<String, String>) -> Option<()> {
        let mut sealed = serde_json::to_vec(values).ok()?;
        let nonce = self.key.seal_in_place_append_tag(Aad::from(FORMAT), &mut sealed).ok()?;
        let file = [nonce.as_ref().as_slice(), &sealed].concat();
        private_file::write(&self.path, file).ok()
    }
}

fn decrypt(key: &RandomizedNonceKey, sealed: &[u8]) -> Option<BTreeMap<String, String>> {
    let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut text = text.to_vec();
    let opened = key.open_in_place(nonce, Aad::from(FORMAT), &mut text).ok()?;
    serde_json::from_slice(opened).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(secrets: &Secrets, action: &str, input: Value) -> Result<Value, &'static str> {
        secrets.answer(action, serde_json::from_value(input).unwrap())
    }

    #[test]
    fn secret_survives_a_restart_and_is_nowhere_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = Secrets::open(folder.path()).unwrap();
        let (id, named) =
            (json!({ "SecretId": "a" }), json!({ "Name": "a", "SecretString": "s3cret-value" }));
        assert_eq!(call(&secrets, "GetSecretValue", id.clone()), Err("ResourceNotFoundException"));
        assert_eq!(call(&secrets, "PutSecretValue", id.clone()), Err("ResourceNotFoundException"));
        assert_eq!(call(&secrets, "CreateSecret", named.clone()), Ok(json!({ "Name": "a" })));
        assert_eq!(call(&secrets, "CreateSecret", named.clone()), Err("ResourceExistsException"));
        drop(secrets);
        let secrets = Secrets::open(folder.path()).unwrap();
        assert_eq!(call(&secrets, "GetSecretValue", id.clone()), Ok(named));
        let replaced = json!({ "SecretId": "a", "SecretString": "another-value" });
        call(&secrets, "PutSecretValue", replaced).unwrap();
        assert_eq!(call(&secrets, "GetSecretValue", id).unwrap()["SecretString"], "another-value");
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            for value in ["s3cret-value", "another-value"] {
                assert!(
                    !bytes.windows(value.len()).any(|part| part == value.as_bytes()),
                    "{}",
                    path.display()
                );
            }
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                assert_eq!(path.metadata().unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
            }
        }
    }

    #[test]
    fn secrets_of_another_key_are_refused_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = Secrets::open(folder.path()).unwrap();
        call(&secrets, "CreateSecret", json!({ "Name": "a", "SecretString": "b" })).unwrap();
        let before = std::fs::read(folder.path().join(SECRETS)).unwrap();
        std::fs::write(folder.path().join(KEY), "x".repeat(64)).unwrap();
        assert!(matches!(Secrets::open(folder.path()), Err(Error::Secrets(_))));
        assert_eq!(std::fs::read(folder.path().join(SECRETS)).unwrap(), before);
    }
}
