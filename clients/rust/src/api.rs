//! Sends requests to the API and reads its responses.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Method, Response, Url};
use serde::Deserialize;
use serde_json::Value;

use crate::backoff::Backoff;
use crate::error::{Error, ResponseMeta, WireError};

/// Timeout for connecting to the API.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for the next byte. The API sends a heartbeat on a silent stream every 15 seconds.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// The bearer token of a caller.
pub enum Token {
    /// A fixed token.
    Static(String),
    /// A function that creates a token for each request, so that it never expires.
    PerRequest(Box<dyn Fn() -> String + Send + Sync>),
    /// A function that fetches a token for each request, such as one that refreshes a sign-in. Its error says why there is
    /// none.
    Fetch(Box<dyn Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync>),
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// A request that can be sent repeatedly without changing.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    method: Method,
    path: String,
    body: Option<String>,
    if_match: Option<String>,
}

impl Request {
    /// Creates a GET request. `path` begins with a slash and may have a query.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path, None)
    }

    /// Adds a query.
    #[must_use]
    pub fn with_query(mut self, parameters: &[(&str, &str)]) -> Self {
        // Only the query of the URL is used.
        let url = Url::parse_with_params("http://localhost", parameters).ok();
        if let Some(query) = url.as_ref().and_then(Url::query).filter(|query| !query.is_empty()) {
            self.path = format!("{}?{query}", self.path);
        }
        self
    }

    /// Creates a POST request with a JSON body.
    pub fn post(path: impl Into<String>, body: &Value) -> Self {
        Self::new(Method::POST, path, Some(body.to_string()))
    }

    /// Creates a POST request without a body.
    pub fn post_empty(path: impl Into<String>) -> Self {
        Self::new(Method::POST, path, None)
    }

    /// Creates a PUT request with a body that is JSON text.
    pub fn put(path: impl Into<String>, json: impl Into<String>) -> Self {
        Self::new(Method::PUT, path, Some(json.into()))
    }

    /// Creates a PATCH request with a JSON body.
    pub fn patch(path: impl Into<String>, body: &Value) -> Self {
        Self::new(Method::PATCH, path, Some(body.to_string()))
    }

    /// Creates a DELETE request.
    pub fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path, None)
    }

    /// Requires the resource to have this entity tag, as `ETag` in a result.
    #[must_use]
    pub fn if_match(mut self, tag: &str) -> Self {
        let tag = tag.trim_matches('"');
        self.if_match = Some(if tag == "*" { tag.to_owned() } else { format!("\"{tag}\"") });
        self
    }

    fn new(method: Method, path: impl Into<String>, body: Option<String>) -> Self {
        Self { method, path: path.into(), body, if_match: None }
    }
}

/// A client of one deployment.
#[derive(Debug)]
pub struct Api {
    http: Client,
    base: String,
    token: Token,
}

impl Api {
    /// Creates a client. `base` is the API's URL: the stack's output `ApiUrl`, or the URL that a local cloud
    /// prints.
    ///
    /// # Errors
    /// [`Error::InvalidBaseUrl`] if `base` is not an `http` or `https` URL, [`Error::NoHttpClient`] if the system has no
    /// root certificates for an `https` one.
    pub fn new(base: &str, token: Token) -> Result<Self, Error> {
        let base = base.trim_end_matches('/').to_owned();
        let http = Client::builder().connect_timeout(CONNECT_TIMEOUT).read_timeout(READ_TIMEOUT);
        let http = match Url::parse(&base) {
            // Plain HTTP needs no root certificates, which a minimal container lacks.
            Ok(url) if url.scheme() == "http" => http.tls_certs_only([]),
            Ok(url) if url.scheme() == "https" => http,
            _ => return Err(Error::InvalidBaseUrl(base)),
        };
        let http = http.build().map_err(|_| Error::NoHttpClient)?;
        Ok(Self { http, base, token })
    }

    /// The API's base URL, without a slash at its end.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The URL of a link of the API, such as a file's `Url`. Links are relative to the base URL.
    #[must_use]
    pub fn link_url(&self, link: &str) -> String {
        if Url::parse(link).is_ok() {
            return link.to_owned();
        }
        format!("{}/{}", self.base, link.trim_start_matches('/'))
    }

    /// Sends a request and returns its `Result`. Retries as long as a retry can help.
    ///
    /// # Errors
    /// The API's error, or a failure to reach the API.
    pub async fn call(&self, request: &Request) -> Result<Value, Error> {
        let mut backoff = Backoff::new();
        loop {
            let failed = match self.send(request, "application/json", None).await {
                Ok(response) => match self.read_envelope(response).await.and_then(Envelope::into_result) {
                    Ok(result) => return Ok(result),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            tokio::time::sleep(backoff.next_delay(failed)?).await;
        }
    }

    /// Sends a request and returns the text of its response in another media type than JSON, such as `text/csv`. Retries
    /// as long as a retry can help.
    ///
    /// # Errors
    /// The API's error, or a failure to reach the API.
    pub async fn fetch_text(&self, request: &Request, media_type: &str) -> Result<String, Error> {
        let mut backoff = Backoff::new();
        loop {
            let failed = match self.send(request, media_type, None).await {
                Ok(response) => match response.text().await {
                    Ok(text) => return Ok(text),
                    Err(_) => Error::Interrupted,
                },
                Err(error) => error,
            };
            tokio::time::sleep(backoff.next_delay(failed)?).await;
        }
    }

    /// Sends a request once. Returns the response if its status is a success.
    pub(crate) async fn send(
        &self,
        request: &Request,
        accept: &str,
        last_event_id: Option<u64>,
    ) -> Result<Response, Error> {
        let Request { method, path, body, if_match } = request;
        let token = match &self.token {
            Token::Static(token) => token.clone(),
            Token::PerRequest(make) => make(),
            Token::Fetch(fetch) => fetch().await.map_err(Error::NoToken)?,
        };
        let mut builder = self.http.request(method.clone(), format!("{}{path}", self.base));
        builder = builder.bearer_auth(token).header(header::ACCEPT, accept);
        if let Some(id) = last_event_id {
            builder = builder.header("last-event-id", id);
        }
        if let Some(tag) = if_match {
            builder = builder.header(header::IF_MATCH, tag);
        }
        if let Some(body) = body {
            builder = builder.header(header::CONTENT_TYPE, "application/json").body(body.clone());
        }
        let response = builder.send().await.map_err(|_| Error::Unreachable(self.base.clone()))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        match self.read_envelope(response).await.map(Envelope::into_result) {
            Ok(Err(error)) => Err(error),
            _ => Err(Error::UnexpectedResponse(status)),
        }
    }

    pub(crate) async fn read_envelope(&self, response: Response) -> Result<Envelope, Error> {
        let meta = response_meta(&response);
        let status = response.status().as_u16();
        let text = response.text().await.map_err(|_| Error::Interrupted)?;
        let body = serde_json::from_str(&text).map_err(|_| Error::UnexpectedResponse(status))?;
        Ok(Envelope { body, meta })
    }
}

fn response_meta(response: &Response) -> ResponseMeta {
    let text = |headers: &HeaderMap, name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
    let headers = response.headers();
    ResponseMeta {
        status: Some(response.status().as_u16()),
        retry_after: text(headers, "retry-after").and_then(|text| text.parse().ok()).map(Duration::from_secs),
        request_id: text(headers, "x-request-id"),
    }
}

/// The envelope of a response, as it is on the wire.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct WireEnvelope {
    successful: bool,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    errors: Vec<WireError>,
}

/// The envelope of a response, with the metadata of the response.
#[derive(Debug)]
pub(crate) struct Envelope {
    body: WireEnvelope,
    meta: ResponseMeta,
}

impl Envelope {
    /// Parses the envelope in the last event of a stream.
    pub(crate) fn from_event(data: &str) -> Result<Self, Error> {
        let body = serde_json::from_str(data).map_err(|_| Error::Interrupted)?;
        Ok(Self { body, meta: ResponseMeta::default() })
    }

    pub(crate) fn into_result(self) -> Result<Value, Error> {
        let WireEnvelope { successful, result, errors } = self.body;
        if successful {
            return Ok(result);
        }
        let mut errors = errors.into_iter();
        let first = errors.next().unwrap_or_default();
        Err(first.into_error(errors.collect(), &self.meta))
    }
}
