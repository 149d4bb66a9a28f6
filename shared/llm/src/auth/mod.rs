//! Authentication of requests: adds the signature that a provider of AWS expects. Keys in headers need none.

mod signature;

use std::time::SystemTime;

use agent::model::Error;
use reqwest::{Request, RequestBuilder};

use crate::key::{ApiKey, KeyLocation};

/// Builds the request, and signs it if the provider expects a signature.
///
/// # Errors
///
/// [`Error::Unauthenticated`] without AWS credentials, and [`Error::UNAVAILABLE`] if the request can't be built.
pub(crate) fn authenticate(
    request: RequestBuilder,
    key: &ApiKey,
    location: &KeyLocation,
) -> Result<Request, Error> {
    let mut request = request.build().map_err(|_| Error::UNAVAILABLE)?;
    if let KeyLocation::Signature(scope) = location {
        let credentials = key.aws_credentials().ok_or(Error::Unauthenticated)?;
        signature::sign(&mut request, credentials, scope, SystemTime::now())?;
    }
    Ok(request)
}
