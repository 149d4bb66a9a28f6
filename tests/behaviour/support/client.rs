//! An external client: HTTP and JSON, none of our types.

use std::time::{Duration, Instant};

use contracts::paths;
use reqwest::{Method, header::HeaderMap};
use serde_json::Value;

use super::PATIENCE;

pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// A complete response.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Client {
    pub fn new(base: &str, token: Option<String>) -> Self {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { http, base: base.to_owned(), token }
    }

    pub async fn execute(&self, turn: &Value) -> Answer {
        self.post(paths::EXECUTE, turn.to_string()).await
    }

    /// Executes a turn, retrying while the session is busy.
    pub async fn execute_when_free(&self, turn: &Value) -> Answer {
        self.execute_after(turn, "SessionBusy").await
    }

    /// Executes a turn, retrying while the same turn is running.
    pub async fn execute_when_settled(&self, turn: &Value) -> Answer {
        self.execute_after(turn, "TurnInProgress").await
    }

    async fn execute_after(&self, turn: &Value, what: &str) -> Answer {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let answer = self.execute(turn).await;
            if answer.status != 409 {
                return answer;
            }
            assert_eq!(answer.error(), what);
            assert!(Instant::now() < give_up, "{what} does not pass");
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    pub async fn post(&self, path: &str, body: String) -> Answer {
        self.send(Method::POST, path, Some(body)).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    pub async fn send(&self, method: Method, path: &str, body: Option<String>) -> Answer {
        let json = [("content-type", "application/json")];
        match body {
            Some(body) => self.raw(method, path, &json, body.into_bytes()).await,
            None => self.raw(method, path, &[], Vec::new()).await,
        }
    }

    /// Sends a raw request.
    pub async fn raw(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        self.attempt(method, path, headers, body).await.expect("a whole answer")
    }

    /// Sends a request whose connection may break.
    pub async fn attempt(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> reqwest::Result<Answer> {
        let response = self.request(method, path, headers, body).send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Answer { status, headers, text: response.text().await? })
    }

    pub fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> reqwest::RequestBuilder {
        let mut request = self.http.request(method, self.url(path));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(body)
    }

    /// Returns the URL and the headers for a third-party client.
    pub fn request_parts(&self, path: &str) -> (String, Vec<(String, String)>) {
        let token = self.token.iter().map(|token| ("authorization".to_owned(), format!("Bearer {token}")));
        (self.url(path), token.collect())
    }

    /// Returns the URL of a path, or of a link resolved against the API's base, which ends in `/`.
    fn url(&self, path: &str) -> String {
        if path.starts_with('/') {
            return format!("{}{path}", self.base);
        }
        let base = reqwest::Url::parse(&format!("{}/", self.base)).unwrap();
        base.join(path).unwrap().to_string()
    }

    /// Polls until the response is as wanted, for at most `most`, to await background work.
    pub async fn until(&self, path: &str, most: Duration, wanted: impl Fn(&Answer) -> bool) -> Answer {
        let give_up = Instant::now() + most;
        loop {
            let answer = self.get(path).await;
            if wanted(&answer) || Instant::now() > give_up {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    /// Returns the result of a successful call.
    pub fn result(&self) -> Value {
        let body = self.json();
        assert_eq!((self.status, &body["Successful"]), (200, &Value::Bool(true)), "{body}");
        assert_eq!(body["Errors"], Value::Array(Vec::new()));
        body["Result"].clone()
    }

    /// Returns the code of the first error in a refusal's envelope.
    pub fn error(&self) -> String {
        let body = self.json();
        assert_eq!((&body["Successful"], &body["Result"]), (&Value::Bool(false), &Value::Null), "{body}");
        let error = &body["Errors"][0];
        let retry = error["Retry"].as_str().expect("what a retry can do");
        assert!(["same_request", "new_turn", "never"].contains(&retry), "{error}");
        let seconds = error.get("RetryAfterSeconds").map(Value::to_string);
        // A response with keep-alive whitespace sent its headers before the error was known.
        assert!(self.status == 200 || self.header("retry-after") == seconds.as_deref(), "{error}");
        error["ErrorCode"].as_str().expect("a code").to_owned()
    }

    pub fn errors(&self) -> Vec<Value> {
        self.json()["Errors"].as_array().cloned().expect("errors")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}
