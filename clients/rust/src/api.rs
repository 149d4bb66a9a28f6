//! Requests: where they go, who sends them, and how answers are read.

use std::fmt;
use std::time::Duration;

use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Method, Response, Url};
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Around, Error, Told};
use crate::tries::Tries;

/// How long it may take to reach the API.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a connection may be silent. A stream of the API never is for more than 15 s.
const SILENCE: Duration = Duration::from_secs(60);

/// Who calls.
pub enum Token {
    /// A token as it was given.
    Given(String),
    /// One that is made for each request, so that it never expires.
    Made(Box<dyn Fn() -> String + Send + Sync>),
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// A request that can be sent again and stays the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    method: Method,
    path: String,
    body: Option<String>,
}

impl Asked {
    /// Reads. `path` begins with a slash; it may hold a query.
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: None }
    }

    /// Sends a body.
    pub fn post(path: impl Into<String>, body: &Value) -> Self {
        Self { method: Method::POST, path: path.into(), body: Some(body.to_string()) }
    }

    /// Asks for something that takes no body.
    pub fn order(path: impl Into<String>) -> Self {
        Self { method: Method::POST, path: path.into(), body: None }
    }
}

/// A deployment, and who calls it.
#[derive(Debug)]
pub struct Api {
    http: Client,
    base: String,
    token: Token,
}

impl Api {
    /// `base` is the API's URL: the stack's output `ApiUrl`, or what a local cloud prints.
    ///
    /// # Errors
    /// [`Error::Base`] when it is none.
    pub fn new(base: &str, token: Token) -> Result<Self, Error> {
        let base = base.trim_end_matches('/').to_owned();
        let is_url = Url::parse(&base).is_ok_and(|url| ["http", "https"].contains(&url.scheme()));
        let http = Client::builder().connect_timeout(CONNECT).read_timeout(SILENCE).build();
        match http {
            Ok(http) if is_url => Ok(Self { http, base, token }),
            _ => Err(Error::Base(base)),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The `Result` of what was asked, sent again for as long as that can help.
    ///
    /// # Errors
    /// The API's refusal, or that it can't be had.
    pub async fn result(&self, asked: &Asked) -> Result<Value, Error> {
        let mut tries = Tries::new();
        loop {
            let failed = match self.open(asked, "application/json", None).await {
                Ok(response) => match self.envelope(response).await.and_then(Envelope::result) {
                    Ok(result) => return Ok(result),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            tokio::time::sleep(tries.after(failed)?).await;
        }
    }

    /// One answer with the status of success.
    pub(crate) async fn open(
        &self,
        asked: &Asked,
        accept: &str,
        last: Option<u64>,
    ) -> Result<Response, Error> {
        let Asked { method, path, body } = asked;
        let token = match &self.token {
            Token::Given(token) => token.clone(),
            Token::Made(make) => make(),
        };
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.base));
        request = request.bearer_auth(token).header(header::ACCEPT, accept);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body.clone());
        }
        let response = request.send().await.map_err(|_| Error::Unreachable(self.base.clone()))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        match self.envelope(response).await.map(Envelope::result) {
            Ok(Err(refused)) => Err(refused),
            _ => Err(Error::Unreadable(status)),
        }
    }

    pub(crate) async fn envelope(&self, response: Response) -> Result<Envelope, Error> {
        let around = around(&response);
        let status = response.status().as_u16();
        let text = response.text().await.map_err(|_| Error::Interrupted)?;
        let told = serde_json::from_str(&text).map_err(|_| Error::Unreadable(status))?;
        Ok(Envelope { told, around })
    }
}

fn around(response: &Response) -> Around {
    let text = |headers: &HeaderMap, name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
    let headers = response.headers();
    Around {
        status: Some(response.status().as_u16()),
        after: text(headers, "retry-after").and_then(|text| text.parse().ok()).map(Duration::from_secs),
        request_id: text(headers, "x-request-id"),
    }
}

/// An answer of the API (AGN-033 §2).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ToldEnvelope {
    successful: bool,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    errors: Vec<Told>,
}

/// An answer, and what came with it.
#[derive(Debug)]
pub(crate) struct Envelope {
    told: ToldEnvelope,
    around: Around,
}

impl Envelope {
    /// That of a stream's last event.
    pub(crate) fn of_event(data: &str) -> Result<Self, Error> {
        let told = serde_json::from_str(data).map_err(|_| Error::Interrupted)?;
        Ok(Self { told, around: Around::default() })
    }

    pub(crate) fn result(self) -> Result<Value, Error> {
        let ToldEnvelope { successful, result, errors } = self.told;
        if successful {
            return Ok(result);
        }
        Err(errors.into_iter().next().unwrap_or_default().refusal(self.around))
    }
}
