//! A few requests that tell whether a deployment does what its clients rely on: whole and streamed answers, reads, and
//! what its gateway says by itself.
//!
//! It knows of the API what a client knows, and leaves one session behind.

use std::fmt;
use std::time::{Duration, Instant};

use contracts::paths;
use futures::StreamExt;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use uuid::Uuid;

/// What is asked where nothing else is. A scripted model does what is in brackets.
pub const INSTRUCTION: &str = "Count from one to forty, in words. [[script: pace 20ms; words 40]]";
/// How long a single request may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(300);
/// How long a turn may take to show in its session.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often the session is read meanwhile.
const READ_EVERY: Duration = Duration::from_millis(250);
/// The longest body that the contract takes.
const LONGEST_BODY: usize = contracts::request::limits::MAX_BODY_BYTES;
/// The longest body that API Gateway takes.
const LONGEST_OF_GATEWAY: usize = 10 * 1024 * 1024;
/// How often something is read again, to be compared with the first time.
const READ_AGAIN: usize = 5;

/// A deployment, and who calls it.
#[derive(Debug, Clone)]
pub struct Deployment {
    /// The API's URL, without a slash at its end.
    pub api_url: String,
    /// A token of a user.
    pub token: String,
    /// What the turns ask.
    pub instruction: String,
}

/// What was found: a line for each check.
#[derive(Debug, Default)]
pub struct Report(Vec<(&'static str, Result<String, String>)>);

impl Report {
    /// Whether everything was as it should be.
    pub fn passed(&self) -> bool {
        self.0.iter().all(|(_, found)| found.is_ok())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, found) in &self.0 {
            match found {
                Ok(seen) => writeln!(f, "ok      {what}: {seen}")?,
                Err(why) => writeln!(f, "FAILED  {what}: {why}")?,
            }
        }
        Ok(())
    }
}

type Found = Result<String, String>;

/// Checks everything.
pub async fn run(deployment: &Deployment) -> Report {
    let caller = Caller {
        http: reqwest::Client::builder().timeout(CALL_TIMEOUT).build().unwrap_or_default(),
        deployment,
        session: Uuid::new_v4().simple().to_string(),
    };
    let mut report = Report::default();
    let mut note = |what, found| report.0.push((what, found));
    note("a request after a pause, and the next ones", caller.starts().await);
    note("a turn, and the same again", caller.answers_and_replays().await);
    note("a streamed turn", caller.streams().await);
    note("the session, once its turns are finalized", caller.reads().await);
    note("a body over 4 MiB", caller.refuses_a_body_of(LONGEST_BODY + 1).await);
    note("a body over 10 MiB", caller.refuses_a_body_of(LONGEST_OF_GATEWAY + 1).await);
    note("no token", caller.refuses(Token::None, Method::GET, paths::SESSIONS, 401, "Unauthenticated").await);
    note(
        "no valid token",
        caller.refuses(Token::Wrong, Method::GET, paths::SESSIONS, 401, "Unauthenticated").await,
    );
    note("no such path", caller.refuses(Token::Right, Method::GET, "/api/none", 404, "RouteNotFound").await);
    note("a preflight request", caller.preflight().await);
    report
}

#[derive(Debug, Clone, Copy)]
enum Token {
    Right,
    Wrong,
    None,
}

struct Caller<'a> {
    http: reqwest::Client,
    deployment: &'a Deployment,
    session: String,
}

impl Caller<'_> {
    /// What the start of a function adds shows in the first of several requests.
    async fn starts(&self) -> Found {
        let mut took = Vec::new();
        for _ in 0..=READ_AGAIN {
            let begun = Instant::now();
            let read = self.request(Token::Right, Method::GET, &format!("{}?pageSize=1", paths::SESSIONS));
            whole(read, 200).await?;
            took.push(begun.elapsed());
        }
        let first = took.remove(0);
        took.sort_unstable();
        let usual = took.get(READ_AGAIN / 2).copied().unwrap_or_default();
        Ok(format!("{} ms, then {} ms (median of {READ_AGAIN})", first.as_millis(), usual.as_millis()))
    }

    async fn answers_and_replays(&self) -> Found {
        let turn = self.turn("smoke-1", false);
        let begun = Instant::now();
        let first = whole(self.execute(&turn), 200).await?;
        let (took, again) = (begun.elapsed(), Instant::now());
        is_result(&first)?;
        let second = whole(self.execute(&turn), 200).await?;
        if first != second {
            return Err("the same request again got other bytes".to_owned());
        }
        Ok(format!("{} ms, {} ms", took.as_millis(), again.elapsed().as_millis()))
    }

    async fn streams(&self) -> Found {
        let turn = self.turn("smoke-2", true);
        let begun = Instant::now();
        let response = answered(self.execute(&turn)).await?;
        let kind = header(&response, "content-type");
        if response.status() != 200 || kind != "text/event-stream" {
            return Err(format!("{} with {kind}", response.status()));
        }
        let (mut text, mut pieces, mut first_delta) = (String::new(), 0, None);
        let mut body = response.bytes_stream();
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error| format!("the stream broke: {error}"))?;
            text.push_str(&String::from_utf8_lossy(&piece));
            pieces += 1;
            if first_delta.is_none() && text.contains("event: delta") {
                first_delta = Some((pieces, begun.elapsed()));
            }
        }
        let data = |kind: &str| {
            let all = text.split("\n\n").filter(|event| event.contains(&format!("event: {kind}\n")));
            let data = all.filter_map(|event| event.split_once("data: ").map(|(_, data)| data.to_owned()));
            data.collect::<Vec<_>>()
        };
        let results = data("result");
        let [result] = results.as_slice() else { return Err(format!("{} results", results.len())) };
        is_result(result)?;
        let (at, after) = first_delta.ok_or("no delta")?;
        if at == pieces {
            return Err("all of it came at once: something holds the answer back".to_owned());
        }
        let took = begun.elapsed().as_millis();
        Ok(format!(
            "{} deltas, the first after {} ms, the end after {took} ms",
            data("delta").len(),
            after.as_millis()
        ))
    }

    async fn reads(&self) -> Found {
        let path = paths::SESSION.template().replace("{SessionId}", &self.session);
        let until = Instant::now() + PATIENCE;
        loop {
            let session = whole(self.request(Token::Right, Method::GET, &path), 200).await?;
            let session = is_result(&session)?;
            let turns =
                session.pointer("/Result/Turns").and_then(Value::as_array).cloned().unwrap_or_default();
            let is_complete = |turn: &&Value| turn.pointer("/Status/Id").is_some_and(|id| id == "completed");
            let complete = turns.iter().filter(is_complete).count();
            if complete == 2 {
                return Ok(format!("{complete} turns are complete"));
            }
            if Instant::now() > until {
                return Err(format!("after {} s {complete} of 2 turns are complete", PATIENCE.as_secs()));
            }
            tokio::time::sleep(READ_EVERY).await;
        }
    }

    async fn refuses_a_body_of(&self, bytes: usize) -> Found {
        let turn = json!({"SessionId": self.session, "TurnId": "smoke-3", "Instruction": "x".repeat(bytes)});
        let response = answered(self.execute(&turn)).await?;
        refusal(response, 413, "PayloadTooLarge").await
    }

    async fn refuses(&self, token: Token, method: Method, path: &str, status: u16, code: &str) -> Found {
        let response = answered(self.request(token, method, path)).await?;
        refusal(response, status, code).await
    }

    async fn preflight(&self) -> Found {
        let request = self.request(Token::None, Method::OPTIONS, paths::EXECUTE);
        let request = request.header("Origin", "https://example.com");
        let response = answered(request.header("Access-Control-Request-Method", "POST")).await?;
        let origin = header(&response, "access-control-allow-origin");
        let headers = header(&response, "access-control-allow-headers").to_ascii_lowercase();
        if !response.status().is_success() || origin != "*" || !headers.contains("last-event-id") {
            return Err(format!("{} allows {origin:?} and {headers:?}", response.status()));
        }
        Ok(response.status().as_u16().to_string())
    }

    fn turn(&self, turn: &str, streaming: bool) -> Value {
        let instruction = &self.deployment.instruction;
        json!({"SessionId": self.session, "TurnId": turn, "Instruction": instruction, "Streaming": streaming})
    }

    fn execute(&self, turn: &Value) -> RequestBuilder {
        let request = self.request(Token::Right, Method::POST, paths::EXECUTE);
        request.header("Content-Type", "application/json").body(turn.to_string())
    }

    fn request(&self, token: Token, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.deployment.api_url));
        match token {
            Token::Right => request.bearer_auth(&self.deployment.token),
            Token::Wrong => request.bearer_auth("none"),
            Token::None => request,
        }
    }
}

async fn answered(request: RequestBuilder) -> Result<Response, String> {
    request.send().await.map_err(|error| format!("no answer: {error}"))
}

/// The body of an answer that has this status.
async fn whole(request: RequestBuilder, status: u16) -> Result<String, String> {
    let response = answered(request).await?;
    let was = response.status();
    let text = response.text().await.map_err(|error| format!("the answer broke: {error}"))?;
    if was == status { Ok(text) } else { Err(format!("{was} {}", code(&text))) }
}

fn is_result(body: &str) -> Result<Value, String> {
    let body: Value =
        serde_json::from_str(body.trim()).map_err(|error| format!("the answer is no JSON: {error}"))?;
    let is_successful = body.get("Successful").and_then(Value::as_bool) == Some(true);
    if is_successful { Ok(body) } else { Err(format!("it failed with {}", code(&body.to_string()))) }
}

/// A refusal in the envelope, with the headers that a browser needs to read it.
async fn refusal(response: Response, status: u16, expected: &str) -> Found {
    let (was, origin) = (response.status(), header(&response, "access-control-allow-origin"));
    let text = response.text().await.map_err(|error| format!("the answer broke: {error}"))?;
    let found = code(&text);
    if was == status && found == expected && origin == "*" {
        return Ok(format!("{status} {found}"));
    }
    Err(format!(
        "{was} {found:?}, readable by {origin:?}; it should be {status} {expected}, readable by \"*\""
    ))
}

/// The code of the first error in a body.
fn code(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let code = body.pointer("/Errors/0/ErrorCode").and_then(Value::as_str);
    code.unwrap_or("without an error code").to_owned()
}

fn header(response: &Response, name: &str) -> String {
    let value = response.headers().get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}
