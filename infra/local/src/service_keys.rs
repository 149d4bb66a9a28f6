//! Access keys of the AWS services: one per function, one for commands. All share a secret of the data folder.
//!
//! The secret keeps out whoever can't read the folder: pages in a browser, and other users of this machine. It does
//! not separate the functions from each other.

use std::fmt;
use std::path::Path;
use std::time::SystemTime;

use aws_sdk_sqs::config::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use axum::http::request::Parts;

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

/// A header of a request, as it is signed.
pub(crate) type Header<'a> = (&'a str, &'a str);

/// Error of a request that can't be signed.
#[derive(Debug, thiserror::Error)]
#[error("Can't sign the request")]
pub struct SigningError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl ServiceKeys {
    /// Returns the keys of a data folder, whose secret is generated if missing.
    pub(crate) fn from_folder(folder: &Path) -> Result<Self, Error> {
        Ok(Self { secret: secret::read_or_create(folder, SECRET_FILE)? })
    }

    /// Returns the keys of a data folder that a local cloud uses or has used.
    pub(crate) fn read(folder: &Path) -> Result<Self, Error> {
        Ok(Self { secret: secret::read(&folder.join(SECRET_FILE))? })
    }

    /// Returns the access keys: that of commands, then those of the functions.
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

    fn credentials_of(&self, access_key: &str) -> Credentials {
        Credentials::new(access_key, &self.secret, None, None, "local")
    }

    /// Signs a request to DynamoDB or SQS again, after its body was changed. `service` is the name in the credential
    /// scope, such as `dynamodb`.
    ///
    /// # Errors
    /// Fails if the request can't be signed, for example without a `Host`.
    pub fn sign(
        &self,
        service: &str,
        access_key: &str,
        request: &mut Parts,
        body: &[u8],
    ) -> Result<(), SigningError> {
        const REPLACED: [&str; 3] = ["authorization", "x-amz-date", "content-length"];
        let headers = request.headers.iter().filter(|(name, _)| !REPLACED.contains(&name.as_str()));
        let headers: Vec<(String, String)> = headers
            .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
            .collect();
        let headers: Vec<Header<'_>> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let uri = request.uri.to_string();
        let signable = Signable {
            service,
            access_key,
            method: request.method.as_str(),
            uri: &uri,
            headers: &headers,
            body,
        };
        for (name, value) in self.sign_at(&signable, SystemTime::now())?.headers {
            let value = value.try_into().map_err(|error| SigningError(Box::from(format!("{error}"))))?;
            request.headers.insert(name, value);
        }
        Ok(())
    }

    /// Signs a request as of `time`, with exactly these headers and the date.
    pub(crate) fn sign_at(&self, request: &Signable<'_>, time: SystemTime) -> Result<Signed, SigningError> {
        let Signable { service, access_key, method, uri, headers, body } = *request;
        // The library panics without a host.
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            return Err(SigningError(Box::from("it has no Host header")));
        }
        let identity = Identity::from(self.credentials_of(access_key));
        let mut settings = SigningSettings::default();
        settings.excluded_headers = None;
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(REGION)
            .name(service)
            .time(time)
            .settings(settings)
            .build()
            .map_err(failed)?
            .into();
        let headers = headers.iter().copied();
        let request =
            SignableRequest::new(method, uri, headers, SignableBody::Bytes(body)).map_err(failed)?;
        let (instructions, signature) = sign(request, &params).map_err(failed)?.into_parts();
        let (headers, _) = instructions.into_parts();
        let headers = headers.into_iter().map(|header| (header.name(), header.value().to_owned())).collect();
        Ok(Signed { signature, headers })
    }
}

/// The parts of a request that a signature covers.
#[derive(Clone, Copy)]
pub(crate) struct Signable<'a> {
    /// Name of the service in the credential scope.
    pub(crate) service: &'a str,
    pub(crate) access_key: &'a str,
    pub(crate) method: &'a str,
    /// Path and query.
    pub(crate) uri: &'a str,
    pub(crate) headers: &'a [Header<'a>],
    pub(crate) body: &'a [u8],
}

/// A signature, and the headers that carry it.
pub(crate) struct Signed {
    pub(crate) signature: String,
    headers: Vec<(&'static str, String)>,
}

fn failed<E: std::error::Error + Send + Sync + 'static>(error: E) -> SigningError {
    SigningError(Box::new(error))
}

impl fmt::Debug for ServiceKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceKeys").finish_non_exhaustive()
    }
}
