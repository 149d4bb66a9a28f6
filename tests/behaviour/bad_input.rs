//! Bad input is refused with its name and its rule, and leaves no trace.

use contracts::paths;
use serde_json::{Value, json};

use crate::support::{System, id, options, turn, turn_in, turn_path};

#[tokio::test]
async fn every_bad_input_is_named_and_leaves_no_trace() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let ids = |more: Value| {
        let mut body = json!({"SessionId": id(), "TurnId": id()});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body.to_string()
    };
    let result = json!([{"ToolCallId": "c", "ExecutionMs": 1, "ResultJson": "{}"}]);
    let cases = [
        (String::new(), "BodyMissing", None),
        ("Hello".to_owned(), "BodyNotJson", None),
        ("{\"SessionId\":".to_owned(), "BodyNotJson", None),
        (json!({"TurnId": id(), "Instruction": "x"}).to_string(), "MemberRequired", Some("SessionId")),
        (json!({"SessionId": id(), "Instruction": "x"}).to_string(), "MemberRequired", Some("TurnId")),
        (
            json!({"SessionId": "a/b", "TurnId": id(), "Instruction": "x"}).to_string(),
            "MemberInvalid",
            Some("SessionId"),
        ),
        (ids(json!({})), "InputRequired", None),
        (ids(json!({"Instruction": "x", "ToolResults": result})), "MemberForbidden", Some("Instruction")),
        (ids(json!({"Instruction": "x", "Banana": 1})), "MemberUnknown", Some("Banana")),
        (ids(json!({"Instruction": "x", "Mode": "general"})), "MemberForbidden", Some("Mode")),
        (ids(json!({"Instruction": "x", "instruction": "x"})), "MemberDuplicated", Some("instruction")),
    ];
    for (body, code, details) in cases {
        let refused = ada.post(paths::EXECUTE, body.clone()).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, code), "{body} {}", refused.text);
        if let Some(details) = details {
            let named = refused.errors()[0]["Details"].as_str().unwrap_or_default().to_owned();
            assert_eq!(named.to_lowercase(), details.to_lowercase(), "{}", refused.text);
        }
    }
    assert!(system.has_no_trace().await);
    assert!(system.model_calls().is_empty());
}

#[tokio::test]
async fn all_violations_of_a_request_are_reported_at_once() {
    let system = System::start().await;
    let refused = system.client("acme", "ada").execute(&json!({"Banana": 1, "Mode": "x"})).await;
    let codes: Vec<_> =
        refused.errors().iter().map(|error| error["ErrorCode"].as_str().unwrap().to_owned()).collect();
    assert_eq!(refused.status, 400);
    for code in ["MemberUnknown", "MemberForbidden", "MemberRequired"] {
        assert!(codes.iter().any(|found| found == code), "{code} is not in {codes:?}");
    }
}

#[tokio::test]
async fn missing_or_invalid_token_is_refused_and_leaves_no_trace() {
    let system = System::start().await;
    let body = json!({"SessionId": id(), "TurnId": id(), "Instruction": "x"});
    let refused = system.anonymous().execute(&body).await;
    assert_eq!((refused.status, refused.error().as_str()), (401, "Unauthenticated"));
    let forged = crate::support::Client::new(system.cloud.url(), Some("eyJhbGciOiJub25lIn0.e30.".to_owned()));
    assert_eq!(forged.execute(&body).await.status, 401);
    assert!(system.has_no_trace().await);
}

#[tokio::test]
async fn token_of_another_application_is_refused_and_leaves_no_trace() {
    let mut options = options();
    options.environment.insert("TOKEN_AUDIENCES".to_owned(), "web,cli".to_owned());
    let system = System::with(options).await;
    let refused = system.client("acme", "ada").execute(&crate::support::turn("x")).await;
    assert_eq!((refused.status, refused.error().as_str()), (401, "Unauthenticated"), "{}", refused.text);
    let told = refused.json()["Errors"][0]["Message"].as_str().unwrap().to_owned();
    assert!(told.contains("another application") && told.contains("aud"), "{told}");
    assert_eq!(system.client("acme", "ada").get("/api/ai/agent/sessions").await.status, 401);
    assert!(system.has_no_trace().await);
}

#[tokio::test]
async fn tool_results_for_a_turn_not_waiting_are_refused_with_the_reason() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = crate::support::turn("one");
    let results = json!({"SessionId": request["SessionId"], "TurnId": request["TurnId"],
        "ToolResults": [{"ToolCallId": "c", "ExecutionMs": 1, "ResultJson": "{}"}]});
    for path in [paths::TOOL_RESULTS, paths::EXECUTE] {
        let unknown = ada.post(path, results.to_string()).await;
        assert_eq!((unknown.status, unknown.error().as_str()), (404, "TurnNotFound"), "{path}");
    }
    ada.execute(&request).await.result();
    for path in [paths::TOOL_RESULTS, paths::EXECUTE] {
        let refused = ada.post(path, results.to_string()).await;
        assert_eq!((refused.status, refused.error().as_str()), (409, "TurnNotAwaitingTools"), "{path}");
    }
    let misplaced = ada.post(paths::TOOL_RESULTS, request.to_string()).await;
    assert_eq!(misplaced.status, 400, "{}", misplaced.text);
}

#[tokio::test]
async fn refused_turn_stores_no_object_and_a_replay_no_second_one() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let refused = async |request: &Value, code: &str| {
        let before = system.objects().await;
        let answer = ada.execute(request).await;
        assert_eq!(answer.error(), code, "{}", answer.text);
        assert_eq!(system.objects().await, before, "{code}");
    };
    let with = |request: &Value, member: &str, value: &str| {
        let mut request = request.clone();
        request[member] = json!(value);
        request
    };
    refused(&with(&turn("x"), "AgentContextId", "nobody"), "AgentContextNotFound").await;
    refused(&with(&turn("x"), "ConversationContextId", "nobody"), "ConversationContextNotFound").await;
    assert!(system.has_no_trace().await);

    let slow = turn("Take your time [[script: delay 20s]]");
    let session = slow["SessionId"].as_str().unwrap();
    let running = ada.execute(&slow);
    let meanwhile = async {
        system.model_called(1).await;
        refused(&turn_in(session, "Me too"), "SessionBusy").await;
        refused(&with(&turn_in(session, "x"), "AgentContextId", "other"), "SessionContextMismatch").await;
        refused(&with(&slow, "Instruction", "Something else"), "TurnIdConflict").await;
        ada.post(&format!("{}/cancel", turn_path(&slow)), String::new()).await.result();
    };
    let (cancelled, ()) = futures::join!(running, meanwhile);
    assert_eq!(cancelled.error(), "TurnCancelled");
    // The finalizer stores the request of a cancelled turn.
    system.until_attribute(&format!("TURN#{}", slow["TurnId"].as_str().unwrap()), "Status", "failed").await;
    refused(&slow, "TurnCancelled").await;
    let requests = system.objects().await.iter().filter(|key| key.ends_with("/instruction.json")).count();
    assert_eq!(requests, 1, "the turn's own");
    let instruction = ada.get(&format!("{}/payloads/instruction", turn_path(&slow))).await;
    let instruction = reqwest::get(instruction.header("location").unwrap()).await.unwrap();
    assert!(instruction.text().await.unwrap().contains("Take your time"));
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused_in_the_envelope() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let nowhere = ada.get("/api/ai/agent/nowhere").await;
    assert_eq!((nowhere.status, nowhere.error().as_str()), (404, "RouteNotFound"));
    let wrong = ada.get(paths::EXECUTE).await;
    assert_eq!((wrong.status, wrong.error().as_str()), (405, "MethodNotAllowed"));
}
