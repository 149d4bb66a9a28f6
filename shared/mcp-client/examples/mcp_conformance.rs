//! The client under test of the protocol's conformance suite, and of `scripts/mcp-servers`.
//!
//!     mcp_conformance URL
//!
//! Lists the tools of the server, calls each with the arguments that the suite names or with values that fit the schema,
//! and prints the outcomes. `MCP_CONFORMANCE_PROTOCOL_VERSION` sets a revision; without it, both sides agree on one.
//! `MCP_CALLS` is a JSON array of `{"name", "arguments"}` in the place of the suite's.

#![allow(clippy::print_stdout, reason = "a program for tests")]

use std::{env, error::Error, time::Duration};

use mcp_client::{Call, Client, Observer, Outcome, Progress, Revision, Tool};
use serde_json::{Map, Value, json};

/// The echo of the scenario `json-schema-2020-12-preservation`, which compares the schema of the other tool.
const ECHO: &str = "json_schema_echo";

struct Print;

impl Observer for Print {
    fn may_send(&self) -> bool {
        true
    }

    fn progress(&self, progress: Progress) {
        println!("progress {}", progress.progress);
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().nth(1).ok_or("expected a URL")?;
    let http = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(0)
        .build()?;
    let client = Client::new(&http, url.parse()?, None, Duration::from_secs(30))?;
    let session = match env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").as_deref() {
        Ok("2025-11-25") => client.connect_at(Revision::V2025_11_25).await?,
        _ => client.connect().await?,
    };
    println!("revision {}", session.revision().as_str());
    let list = session.list_tools().await?;
    for excluded in &list.excluded {
        println!("excluded {}: {}", excluded.name, excluded.reason);
    }
    for tool in &list.tools {
        println!("tool {}", tool.name);
    }
    let mut failed = false;
    for (name, arguments) in calls(&list.tools)? {
        let headers = list.tools.iter().find(|tool| tool.name == name).map(|tool| tool.headers.as_slice());
        let call = Call {
            name: &name,
            arguments: &arguments,
            headers: headers.unwrap_or_default(),
            key: None,
            timeout: Duration::from_secs(20),
        };
        let outcome = session.call(&call, &Print).await;
        match &outcome {
            Outcome::Done(result) if result.is_error => println!("error {name} {:?}", result.content),
            Outcome::Done(result) => println!("done {name} {:?} {:?}", result.content, result.structured),
            other => println!("failed {name} {other:?}"),
        }
        failed |= !matches!(outcome, Outcome::Done(_));
    }
    session.close().await;
    if failed { Err("a call failed".into()) } else { Ok(()) }
}

/// Returns the calls that the environment names, or one of each tool.
fn calls(tools: &[Tool]) -> Result<Vec<(String, Value)>, Box<dyn Error>> {
    let context: Value = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(context) => serde_json::from_str(&context)?,
        Err(_) => Value::Null,
    };
    let named = match env::var("MCP_CALLS") {
        Ok(calls) => serde_json::from_str(&calls)?,
        Err(_) => context.get("toolCalls").cloned().unwrap_or_default(),
    };
    if let Value::Array(named) = named {
        let name = |call: &Value| call.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        return Ok(named
            .iter()
            .map(|call| (name(call), call.get("arguments").cloned().unwrap_or(json!({}))))
            .collect());
    }
    let focal = tools.iter().find(|tool| tool.name != ECHO).map(|tool| tool.input_schema.clone());
    Ok(tools
        .iter()
        .map(|tool| match &focal {
            Some(schema) if tool.name == ECHO => (tool.name.clone(), json!({ "schema": schema })),
            _ => (tool.name.clone(), sample(&tool.input_schema)),
        })
        .collect())
}

/// Returns arguments with the required properties of a schema.
fn sample(schema: &Value) -> Value {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let names = required.filter_map(Value::as_str);
    let value = |name: &str| {
        let property = schema.get("properties").and_then(|properties| properties.get(name));
        match property.and_then(|property| property.get("type")).and_then(Value::as_str) {
            Some("number" | "integer") => json!(2),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("text"),
        }
    };
    Value::Object(names.map(|name| (name.to_owned(), value(name))).collect::<Map<_, _>>())
}
