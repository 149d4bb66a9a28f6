//! A session with a server: the state of the older revisions, and the form of requests in all of them.

use std::{
    future::Future,
    pin::pin,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use bytes::Bytes;
use reqwest::{
    Body, Method, Response,
    header::{ACCEPT, HeaderMap, HeaderValue},
};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::{
    gate::{Gate, gated},
    list::{MAX_PAGES, Pages, ToolList},
    message::{self, MAX_ERROR_TEXT, Message, RpcError, UNKNOWN_METHOD},
    outcome::{NotSent, Outcome, Refusal, Unknown, of_error, of_status},
    param_header::{self, ParamHeader},
    reader::{Budget, MAX_RESPONSE, ReadError, Reader},
    result,
    revision::Revision,
    text::excerpt,
    transport::{Endpoint, Error, error_in},
};

const VERSION: &str = "mcp-protocol-version";
const SESSION: &str = "mcp-session-id";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const LAST_EVENT: &str = "last-event-id";

/// The time for a message without a result: a notification, an answer to the server, the end of a session.
const NOTE_TIMEOUT: Duration = Duration::from_secs(3);
/// The largest number of requests of a server that are answered in one call.
const MAX_SERVER_REQUESTS: usize = 16;
/// The largest number of times that the response of a call is resumed.
const MAX_RESUMPTIONS: usize = 64;
/// The longest wait before that. The time limit of the call applies too.
const MAX_RETRY: Duration = Duration::from_secs(30);
/// The wait before that if the server names none.
const RETRY: Duration = Duration::from_secs(1);

/// A call of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The name of the tool.
    pub name: &'a str,
    /// The arguments, an object.
    pub arguments: &'a Value,
    /// The arguments that are sent as headers too, from [`Tool::headers`](crate::Tool::headers).
    pub headers: &'a [ParamHeader],
    /// The idempotency key, sent as `_meta["aptix/idempotencyKey"]`. The protocol has none, so it binds only servers that
    /// know it.
    pub key: Option<&'a str>,
    /// The time until the call is given up.
    pub timeout: Duration,
}

/// The caller's side of a running call.
pub trait Observer: Send + Sync {
    /// Returns true if the call may be sent now. Asked once, when the connection is ready for the body.
    fn may_send(&self) -> bool;

    /// Receives a progress notification of the server.
    fn progress(&self, _progress: Progress) {}

    /// Resolves when the call is to be cancelled.
    fn cancelled(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

/// The progress of a call, as its server counts it.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The work done, in a unit of the server.
    pub progress: f64,
    /// The whole work, if it is known.
    pub total: Option<f64>,
    /// The step for people, visible and at most 1 KiB.
    pub message: Option<String>,
}

/// A session with a server. In the stateless revision it is only the form of the requests.
#[derive(Debug)]
pub struct Session {
    endpoint: Endpoint,
    revision: Revision,
    /// The id that the server gave the session.
    id: Option<HeaderValue>,
    requests: AtomicU64,
    timeout: Duration,
}

/// The end of a call that its caller sets.
enum Stop {
    Timeout,
    Cancelled,
}

impl Session {
    pub(crate) fn new(endpoint: Endpoint, revision: Revision, timeout: Duration) -> Self {
        Self { endpoint, revision, id: None, requests: AtomicU64::new(0), timeout }
    }

    /// Returns the revision of the session.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the id that the server gave the session.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_ref().and_then(|id| id.to_str().ok())
    }

    /// Begins the session with a handshake.
    pub(crate) async fn initialize(mut self) -> Result<Self, Error> {
        let params = json!({
            "protocolVersion": self.revision.as_str(),
            "capabilities": {},
            "clientInfo": message::client_info(),
        });
        let (headers, result) = self.exchange("initialize", params).await?;
        let version = result.get("protocolVersion").and_then(Value::as_str);
        self.revision = version
            .and_then(Revision::parse)
            .filter(|revision| !revision.is_stateless())
            .ok_or(Error::Revision)?;
        self.id = headers.get(SESSION).cloned();
        match self.notify("notifications/initialized", Value::Null).await? {
            status if (200..300).contains(&status) => Ok(self),
            status => Err(Error::Status(status)),
        }
    }

    /// Returns the revisions of the server.
    pub(crate) async fn discover(&self) -> Result<Vec<String>, Error> {
        let (_, result) = self.exchange("server/discover", json!({})).await?;
        let versions = result.get("supportedVersions").and_then(Value::as_array);
        let versions = versions.ok_or(ReadError::Invalid("`server/discover` has no `supportedVersions`"))?;
        Ok(versions.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Asks the server for a sign of life.
    ///
    /// # Errors
    /// Returns the fault of the request.
    pub async fn ping(&self) -> Result<(), Error> {
        if self.revision.is_stateless() {
            self.discover().await.map(drop)
        } else {
            self.exchange("ping", json!({})).await.map(drop)
        }
    }

    /// Returns all tools of the server: at most 1,000 on at most 64 pages.
    ///
    /// # Errors
    /// Fails for a list beyond these bounds, and with the fault of a request.
    pub async fn list_tools(&self) -> Result<ToolList, Error> {
        let mut pages = Pages::default();
        let mut params = json!({});
        for _ in 0..MAX_PAGES {
            let (_, page) = self.exchange("tools/list", params).await?;
            match pages.add(page).map_err(Error::List)? {
                None => break,
                Some(cursor) => params = json!({ "cursor": cursor }),
            }
        }
        Ok(pages.into_list())
    }

    /// Calls a tool. The call is sent at most once.
    ///
    /// A dropped future sends nothing later: the body leaves only while the future is polled. In the older revisions a
    /// call that times out or is cancelled after it was sent is followed by `notifications/cancelled`; in the newer one
    /// the end of the connection says the same. Neither proves that the server stopped.
    pub async fn call(&self, call: &Call<'_>, observer: &impl Observer) -> Outcome {
        let id = self.next_id();
        let sent = AtomicBool::new(false);
        let stop = tokio::select! {
            biased;
            performed = timeout(call.timeout, self.perform(id, call, observer, &sent)) => match performed {
                Ok(outcome) => return outcome,
                Err(_) => Stop::Timeout,
            },
            () = observer.cancelled() => Stop::Cancelled,
        };
        if !sent.load(Relaxed) {
            return Outcome::NotSent(match stop {
                Stop::Timeout => NotSent::Timeout(call.timeout),
                Stop::Cancelled => NotSent::Cancelled,
            });
        }
        if !self.revision.is_stateless() {
            // The outcome is unknown either way.
            let _ = self.notify("notifications/cancelled", json!({ "requestId": id })).await;
        }
        Outcome::Unknown(match stop {
            Stop::Timeout => Unknown::Timeout(call.timeout),
            Stop::Cancelled => Unknown::Cancelled,
        })
    }

    /// Ends the session. Servers that keep none may refuse it.
    pub async fn close(self) {
        if self.id.is_some() {
            // A session that isn't ended expires.
            if let Ok(request) = self.endpoint.request(Method::DELETE, self.session_headers()) {
                let _ = timeout(NOTE_TIMEOUT, request.send()).await;
            }
        }
    }

    async fn perform(
        &self,
        id: u64,
        call: &Call<'_>,
        observer: &impl Observer,
        sent: &AtomicBool,
    ) -> Outcome {
        let (headers, body) = match self.written(id, call) {
            Ok(written) => written,
            Err(fault) => return Outcome::NotSent(NotSent::Invalid(fault)),
        };
        let body = Bytes::from(body);
        let request = match self.endpoint.post(headers, &body) {
            Ok(request) => request,
            Err(fault) => return Outcome::NotSent(NotSent::Invalid(fault)),
        };
        let (gate, body) = gated(body);
        let response = request.body(Body::wrap(body)).send();
        let response = match confirmed(response, gate, observer, sent).await {
            Ok(response) => response,
            Err(outcome) => return outcome,
        };
        let status = response.status();
        if !sent.load(Relaxed) {
            return Outcome::NotSent(NotSent::Closed(status.as_u16()));
        }
        if !status.is_success() {
            return of_status(status.as_u16(), error_in(response).await.as_ref());
        }
        match self.result(id, response, observer).await {
            Ok(Ok(result)) => done(result, self.revision),
            Ok(Err(error)) => of_error(&error),
            Err(error) => Outcome::Unknown(error.into()),
        }
    }

    /// Returns the headers and the body of a call.
    fn written(&self, id: u64, call: &Call<'_>) -> Result<(HeaderMap, Vec<u8>), &'static str> {
        if !call.arguments.is_object() {
            return Err("its arguments aren't an object");
        }
        let mut headers = self.headers("tools/call", Some(call.name))?;
        if self.revision.is_stateless() {
            param_header::add(&mut headers, call.headers, call.arguments)?;
        }
        let params = [("name", call.name.into()), ("arguments", call.arguments.clone())];
        let mut meta = Map::from_iter([("progressToken".to_owned(), id.into())]);
        if let Some(key) = call.key {
            meta.insert("aptix/idempotencyKey".to_owned(), key.into());
        }
        let params = params.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        let body = message::request(self.revision, id, "tools/call", params, meta);
        Ok((headers, body.to_string().into_bytes()))
    }

    /// Reads the response to a request. A stream of a session that breaks is resumed, which repeats no request.
    async fn result(
        &self,
        id: u64,
        response: Response,
        observer: &impl Observer,
    ) -> Result<Result<Value, RpcError>, ReadError> {
        let mut budget = Budget::new(MAX_RESPONSE);
        let mut reader = Reader::new(response, &mut budget);
        let (mut requests, mut resumptions) = (0, 0);
        loop {
            let cut = match reader.next().await {
                Ok(Some(Message::Response { id: answered, outcome })) => {
                    // A server that can't read the id answers with an error without one.
                    if answered == id || (answered.is_null() && outcome.is_err()) {
                        return Ok(outcome);
                    }
                    continue;
                }
                Ok(Some(Message::Notification { method, params })) => {
                    if let Some(progress) = progress_in(&method, &params, id) {
                        observer.progress(progress);
                    }
                    continue;
                }
                Ok(Some(Message::Request { id, method })) => {
                    requests += 1;
                    if requests <= MAX_SERVER_REQUESTS {
                        self.answer(id, &method).await;
                    }
                    continue;
                }
                Ok(None) => ReadError::Cut(None),
                Err(error @ ReadError::Cut(_)) => error,
                Err(error) => return Err(error),
            };
            resumptions += 1;
            let (last, retry) = (reader.last_event.take(), reader.retry);
            reader = match self.resumed(last, retry, &mut budget).await {
                Some(next) if resumptions <= MAX_RESUMPTIONS => next,
                _ => return Err(cut),
            };
        }
    }

    /// Returns a reader of what follows the event `last` of a stream, if the server can send it again.
    async fn resumed(
        &self,
        last: Option<String>,
        retry: Option<Duration>,
        budget: &mut Budget,
    ) -> Option<Reader> {
        let last = last.filter(|_| !self.revision.is_stateless())?;
        tokio::time::sleep(retry.unwrap_or(RETRY).min(MAX_RETRY)).await;
        let mut headers = self.session_headers();
        headers.insert(LAST_EVENT, HeaderValue::from_str(&last).ok()?);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let response = self.endpoint.request(Method::GET, headers).ok()?.send().await.ok()?;
        if response.status() != 200 {
            return None;
        }
        let mut next = Reader::new(response, budget);
        (next.last_event, next.retry) = (Some(last), retry);
        Some(next)
    }

    /// Answers a request of the server, which otherwise would wait for it. Only `ping` has a result.
    async fn answer(&self, id: Value, method: &str) {
        let answer = match method {
            "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
            _ => {
                let error = json!({ "code": UNKNOWN_METHOD, "message": "Method not found" });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        };
        let answer = answer.to_string();
        // The response to the call says how the server went on.
        if let Ok(request) = self.endpoint.post(self.session_headers(), answer.as_bytes()) {
            let _ = timeout(NOTE_TIMEOUT, request.body(answer).send()).await;
        }
    }

    /// Sends a request without an effect, and returns the headers of the response and the result.
    async fn exchange(&self, method: &str, params: Value) -> Result<(HeaderMap, Value), Error> {
        let exchanged = timeout(self.timeout, async {
            let id = self.next_id();
            let headers = self.headers(method, None).map_err(Error::Header)?;
            let Value::Object(params) = params else { return Err(Error::Header("parameters are an object")) };
            let body = message::request(self.revision, id, method, params, Map::new()).to_string();
            let request = self.endpoint.post(headers, body.as_bytes()).map_err(Error::Header)?;
            let response = request.body(body).send().await.map_err(connection)?;
            let status = response.status();
            if !status.is_success() {
                let error = error_in(response).await;
                return Err(
                    error.map_or(Error::Status(status.as_u16()), |error| rejected(status.as_u16(), &error))
                );
            }
            let headers = response.headers().clone();
            match self.result(id, response, &Unobserved).await? {
                Ok(result) => Ok((headers, result)),
                Err(error) => Err(rejected(status.as_u16(), &error)),
            }
        });
        exchanged.await.unwrap_or(Err(Error::Timeout(self.timeout)))
    }

    /// Sends a notification, and returns the status of the response.
    async fn notify(&self, method: &str, params: Value) -> Result<u16, Error> {
        let headers = self.headers(method, None).map_err(Error::Header)?;
        let body = message::notification(method, params).to_string();
        let request = self.endpoint.post(headers, body.as_bytes()).map_err(Error::Header)?.body(body).send();
        let response = timeout(NOTE_TIMEOUT, request).await.map_err(|_| Error::Timeout(NOTE_TIMEOUT))?;
        Ok(response.map_err(connection)?.status().as_u16())
    }

    fn next_id(&self) -> u64 {
        self.requests.fetch_add(1, Relaxed) + 1
    }

    /// Returns the headers of a message.
    fn headers(&self, method: &str, name: Option<&str>) -> Result<HeaderMap, &'static str> {
        let mut headers = self.session_headers();
        if method == "initialize" {
            headers.remove(VERSION);
        }
        if self.revision.is_stateless() {
            let value = |text| param_header::value(text).ok_or("its name is too long");
            headers.insert(METHOD, value(method)?);
            if let Some(name) = name {
                headers.insert(NAME, value(name)?);
            }
        }
        Ok(headers)
    }

    /// Returns the headers that every request of the session has.
    fn session_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(VERSION, HeaderValue::from_static(self.revision.as_str()));
        if let Some(id) = &self.id {
            headers.insert(SESSION, id.clone());
        }
        headers
    }
}

/// Waits for a response, and opens the gate when its body is asked for and the caller agrees.
async fn confirmed(
    response: impl Future<Output = reqwest::Result<Response>>,
    gate: Gate,
    observer: &impl Observer,
    sent: &AtomicBool,
) -> Result<Response, Outcome> {
    let mut response = pin!(response);
    let Gate { mut asked, permit } = gate;
    let mut permit = Some(permit);
    loop {
        tokio::select! {
            biased;
            asked = &mut asked, if permit.is_some() => {
                // A body that is gone is never sent, and the response says why.
                if let (Ok(()), Some(permit)) = (asked, permit.take()) {
                    if !observer.may_send() {
                        return Err(Outcome::NotSent(NotSent::NotPermitted));
                    }
                    sent.store(true, Relaxed);
                    // A body that is gone by now has no connection to be written to.
                    let _ = permit.send(());
                }
            }
            response = &mut response => return response.map_err(|error| {
                let error = error.without_url();
                if sent.load(Relaxed) {
                    Outcome::Unknown(Unknown::Connection(error))
                } else {
                    Outcome::NotSent(NotSent::Connection(error))
                }
            }),
        }
    }
}

/// The observer of requests without an effect.
struct Unobserved;

impl Observer for Unobserved {
    fn may_send(&self) -> bool {
        true
    }
}

fn connection(error: reqwest::Error) -> Error {
    Error::Connection(error.without_url())
}

fn rejected(status: u16, error: &RpcError) -> Error {
    let supported = error.data.get("supported").and_then(Value::as_array);
    Error::Rejected {
        status,
        code: error.code,
        message: excerpt(&error.message, MAX_ERROR_TEXT),
        supported: supported.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
    }
}

/// Returns the outcome of a call with a result.
fn done(result: Value, revision: Revision) -> Outcome {
    if revision.is_stateless() {
        match result.get("resultType").and_then(Value::as_str) {
            None | Some("complete") => {}
            Some("input_required") => return Outcome::Refused(Refusal::InputRequired),
            Some(_) => return invalid("the result has an unknown `resultType`"),
        }
    }
    result::parse(result).map_or_else(invalid, Outcome::Done)
}

fn invalid(fault: &'static str) -> Outcome {
    Outcome::Unknown(Unknown::Read(ReadError::Invalid(fault)))
}

fn progress_in(method: &str, params: &Value, id: u64) -> Option<Progress> {
    if method != "notifications/progress" || params.get("progressToken")? != id {
        return None;
    }
    let message = params.get("message").and_then(Value::as_str);
    Some(Progress {
        progress: params.get("progress")?.as_f64()?,
        total: params.get("total").and_then(Value::as_f64),
        message: message.map(|message| excerpt(message, MAX_ERROR_TEXT)),
    })
}
