//! Access keys of the AWS services: one per function, one for commands. All share a secret of the data folder.
//!
//! The secret keeps out whoever can't read the folder: pages in a browser, and other users of this machine. It does
//! not separate the functions from each other.

use std::fmt;
use std::path::Path;
use std::time::SystemTime;

use aws_sdk_sqs::config::Credentials;
use axum::http::request::Parts;
use sigv4::{Header, Signable};

use crate::account::{ACCESS_KEY, REGION};
use crate::function::Function;
use crate::secret::{self, Error};

/// File in the data folder that holds the secret.
const SECRET_FILE: &str = "aws-secret";

/// The access keys and their secret.
#[derive(Clone)]
pub struct ServiceKeys {
    secret: String,
}

impl ServiceKeys {
    /// Returns the keys of a data folder, whose secret is generated if missing.
    pub(crate) fn from_folder(folder: &Path) -> Result<Self, Error> {
        Ok(Self { secret: secret::read_or_create(folder, SECRET_FILE)? })
    }

    /// Returns the keys of a data folder that a local cloud uses or has used.
    pub(crate) fn read(folder: &Path) -> Result<Self, Error> {
        Ok(Self { secret: secret::read(&folder.join(SECRET_FILE))? })
    }

    /// Returns the access keys: the commands' key, then the functions' keys.
    pub(crate) fn access_keys() -> impl Iterator<Item = String> {
        std::iter::once(ACCESS_KEY.to_owned()).chain(Function::ALL.into_iter().map(Function::access_key))
    }

    /// Returns the secret of every access key.
    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    /// Returns the credentials of commands.
    pub(crate) fn credentials(&self) -> Credentials {
        self.credentials_of(ACCESS_KEY)
    }

    /// Returns the credentials of an access key.
    pub(crate) fn credentials_of(&self, access_key: &str) -> Credentials {
        Credentials::new(access_key, &self.secret, None, None, "local")
    }

    /// Signs a request to DynamoDB or SQS again, after its body was changed. `service` is the name in the credential
    /// scope, such as `dynamodb`.
    ///
    /// # Errors
    /// Fails if the request can't be signed, for example without a `Host`.
    pub(crate) fn sign(
        &self,
        service: &str,
        access_key: &str,
        request: &mut Parts,
        body: &[u8],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        const REPLACED: [&str; 3] = ["authorization", "x-amz-date", "content-length"];
        let headers = request.headers.iter().filter(|(name, _)| !REPLACED.contains(&name.as_str()));
        let headers: Vec<(String, String)> = headers
            .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
            .collect();
        let headers: Vec<Header<'_>> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let url = request.uri.to_string();
        let method = request.method.as_str();
        let signable = Signable {
            region: REGION,
            service,
            method,
            url: &url,
            headers: &headers,
            body,
            has_hash_header: false,
        };
        let signed = sigv4::sign(&signable, self.credentials_of(access_key), SystemTime::now())?;
        for (name, value) in signed.headers {
            request.headers.insert(name, value.try_into()?);
        }
        Ok(())
    }
}

impl fmt::Debug for ServiceKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceKeys").finish_non_exhaustive()
    }
}
