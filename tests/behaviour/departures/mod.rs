//! Departures of servers and models from the published APIs, on every wire, streamed and buffered. Each row is a reply:
//! the turn is answered or the model is told of its failed call, the session goes on, also after a lost chain and on a
//! provider of another wire, and every request fits the published schema.

mod conditions;
mod provider;
mod replies;

use std::sync::Arc;

use contracts::paths;
use futures::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};

use crate::client_tools::results;
use crate::support::{Client, System, declaring, final_text_and_result, turn_in};
use crate::wires::WIRES;
use conditions::{Condition, conditions};
use provider::{Provider, RowId, call_ids, response_id};
use replies::{Api, Draft, Part};

/// The sessions that run at the same time.
const CONCURRENT_SESSIONS: usize = 4;

/// The rows of a session, each the next turn of the one before it.
const ROWS_OF_A_SESSION: usize = 8;

/// The starts of messages that tell the model of its failed call.
const FAILURES: [&str; 3] =
    ["There is no such tool", "The arguments are not a JSON text", "The arguments do not fit"];

const RESULT: &str = "a plum";

const APIS: [Api; 4] = [Api::Responses, Api::Chat, Api::Messages, Api::Converse];

/// The system, its user, and a provider of each API.
struct Stack {
    system: System,
    ada: Client,
    providers: Vec<Arc<Provider>>,
}

/// Returns the context of this API whose fallback is a provider of another one.
fn context(api: Api, other: Api) -> String {
    format!("{api:?}-{other:?}")
}

impl Stack {
    async fn start() -> Self {
        let providers: Vec<_> = futures::future::join_all(APIS.map(Provider::start)).await;
        let declared = WIRES.iter().zip(&providers).map(|(wire, provider)| {
            json!({
                "Name": wire.name, "BaseUrl": provider.base, "Wire": wire.name, "KeySetting": "OPENAI_API_KEY",
            })
        });
        let mut options = declaring(&declared.collect());
        options.environment.insert("OPENAI_BREAKER_FAILURES".to_owned(), "0".to_owned());
        let system = System::with(options).await;
        let tool = json!({
            "Name": "look", "Description": "Looks.", "ExecutedBy": "client",
            "Parameters": { "type": "object", "properties": { "at": { "type": "integer" } } },
        });
        let pairs = APIS.iter().flat_map(|api| APIS.iter().map(move |other| (*api, *other)));
        let contexts = pairs.map(|(api, other)| {
            let (wire, next) = (&WIRES[api as usize], &WIRES[other as usize]);
            let mut context = json!({
                "Kind": "conversation", "Id": context(api, other), "Name": "Departures", "System": "Be brief.",
                "Provider": wire.name, "ModelName": wire.model, "ClientTools": [tool],
                "Fallbacks": [{ "Provider": next.name, "ModelName": format!("next-{}", next.model) }],
            });
            // A provider that loses a chain twice in a row would be taken for one without any.
            if api == Api::Responses {
                context["Chain"] = json!("provider");
            }
            context
        });
        system.put_contexts("acme", &contexts.collect()).await;
        let ada = system.client("acme", "ada");
        Self { system, ada, providers }
    }

    fn provider(&self, api: Api) -> &Provider {
        &self.providers[api as usize]
    }

    /// Executes a turn, streamed or not. Returns its result, or the code of its error.
    async fn execute(&self, turn: &Value, is_streamed: bool) -> Result<Value, String> {
        let mut turn = turn.clone();
        turn["Streaming"] = json!(is_streamed);
        self.send(paths::EXECUTE, &turn).await
    }

    /// Sends a turn, or the results of its tools.
    async fn send(&self, path: &str, body: &Value) -> Result<Value, String> {
        let answer = match self.ada.stream(Method::POST, path, None, Some(body)).await {
            Err(answer) => answer.text,
            Ok(events) => {
                let (text, result) = final_text_and_result(&events.rest().await);
                let parsed: Value = serde_json::from_str(&result).unwrap();
                let shown = parsed["Result"]["PrimaryOutputText"].as_str();
                if shown.is_some_and(|shown| !shown.ends_with(&text)) {
                    return Err(format!("streamed {text:?}, answered {shown:?}"));
                }
                result
            }
        };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        match answer["Successful"] == true {
            true => Ok(answer["Result"].clone()),
            false => Err(answer["Errors"].to_string()),
        }
    }

    /// Returns a turn of a session, whose provider falls back to another one.
    fn turn(place: RowId, (api, other): (Api, Api), script: &str) -> Value {
        let (session, row) = place;
        let instruction = format!("Look (row {session}/{row}). [[script: {script}]]");
        let mut turn = turn_in(&format!("session-{session}"), &instruction);
        turn["ConversationContextId"] = json!(context(api, other));
        turn
    }

    /// Runs a row as the next turn of a session. Returns why it failed.
    async fn run(&self, place: RowId, apis: (Api, Api), condition: &Condition) -> Result<(), String> {
        let Condition { api, is_streamed, parts, change, .. } = condition;
        let mut reply = Draft::new(*api, *is_streamed, parts, &response_id(place));
        change(&mut reply);
        self.provider(*api).expect(place.0, reply, parts);
        let mut result = self.execute(&Self::turn(place, apis, "say \"Done.\""), *is_streamed).await?;
        let calls = client_calls(parts);
        if !calls.is_empty() {
            check_continuation(&result, &calls, parts)?;
            result = self.send(paths::TOOL_RESULTS, &results(&result, RESULT)).await?;
        }
        let answer = result["PrimaryOutputText"].as_str().ok_or_else(|| format!("no answer: {result}"))?;
        let has_calls = parts.iter().any(|part| matches!(part, Part::Call(..)));
        if has_calls != answer.ends_with("Done.") || !has_calls && answer != text(parts) {
            return Err(format!("answered {answer:?}"));
        }
        self.check_requests(place.0, apis)
    }

    /// Checks that no request of a session was refused.
    fn check_requests(&self, session: usize, (api, other): (Api, Api)) -> Result<(), String> {
        let faults = [api, other].map(|api| self.provider(api).take_faults(session)).concat();
        if faults.is_empty() { Ok(()) } else { Err(faults.join(", ")) }
    }

    /// Goes on with a session of rows with these parts: in a next turn, after a lost chain, and on another provider.
    async fn go_on(&self, place: RowId, apis: (Api, Api), parts: &[Part]) -> Result<(), String> {
        let (api, other) = apis;
        let failing = format!("status 503 for {} retry-after-ms 1; ", WIRES[api as usize].model);
        for (script, expected) in [
            ("say \"Next.\"", "Next."),
            ("forget; say \"Still here.\"", "Still here."),
            (&format!("{failing}say \"Moved.\""), "Moved."),
        ] {
            let result = self.execute(&Self::turn(place, apis, script), false).await;
            let result = result.map_err(|error| format!("{expected} {error}"));
            let result = result.and_then(|result| self.check_requests(place.0, apis).map(|()| result))?;
            if result["PrimaryOutputText"] != expected {
                return Err(format!("{expected} {result}"));
            }
        }
        let requests = self.provider(api).requests(place.0);
        // The last one failed, for the fallback.
        let replayed = requests.iter().rev().nth(1).ok_or("no request after a lost chain")?;
        let moved = self.provider(other).requests(place.0);
        let moved = moved.last().ok_or("no request of the fallback")?;
        check_history(replayed, parts).map_err(|error| format!("after a lost chain: {error}"))?;
        check_history(moved, parts).map_err(|error| format!("on the fallback: {error}"))?;
        for part in parts {
            let Part::Call(id, ..) = part else { continue };
            if !id.is_empty() && !call_ids(replayed).contains(&id.as_str()) {
                return Err(format!("the provider didn't get its id {id:?} back"));
            }
            if call_ids(moved).contains(&id.as_str()) {
                return Err(format!("another provider got the id {id:?}"));
            }
        }
        Ok(())
    }

    /// Runs rows in a session, and the rest in another one after a failure. Returns why rows failed.
    async fn run_all(&self, rows: Vec<Condition>, number: usize) -> Vec<String> {
        let others: Vec<Api> = APIS.into_iter().filter(|other| *other != rows[0].api).collect();
        let apis = (rows[0].api, others[number % others.len()]);
        let (mut failed, mut told, mut session) = (Vec::new(), Vec::new(), number);
        for (row, condition) in rows.iter().enumerate() {
            match self.run((session, row), apis, condition).await {
                Ok(()) => told.push(condition),
                Err(why) => {
                    failed.push(shown(&[condition], &why));
                    (told, session) = (Vec::new(), session + 10_000);
                }
            }
        }
        let parts: Vec<Part> = told.iter().flat_map(|condition| condition.parts.clone()).collect();
        if let Err(why) = self.go_on((session, rows.len()), apis, &parts).await {
            failed.push(shown(&told, &why));
        }
        failed
    }
}

/// Shows rows that failed.
fn shown(rows: &[&Condition], why: &str) -> String {
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let row = rows
        .first()
        .map(|row| format!("{:?}, {}", row.api, if row.is_streamed { "streamed" } else { "buffered" }));
    let why: String = why.chars().take(4_000).collect();
    format!("| {} | {} | {why} |", names.join(", "), row.unwrap_or_default())
}

/// Returns the text of a reply.
fn text(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(deltas) => Some(decoded(deltas)),
        _ => None,
    });
    texts.collect::<Vec<_>>().concat()
}

fn decoded(deltas: &[&str]) -> String {
    let literal = format!("\"{}\"", deltas.concat());
    let whole = || serde_json::from_str(&literal.replace("\\ud83d", "\u{fffd}"));
    serde_json::from_str(&literal).or_else(|_| whole()).unwrap()
}

/// Returns the arguments of the calls that the client has to get: of its tool, and valid.
fn client_calls(parts: &[Part]) -> Vec<Value> {
    let calls = parts.iter().filter_map(|part| match part {
        Part::Call(_, name, arguments) if name == "look" => {
            let arguments = if arguments.is_empty() { "{}" } else { arguments };
            let value: Value = serde_json::from_str(arguments).ok()?;
            (value.is_object() && (value["at"].is_null() || value["at"].is_i64())).then_some(value)
        }
        _ => None,
    });
    calls.collect()
}

fn check_continuation(result: &Value, expected: &[Value], parts: &[Part]) -> Result<(), String> {
    let calls = result["ToolCalls"].as_array().ok_or_else(|| format!("no call: {result}"))?;
    let arguments: Vec<Value> = calls
        .iter()
        .map(|call| serde_json::from_str(call["ArgumentsJson"].as_str().unwrap()).unwrap())
        .collect();
    if arguments != expected {
        return Err(format!("calls {arguments:?}"));
    }
    let mut ids: Vec<&str> = calls.iter().map(|call| call["ToolCallId"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    let is_own = |id: &&str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if ids.len() != calls.len() || !ids.iter().all(is_own) {
        return Err(format!("call ids {ids:?}"));
    }
    let message = result["ToolContinuationMessage"].as_str().unwrap_or_default();
    let is_whole = parts.iter().filter(|part| matches!(part, Part::Text(_))).count() > 1
        || message.trim() == text(parts).trim();
    if is_whole { Ok(()) } else { Err(format!("said {message:?}")) }
}

/// Checks that a request with the whole history tells each text as often as it was said, and the results of the calls.
fn check_history(request: &Value, parts: &[Part]) -> Result<(), String> {
    let shown = request.to_string();
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(deltas) => Some(decoded(deltas)).filter(|text| !text.trim().is_empty()),
        _ => None,
    });
    let texts: Vec<String> = texts.collect();
    for text in &texts {
        let count = shown.matches(json!(text).to_string().trim_matches('"')).count();
        let said = texts.iter().filter(|it| *it == text).count();
        if count != said {
            return Err(format!("{text:?} is told {count} times instead of {said}: {shown}"));
        }
    }
    let calls = client_calls(parts).len();
    let failed = parts.iter().filter(|part| matches!(part, Part::Call(..))).count() - calls;
    let told = FAILURES.iter().map(|failure| shown.matches(failure).count()).sum::<usize>();
    if shown.matches(RESULT).count() < calls || told < failed {
        return Err(format!("results are missing: {shown}"));
    }
    Ok(())
}

#[tokio::test]
async fn every_departure_is_answered_or_told_to_the_model() {
    let stack = Stack::start().await;
    let only = std::env::var("DEPARTURE").unwrap_or_default();
    let mut sessions: Vec<Vec<Condition>> = Vec::new();
    for api in APIS {
        for is_streamed in [true, false] {
            let is_it = |row: &Condition| {
                row.api == api && row.is_streamed == is_streamed && row.name.contains(&only)
            };
            let mut rows: Vec<Condition> = conditions().into_iter().filter(is_it).collect();
            while !rows.is_empty() {
                let rest = rows.split_off(rows.len().min(ROWS_OF_A_SESSION));
                sessions.push(std::mem::replace(&mut rows, rest));
            }
        }
    }
    let count: usize = sessions.iter().map(Vec::len).sum();
    let ran = futures::stream::iter(sessions.into_iter().enumerate())
        .map(|(number, rows)| stack.run_all(rows, number))
        .buffer_unordered(CONCURRENT_SESSIONS);
    let failed: Vec<String> = ran.collect::<Vec<_>>().await.concat();
    assert!(failed.is_empty(), "{} of {count} rows:\n{}", failed.len(), failed.join("\n"));
    stack.system.cloud.shutdown().await;
}
