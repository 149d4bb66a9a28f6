//! Requests that are signed with the deployment's AWS credentials.

use std::{fmt, time::SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use mcp_client::Sign;
use sigv4::{Credentials, Signable};
use url::Url;

/// The credentials and the scope of signatures.
#[derive(Clone)]
pub(crate) struct Signer {
    pub(crate) credentials: Credentials,
    pub(crate) service: String,
    pub(crate) region: String,
}

/// Hides the credentials.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("service", &self.service)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// Signs a request over its method, URL, body and all headers that it has.
    pub(crate) fn sign(&self, request: &mut Request<Bytes>, url: &Url) -> Result<(), sigv4::Error> {
        let signed = self.headers_of(request.method(), url, request.headers(), request.body())?;
        request.headers_mut().extend(signed);
        Ok(())
    }

    fn headers_of(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<HeaderMap, sigv4::Error> {
        let host = sigv4::host_header(url.host_str(), url.port());
        let covered = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let covered: Vec<_> = covered.chain([("host", host.as_str())]).collect();
        let Self { credentials, service, region } = self;
        let request = Signable {
            region,
            service,
            method: method.as_str(),
            url: url.as_str(),
            headers: &covered,
            body,
            has_hash_header: true,
        };
        let signed = sigv4::sign(&request, credentials.clone(), SystemTime::now())?;
        let values = signed.headers.into_iter().filter_map(|(name, value)| {
            let mut value = HeaderValue::try_from(value).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::try_from(name).ok()?, value))
        });
        Ok(values.collect())
    }
}

impl Sign for Signer {
    fn sign(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<HeaderMap, &'static str> {
        let signed = self.headers_of(method, url, headers, body);
        signed.map_err(|_| "the request can't be signed")
    }
}
