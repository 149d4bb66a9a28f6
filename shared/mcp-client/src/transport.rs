//! Requests to one URL.

use std::{fmt, sync::Arc, time::Duration};

use reqwest::{
    Method, RequestBuilder, Response,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use url::Url;

use crate::{
    message::{Message, RpcError},
    reader::{Budget, ReadError, Reader},
};

/// The largest body of an error that is read, in bytes.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// The proof that every request has.
#[derive(Debug, Clone)]
pub enum Authentication {
    /// A header.
    Header {
        /// The name, such as `Authorization`.
        name: HeaderName,
        /// The value. It should be marked as sensitive.
        value: HeaderValue,
    },
    /// Headers that each request has of its own.
    Signature(Arc<dyn Sign>),
}

/// Signs requests.
pub trait Sign: fmt::Debug + Send + Sync {
    /// Returns the headers with the signature of a request with these headers.
    ///
    /// # Errors
    /// Returns the rule that the request breaks. It isn't sent.
    fn sign(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<HeaderMap, &'static str>;
}

/// A failed request that has no effect.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection failed.
    #[error("the server can't be reached")]
    Connection(#[source] reqwest::Error),
    /// No response in time.
    #[error("the server didn't respond within {0:?}")]
    Timeout(Duration),
    /// The server answered with another status than 200 to 299, without an error of JSON-RPC.
    #[error("the server answered with status {0}")]
    Status(u16),
    /// The server answered with an error of JSON-RPC.
    #[error("the server answered with code {code}: {message}")]
    Rejected {
        /// The status of the response.
        status: u16,
        /// The code.
        code: i64,
        /// The server's message, visible and at most 1 KiB.
        message: String,
        /// The revisions that the server names, if it doesn't have the requested one.
        supported: Vec<String>,
    },
    /// The response isn't whole and valid.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The server has no revision of this client.
    #[error("the server has none of the revisions 2026-07-28, 2025-11-25 and 2025-06-18")]
    Revision,
    /// The list of tools breaks a bound.
    #[error("{0}")]
    List(&'static str),
    /// A header can't be sent: the authentication uses a name of the protocol, or a method has no valid name.
    #[error("{0}")]
    Header(&'static str),
}

/// The URL of a server with everything that requests to it share.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    http: reqwest::Client,
    url: Url,
    authentication: Option<Authentication>,
}

impl Endpoint {
    pub(crate) fn new(
        http: reqwest::Client,
        url: Url,
        authentication: Option<Authentication>,
    ) -> Result<Self, Error> {
        const RESERVED: [&str; 9] = [
            "accept",
            "connection",
            "content-length",
            "content-type",
            "cookie",
            "host",
            "last-event-id",
            "te",
            "transfer-encoding",
        ];
        if let Some(Authentication::Header { name, .. }) = &authentication
            && (RESERVED.contains(&name.as_str()) || name.as_str().starts_with("mcp-"))
        {
            return Err(Error::Header("the header of the authentication is one of the protocol"));
        }
        Ok(Self { http, url, authentication })
    }

    /// Returns a request without a body.
    ///
    /// # Errors
    /// Fails if it can't be signed.
    pub(crate) fn request(&self, method: Method, headers: HeaderMap) -> Result<RequestBuilder, &'static str> {
        self.authenticated(method, headers, b"")
    }

    /// Returns a `POST` whose body will be this one, without it.
    ///
    /// # Errors
    /// Fails if it can't be signed.
    pub(crate) fn post(&self, mut headers: HeaderMap, body: &[u8]) -> Result<RequestBuilder, &'static str> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.authenticated(Method::POST, headers, body)
    }

    fn authenticated(
        &self,
        method: Method,
        headers: HeaderMap,
        body: &[u8],
    ) -> Result<RequestBuilder, &'static str> {
        let signed = match &self.authentication {
            Some(Authentication::Header { name, value }) => {
                HeaderMap::from_iter([(name.clone(), value.clone())])
            }
            Some(Authentication::Signature(signer)) => signer.sign(&method, &self.url, &headers, body)?,
            None => HeaderMap::new(),
        };
        Ok(self.http.request(method, self.url.clone()).headers(headers).headers(signed))
    }
}

/// Returns the error of JSON-RPC in the response to a failed request, if it has one.
pub(crate) async fn error_in(response: Response) -> Option<RpcError> {
    let mut reader = Reader::new(response, &mut Budget::new(MAX_ERROR_BODY));
    match reader.next().await {
        Ok(Some(Message::Response { outcome: Err(error), .. })) => Some(error),
        _ => None,
    }
}
