//! A smoke test of a deployment: a few requests that check buffered and streamed responses, reads, and the gateway's
//! own responses.
//!
//! It uses only the public API, and leaves one session behind.

use std::fmt;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use contracts::paths;
use futures::StreamExt;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::api_args::{ApiAccess, ApiArgs, Target};
use crate::failure::Failure;
use crate::folder_args::FolderArgs;
use crate::output::print;

/// Default instruction. The mock model follows the script in brackets.
const DEFAULT_INSTRUCTION: &str = "Count from one to forty, in words. [[script: pace 20ms; words 40]]";
/// Timeout of a single request.
const CALL_TIMEOUT: Duration = Duration::from_secs(300);
/// Timeout for the turns to show up in their session.
const FINALIZE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time between reads of the session.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Largest request body that the contract allows.
const MAX_BODY_BYTES: usize = contracts::request::limits::MAX_BODY_BYTES;
/// Largest request body that API Gateway accepts.
const MAX_GATEWAY_BODY_BYTES: usize = 10 * 1024 * 1024;
/// Route of the OpenAI-compatible API that needs no model call.
const MODELS: &str = "/v1/models";
/// Warm reads that are compared with the first one.
const REPEATED_READS: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct Smoke {
    #[command(flatten)]
    api: ApiArgs,
    #[command(flatten)]
    folder: FolderArgs,
    /// Instruction of the turns
    #[arg(long, value_name = "TEXT", default_value = DEFAULT_INSTRUCTION)]
    instruction: String,
    /// Skip the APIs under /v1, for a stack with OpenAiCompatibleApi=false
    #[arg(long)]
    skip_v1: bool,
}

/// A deployment and its caller.
struct Deployment {
    /// URL of the API, without a trailing slash.
    api_url: String,
    /// A token of a user.
    token: String,
    /// Instruction of the turns.
    instruction: String,
    /// True if the APIs under `/v1` are not checked.
    skips_v1: bool,
}

/// Runs the checks against a deployment, and prints a line for each.
pub(crate) async fn smoke(arguments: Smoke) -> Result<ExitCode, Failure> {
    let Smoke { api, folder, instruction, skip_v1: skips_v1 } = arguments;
    let (url, token) = match api.resolve()? {
        Target::Deployment(ApiAccess { url, token }) => (url, token.fetch().await?),
        Target::Local(target) => target.or_find(&folder)?.user_token()?,
    };
    let api_url = url.trim_end_matches('/').to_owned();
    let report = run(&Deployment { api_url, token, instruction, skips_v1 }).await;
    print(&report.to_string())?;
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Results of the checks, one line each.
#[derive(Debug, Default)]
struct Report(Vec<(&'static str, Result<String, String>)>);

impl Report {
    /// Returns true if every check passed.
    fn passed(&self) -> bool {
        self.0.iter().all(|(_, found)| found.is_ok())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, found) in &self.0 {
            match found {
                Ok(details) => writeln!(f, "ok      {what}: {details}")?,
                Err(why) => writeln!(f, "FAILED  {what}: {why}")?,
            }
        }
        Ok(())
    }
}

type CheckResult = Result<String, String>;

/// Runs every check.
async fn run(deployment: &Deployment) -> Report {
    let caller = Caller {
        http: reqwest::Client::builder().timeout(CALL_TIMEOUT).build().unwrap_or_default(),
        deployment,
        session: Uuid::new_v4().simple().to_string(),
    };
    let mut report = Report::default();
    let mut add = |what, found| report.0.push((what, found));
    add("first request and warm requests", caller.check_start_latency().await);
    add("turn and replay", caller.check_replay().await);
    add("streamed turn", caller.check_stream().await);
    add("session with finalized turns", caller.check_finalized().await);
    if !deployment.skips_v1 {
        add("models of the OpenAI-compatible API", caller.check_models().await);
    }
    add("body over 4 MiB", caller.check_body_limit(MAX_BODY_BYTES + 1).await);
    add("body over 10 MiB", caller.check_body_limit(MAX_GATEWAY_BODY_BYTES + 1).await);
    add(
        "missing token",
        caller.check_refusal(Token::None, Method::GET, paths::SESSIONS, 401, "Unauthenticated").await,
    );
    add(
        "invalid token",
        caller.check_refusal(Token::Invalid, Method::GET, paths::SESSIONS, 401, "Unauthenticated").await,
    );
    add(
        "unknown path",
        caller.check_refusal(Token::Valid, Method::GET, "/api/none", 404, "RouteNotFound").await,
    );
    add("CORS preflight", caller.check_preflight().await);
    report
}

#[derive(Debug, Clone, Copy)]
enum Token {
    Valid,
    Invalid,
    None,
}

struct Caller<'a> {
    http: reqwest::Client,
    deployment: &'a Deployment,
    session: String,
}

impl Caller<'_> {
    /// Measures the latency of several requests. The cost of a cold start shows in the first one.
    async fn check_start_latency(&self) -> CheckResult {
        let mut took = Vec::new();
        for _ in 0..=REPEATED_READS {
            let started = Instant::now();
            let read = self.request(Token::Valid, Method::GET, &format!("{}?pageSize=1", paths::SESSIONS));
            fetch(read, 200).await?;
            took.push(started.elapsed());
        }
        let first = took.remove(0);
        took.sort_unstable();
        let median = took.get(REPEATED_READS / 2).copied().unwrap_or_default();
        Ok(format!("{} ms, then {} ms (median of {REPEATED_READS})", first.as_millis(), median.as_millis()))
    }

    async fn check_replay(&self) -> CheckResult {
        let turn = self.turn("smoke-1", false);
        let started = Instant::now();
        let first = fetch(self.execute(&turn), 200).await?;
        let (took, again) = (started.elapsed(), Instant::now());
        parse_result(&first)?;
        let second = fetch(self.execute(&turn), 200).await?;
        if first != second {
            return Err("the replay returned different bytes".to_owned());
        }
        Ok(format!("{} ms, {} ms", took.as_millis(), again.elapsed().as_millis()))
    }

    async fn check_stream(&self) -> CheckResult {
        let turn = self.turn("smoke-2", true);
        let started = Instant::now();
        let response = send(self.execute(&turn)).await?;
        let kind = header(&response, "content-type");
        if response.status() != 200 || kind != "text/event-stream" {
            let status = response.status();
            return Err(format!("expected 200 with text/event-stream, got {status} with {kind}"));
        }
        let (mut text, mut pieces, mut first_delta) = (String::new(), 0, None);
        let mut body = response.bytes_stream();
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error| format!("the stream broke: {error}"))?;
            text.push_str(&String::from_utf8_lossy(&piece));
            pieces += 1;
            if first_delta.is_none() && text.contains("event: delta") {
                first_delta = Some((pieces, started.elapsed()));
            }
        }
        let data = |kind: &str| {
            let all = text.split("\n\n").filter(|event| event.contains(&format!("event: {kind}\n")));
            let data = all.filter_map(|event| event.split_once("data: ").map(|(_, data)| data.to_owned()));
            data.collect::<Vec<_>>()
        };
        let results = data("result");
        let [result] = results.as_slice() else {
            return Err(format!("expected one result, got {}", results.len()));
        };
        parse_result(result)?;
        let (at, after) = first_delta.ok_or("the stream has no delta")?;
        if at == pieces {
            return Err("everything arrived at once: something buffers the stream".to_owned());
        }
        let took = started.elapsed().as_millis();
        Ok(format!(
            "{} deltas, first after {} ms, complete after {took} ms",
            data("delta").len(),
            after.as_millis()
        ))
    }

    async fn check_finalized(&self) -> CheckResult {
        let path = paths::SESSION.template().replace("{SessionId}", &self.session);
        let until = Instant::now() + FINALIZE_TIMEOUT;
        loop {
            let session = fetch(self.request(Token::Valid, Method::GET, &path), 200).await?;
            let session = parse_result(&session)?;
            let turns =
                session.pointer("/Result/Turns").and_then(Value::as_array).cloned().unwrap_or_default();
            let is_complete = |turn: &&Value| turn.pointer("/Status/Id").is_some_and(|id| id == "completed");
            let complete = turns.iter().filter(is_complete).count();
            if complete == 2 {
                return Ok(format!("{complete} turns are completed"));
            }
            if Instant::now() > until {
                return Err(format!(
                    "only {complete} of 2 turns are completed after {} s",
                    FINALIZE_TIMEOUT.as_secs()
                ));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Reads a route outside of the native prefix, which a base path or a proxy in front can break by itself.
    async fn check_models(&self) -> CheckResult {
        let text = fetch(self.request(Token::Valid, Method::GET, MODELS), 200).await?;
        let body: Value =
            serde_json::from_str(&text).map_err(|error| format!("the response is not JSON: {error}"))?;
        let models = body.get("data").and_then(Value::as_array).map_or(0, Vec::len);
        if models == 0 { Err("the list is empty".to_owned()) } else { Ok(format!("{models} models")) }
    }

    async fn check_body_limit(&self, bytes: usize) -> CheckResult {
        let turn = json!({"SessionId": self.session, "TurnId": "smoke-3", "Instruction": "x".repeat(bytes)});
        let response = send(self.execute(&turn)).await?;
        expect_refusal(response, 413, "PayloadTooLarge").await
    }

    async fn check_refusal(
        &self,
        token: Token,
        method: Method,
        path: &str,
        status: u16,
        code: &str,
    ) -> CheckResult {
        let response = send(self.request(token, method, path)).await?;
        expect_refusal(response, status, code).await
    }

    async fn check_preflight(&self) -> CheckResult {
        let request = self.request(Token::None, Method::OPTIONS, paths::EXECUTE);
        let request = request.header("Origin", "http://localhost:5173");
        let response = send(request.header("Access-Control-Request-Method", "POST")).await?;
        let origin = header(&response, "access-control-allow-origin");
        let headers = header(&response, "access-control-allow-headers").to_ascii_lowercase();
        // The wildcard doesn't include it.
        let allows_all =
            headers.split(',').any(|name| name.trim() == "*") && headers.contains("authorization");
        if !response.status().is_success() || origin != "*" || !allows_all {
            let status = response.status();
            return Err(format!(
                "expected a success that allows \"*\" and all headers with Authorization, got {status} that allows {origin:?} and {headers:?}"
            ));
        }
        Ok(response.status().as_u16().to_string())
    }

    fn turn(&self, turn: &str, streaming: bool) -> Value {
        let instruction = &self.deployment.instruction;
        json!({"SessionId": self.session, "TurnId": turn, "Instruction": instruction, "Streaming": streaming})
    }

    fn execute(&self, turn: &Value) -> RequestBuilder {
        let request = self.request(Token::Valid, Method::POST, paths::EXECUTE);
        request.header("Content-Type", "application/json").body(turn.to_string())
    }

    fn request(&self, token: Token, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.deployment.api_url));
        match token {
            Token::Valid => request.bearer_auth(&self.deployment.token),
            Token::Invalid => request.bearer_auth("none"),
            Token::None => request,
        }
    }
}

async fn send(request: RequestBuilder) -> Result<Response, String> {
    request.send().await.map_err(|error| format!("no response: {error}"))
}

/// Sends a request and returns the body of its response, which must have this status.
async fn fetch(request: RequestBuilder, status: u16) -> Result<String, String> {
    let response = send(request).await?;
    let actual = response.status();
    let text = response.text().await.map_err(|error| format!("the response broke off: {error}"))?;
    if actual == status {
        Ok(text)
    } else {
        Err(format!("expected {status}, got {actual} with {}", code(&text)))
    }
}

fn parse_result(body: &str) -> Result<Value, String> {
    let body: Value =
        serde_json::from_str(body.trim()).map_err(|error| format!("the response is not JSON: {error}"))?;
    let is_successful = body.get("Successful").and_then(Value::as_bool) == Some(true);
    if is_successful {
        Ok(body)
    } else {
        Err(format!("expected a successful result, got {}", code(&body.to_string())))
    }
}

/// Checks that a response is an error with an envelope and with the CORS headers that browsers need.
async fn expect_refusal(response: Response, status: u16, expected: &str) -> CheckResult {
    let (actual, origin) = (response.status(), header(&response, "access-control-allow-origin"));
    let text = response.text().await.map_err(|error| format!("the response broke off: {error}"))?;
    let found = code(&text);
    if actual == status && found == expected && origin == "*" {
        return Ok(format!("{status} {found}"));
    }
    Err(format!(
        "expected {status} with {expected} and allowed origin \"*\", got {actual} with {found} and {origin:?}"
    ))
}

/// Returns the code of the first error in a body.
fn code(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let code = body.pointer("/Errors/0/ErrorCode").and_then(Value::as_str);
    code.unwrap_or("(no error code)").to_owned()
}

fn header(response: &Response, name: &str) -> String {
    let value = response.headers().get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}
