//! Log lines of the functions, joined by `X-Correlation-ID` (docs/reference/logs.md).

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use aws_sdk_dynamodb::types::AttributeValue;
use futures::{StreamExt, stream};
use local::{Function, Options, token::Identity};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, PATIENCE, System, line, options, session_path, turn, turn_in, turn_path,
};

const EXECUTE: &str = "/api/ai/agent/execute";

/// Sends a turn under a name of the client's choice.
async fn named(client: &Client, name: &str, turn: &Value) -> Answer {
    let headers = [("content-type", "application/json"), ("x-correlation-id", name)];
    client.raw(Method::POST, EXECUTE, &headers, turn.to_string().into_bytes()).await
}

#[track_caller]
fn is_about(line: &Value, turn: &Value) {
    let about = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let [org, session, turn] = [&json!("acme"), &turn["SessionId"], &turn["TurnId"]];
    assert_eq!(
        [&json!(about("org")), &json!(about("session")), &json!(about("turn"))],
        [org, session, turn],
        "{line}"
    );
}

#[tokio::test]
async fn all_log_lines_of_a_turn_have_the_clients_correlation_id() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("Say nothing of Xanadu [[script: status 400]]");
    let refused = named(&ada, "joined-1", &request).await;
    assert_eq!(
        (refused.error().as_str(), refused.header("x-correlation-id")),
        ("ModelRejected", Some("joined-1"))
    );

    let joined = |line: &Value| line["correlation"] == "joined-1";
    let lines = system.logged(Function::Execute, "request", joined).await;
    for line in &lines {
        is_about(line, &request);
        assert_eq!(
            (&line["user"], &line["path"], &line["method"]),
            (&json!("ada"), &json!(EXECUTE), &json!("POST"))
        );
        assert!(line["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{line}");
    }
    assert_eq!(line(&lines, "request")["status"], 502);
    assert_eq!(line(&lines, "model call failed")["status"], 400, "so does the work in a task of its own");

    let of_turn = |line: &Value| line["turn"] == request["TurnId"];
    let lines = system.logged(Function::TurnFinalizer, "turn message handled", of_turn).await;
    for line in &lines {
        is_about(line, &request);
        assert_eq!(line["kind"], "turn_settled");
        assert!(line["message_id"].as_str().is_some_and(|id| !id.is_empty()), "{line}");
        assert_eq!(line["correlation"], "joined-1", "the announcement carries it");
    }
    assert_eq!(line(&lines, "turn message handled")["finalized"], true);
    for function in Function::ALL {
        let log = std::fs::read_to_string(system.cloud.log_file(function)).unwrap();
        assert!(!log.contains("Xanadu"), "what was asked is in the log of {}", function.name());
    }
}

#[tokio::test]
async fn turn_read_logs_its_session_and_turn_ids() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    ada.execute(&request).await.result();
    let reads = [("read-1", turn_path(&request)), ("read-2", format!("{}/stream", turn_path(&request)))];
    for (name, path) in &reads {
        let answer = ada.raw(Method::GET, path, &[("x-correlation-id", name)], Vec::new()).await;
        assert_eq!((answer.status, answer.header("x-correlation-id")), (200, Some(*name)), "{}", answer.text);
        let lines =
            system.logged(Function::SessionRead, "request", |line| line["correlation"] == *name).await;
        is_about(line(&lines, "request"), &request);
    }
}

#[tokio::test]
async fn every_response_carries_its_request_id() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let events = ada.execute_streaming(&turn("hello"), None).await.unwrap_or_else(|_| panic!("no stream"));
    let of_gateway = events.headers["x-amzn-requestid"].clone();
    assert_eq!(events.headers["x-correlation-id"], of_gateway, "the gateway names what its client did not");
    let exposed = events.headers["access-control-expose-headers"].to_str().unwrap();
    assert!(exposed.split(", ").any(|name| name == "X-Correlation-ID"), "{exposed}");
    events.rest().await;

    let malformed = named(&ada, "wrong-1", &json!({})).await;
    assert_eq!((malformed.status, malformed.header("x-correlation-id")), (400, Some("wrong-1")));
    let unknown = ada.get(&turn_path(&turn("never sent"))).await;
    assert_eq!(
        (unknown.status, unknown.header("x-correlation-id")),
        (404, unknown.header("x-amzn-requestid"))
    );
    for not_a_name in ["two words", "", &"x".repeat(129)] {
        let answer = named(&ada, not_a_name, &turn("hello")).await;
        assert_eq!(answer.status, 200, "no turn is refused for its name: {}", answer.text);
        assert_eq!(answer.header("x-correlation-id"), answer.header("x-amzn-requestid"), "{not_a_name}");
    }
}

#[tokio::test]
async fn finalizer_logs_name_the_message() {
    let system = System::start().await;
    let queue = &system.cloud.endpoints().finalize_queue;
    let sent = system.cloud.sqs().send_message().queue_url(queue).message_body(r#"{"Kind":"Xanadu"}"#).send();
    let id = sent.await.expect("sent").message_id.expect("an id");
    let of_message = |line: &Value| line["message_id"] == id;
    let lines = system.logged(Function::TurnFinalizer, "queue message failed", of_message).await;
    let line_of_it = line(&lines, "queue message failed");
    assert_eq!(
        line_of_it["error"],
        "the message is not a finalize message: unexpected JSON structure at line 1, column 16"
    );
    assert_eq!(line_of_it["correlation"], id, "what nobody named is correlated with itself");

    system.cloud.sweep().await.expect("a sweep");
    let lines = system.logged(Function::TurnFinalizer, "sweep", |line| line["kind"] == "sweep").await;
    let swept = line(&lines, "sweep");
    assert_eq!(swept["correlation"], swept["message_id"]);
    assert!(swept["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{swept}");
}

/// An unreadable response of a service, which looks like user content.
const UNREADABLE: &str = "marker {\"marker\": [\"marker\"";

/// A service that answers every request with it.
async fn unreadable_service(status: u16) -> String {
    let answer = move || {
        let status = axum::http::StatusCode::from_u16(status).unwrap();
        std::future::ready((status, [("content-type", "application/x-amz-json-1.0")], UNREADABLE))
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(answer)).await });
    url
}

/// I14: every port gets unreadable answers, and neither logs nor clients see their content.
#[tokio::test]
async fn unreadable_service_response_is_in_no_log_and_no_response() {
    let secret = ("OPENAI_API_KEY_SECRET_ARN", "arn:aws:secretsmanager:us-east-1:123456789012:secret:key");
    let ports: [(&str, &[(&str, &str)]); 5] = [
        ("AWS_ENDPOINT_URL_DYNAMODB", &[]),
        ("AWS_ENDPOINT_URL_S3", &[]),
        ("AWS_ENDPOINT_URL_SQS", &[]),
        ("AWS_ENDPOINT_URL_SECRETS_MANAGER", &[("OPENAI_API_KEY", ""), secret]),
        ("OPENAI_BASE_URL", &[("OPENAI_RETRIES", "0")]),
    ];
    let cases = ports.iter().flat_map(|port| [200, 400, 500].map(|status| (port, status)));
    // Most of them wait for a timeout.
    stream::iter(cases)
        .for_each_concurrent(4, async |((port, more), status)| {
            let url = unreadable_service(status).await;
            // A turn whose outcome can't be stored ends about 10 s before its function.
            let mut options = Options { timeout: Some(Duration::from_secs(25)), ..options() };
            let settings = more.iter().copied().chain([(*port, url.as_str())]);
            options.environment.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
            let system = System::with(options).await;
            let ada = system.client("acme", "ada");
            let request = turn("hello");
            let answers = [ada.execute(&request).await.text, ada.get(&turn_path(&request)).await.text];
            let logs = system.until_logs(|logs| logs.contains(r#""error":"#)).await;
            for told in [&answers[0], &answers[1], &logs] {
                assert!(!told.contains("marker"), "{port} {status}: {told}");
            }
            system.cloud.shutdown().await;
        })
        .await;
}

#[tokio::test]
async fn trace_level_logs_hold_no_body_prompt_or_token() {
    let mut options = options();
    let level = "trace,lambda_runtime=trace,hyper=trace,aws_smithy_runtime=trace,reqwest=trace,llm=trace";
    options.environment.insert("AWS_LAMBDA_LOG_LEVEL".to_owned(), level.to_owned());
    let system = System::with(options).await;
    let identity = Identity::user("acme", "ada");
    let token = system.cloud.token(&identity).unwrap();
    let ada = system.identified(&identity);
    let mut request =
        turn("Xanadu [[script: call agent_list_modes {\"text\":\"Xanadu\"}; then; say \"Xanadu.\"]]");
    request["SolutionContextText"] = json!("Xanadu");
    request["InputArtifacts"] = json!([{
        "RelativePath": "xanadu.txt", "FileName": "xanadu.txt", "Contents": "Xanadu", "Origin": "user",
    }]);
    ada.execute(&request).await;
    let refused = turn("[[script: status 400 message \"Xanadu\" code some_code]]");
    ada.execute(&refused).await;
    ada.get(&turn_path(&request)).await.result();
    let settled = |line: &Value| line["turn"] == refused["TurnId"];
    system.logged(Function::TurnFinalizer, "turn message handled", settled).await;
    for function in Function::ALL {
        let path = system.cloud.log_file(function);
        let log = std::fs::read_to_string(path).unwrap_or_default();
        for marker in ["Xanadu", token.as_str(), "Bearer"] {
            assert!(!log.contains(marker), "{marker} is in the log of {}", function.name());
        }
    }
}

#[tokio::test]
async fn newer_data_is_a_distinct_error_and_logged() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    ada.execute(&request).await.result();
    let calls = system.model_calls().len();
    let session = format!("O#acme#S#{}", request["SessionId"].as_str().unwrap());
    let update = system.cloud.dynamodb().update_item().table_name(system.cloud.table());
    update
        .key("PK", AttributeValue::S(session))
        .key("SK", AttributeValue::S("SESSION".to_owned()))
        .update_expression("SET V = :newer")
        .expression_attribute_values(":newer", AttributeValue::N("99".to_owned()))
        .send()
        .await
        .expect("updated");
    let next = turn_in(request["SessionId"].as_str().unwrap(), "again");
    for refused in [ada.get(&session_path(&request)).await, ada.execute(&next).await] {
        assert_eq!((refused.status, refused.error().as_str()), (500, "DataTooNew"), "{}", refused.text);
        assert_eq!(
            (refused.errors()[0]["SystemError"].as_bool(), refused.header("retry-after")),
            (Some(true), None)
        );
    }
    assert_eq!(system.model_calls().len(), calls);
    let message = "stored data is newer than this code";
    for function in [Function::SessionRead, Function::Execute] {
        let lines = system.logged(function, message, |line| line["level"] == "ERROR").await;
        let found = line(&lines, message);
        assert_eq!((&found["found"], &found["known"]), (&json!(99), &json!(1)), "{found}");
    }
}

#[tokio::test]
async fn each_turn_logs_one_summary_line() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn("Say [[script: usage 100 10; say \"nothing of Xanadu\"]]");
    ada.execute(&first).await.result();
    // The next turn closes it on its way, if the finalizer was not there before.
    let second = turn_in(first["SessionId"].as_str().unwrap(), "Fail [[script: status 400]]");
    ada.execute(&second).await;
    let until = Instant::now() + PATIENCE;
    let mut ends = Vec::new();
    while ends.len() < 2 {
        assert!(Instant::now() < until, "{ends:#?}");
        ends = Vec::new();
        for function in [Function::Execute, Function::TurnFinalizer] {
            let log = std::fs::read_to_string(system.cloud.log_file(function)).unwrap_or_default();
            let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            ends.extend(lines.filter(|line| line["message"] == "turn"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(ends.len(), 2, "{ends:#?}");
    let of = |turn: &Value| ends.iter().find(|line| line["turn"] == turn["TurnId"]).unwrap().clone();
    let (first, second) = (of(&first), of(&second));
    assert_eq!(
        [&first["outcome"], &first["org"], &first["user"], &first["turns_failed"], &first["streamed"]],
        [&json!("completed"), &json!("acme"), &json!("ada"), &json!(0), &json!(false)],
        "{first}"
    );
    assert!(first["prompt_tokens"].as_u64() > Some(0) && first["turn_ms"].is_u64(), "{first}");
    assert_eq!(first["model_calls"], 1, "{first}");
    let [until_text, model, whole] =
        ["first_text_ms", "model_ms", "turn_ms"].map(|name| first[name].as_u64());
    assert!(until_text.is_some() && until_text <= model && model <= whole, "{first}");
    assert_eq!(second.get("first_text_ms"), None, "nothing was written");
    assert_eq!(
        [&second["outcome"], &second["code"], &second["turns_failed"]],
        [&json!("failed"), &json!("ModelRejected"), &json!(1)],
        "{second}"
    );
}

#[tokio::test]
async fn failed_start_names_every_wrong_setting() {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_aptix"));
    command.args(["function", "execute"]).env_clear().env("LEASE_SECONDS", "soon");
    // The process ends when this closes.
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let held = child.stdin.take();
    let ended = child.wait_with_output().await.unwrap();
    drop(held);
    assert_eq!(ended.status.code(), Some(1));
    let lines = String::from_utf8(ended.stdout).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["message"] == "invalid setting"), "{lines:#?}");
    let named: Vec<&str> = lines.iter().map(|line| line["error"].as_str().unwrap()).collect();
    for wrong in [
        "TABLE_NAME must be set",
        "TOKEN_AUDIENCES must be set",
        "LEASE_SECONDS must be 0.05 to 3600 seconds",
    ] {
        assert!(named.contains(&wrong), "{wrong}: {named:?}");
    }
}
