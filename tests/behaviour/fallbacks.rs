//! Another model is asked in the place of one that is overloaded, out, or too small (ruling: fallbacks).

use local::{Function, Options};
use serde_json::{Value, json};

use crate::support::{
    Client, LEASE, NamedProvider, System, declaring, history, is_chained, items, session_path, turn_in,
    turn_path,
};

/// A turn of this session, on the context `c`.
fn of(session: &str, instruction: &str) -> Value {
    let mut turn = turn_in(session, instruction);
    turn["ConversationContextId"] = json!("c");
    turn
}

/// A system whose context asks the model `big`, and in its place `small` of the same provider.
async fn with_small() -> System {
    let system = System::with(declaring(&json!([]))).await;
    system.put_context(json!({"ModelName": "big", "Fallbacks": [{"ModelName": "small"}]})).await;
    system
}

async fn says(client: &Client, turn: &Value) -> String {
    let answer = client.execute(turn).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.result()["PrimaryOutputText"].as_str().unwrap().to_owned()
}

fn models(calls: &[Value]) -> Vec<&str> {
    calls.iter().map(|call| call["model"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn fallback_answers_on_overload_outage_or_overflow_and_replays_free() {
    let system = with_small().await;
    let ada = system.client("acme", "ada");
    for (number, script) in [
        "status 429 for big retry-after 600",
        "status 503 for big",
        "status 500 for big",
        "status 400 code context_length_exceeded for big",
    ]
    .into_iter()
    .enumerate()
    {
        let request = of(&format!("s{number}"), &format!("Hello [[script: {script}; say \"Here.\"]]"));
        let first = ada.execute(&request).await;
        assert_eq!(first.clone().result()["PrimaryOutputText"], "Here.", "{script}");
        assert!(first.result().get("UserWarnings").is_none(), "{script}");
        assert_eq!(models(&system.model_calls()), ["big", "small"].repeat(number + 1), "{script}");
        let read = ada.get(&turn_path(&request)).await.result();
        assert_eq!(read["OpenAIModel"], "small", "{read}");
        assert_eq!(ada.execute(&request).await.text, first.text, "a replay");
    }
    assert_eq!(system.model_calls().len(), 8);
    let said = "falling back to another model";
    let lines = system.logged(Function::Execute, said, |line| line["message"] == said).await;
    let reasons: Vec<&Value> = lines.iter().map(|line| &line["reason"]).collect();
    assert_eq!(reasons, ["rate_limited", "unavailable", "unavailable", "context_overflow"]);
    assert_eq!((&lines[0]["model"], &lines[0]["next_model"]), (&json!("big"), &json!("small")));
}

#[tokio::test]
async fn unreachable_or_open_breaker_provider_falls_back_at_once() {
    let provider = NamedProvider::with_profile("ollama").await;
    // Nothing listens there.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut options = declaring(&json!([
        {"Name": "gone", "BaseUrl": format!("http://{gone}/v1")}, {"Name": "here", "BaseUrl": provider.base},
    ]));
    options.concurrency = 1;
    options.environment.insert("OPENAI_BREAKER_FAILURES".to_owned(), "1".to_owned());
    options.environment.insert("OPENAI_BREAKER_PAUSE_SECONDS".to_owned(), "600".to_owned());
    let system = System::with(options).await;
    system.put_context(json!({"Provider": "gone", "Fallbacks": [{"Provider": "here"}]})).await;
    let ada = system.client("acme", "ada");
    for number in 1..=2 {
        assert_eq!(says(&ada, &of("s", "Hello [[script: say \"Here.\"]]")).await, "Here.");
        assert_eq!(provider.calls().len(), number);
    }
    let failed = system.log(Function::Execute);
    let reached = failed.iter().filter(|line| line["message"] == "model provider unreachable");
    assert_eq!(reached.count(), 1, "the breaker of this provider alone is open");
}

#[tokio::test]
async fn history_is_replayed_to_the_fallback_and_then_to_the_primary() {
    let provider = NamedProvider::with_profile("azure").await;
    let system = System::with(declaring(
        &json!([{"Name": "backup", "BaseUrl": provider.base, "KeySetting": "OPENAI_API_KEY"}]),
    ))
    .await;
    system.put_context(json!({"Fallbacks": [{"Provider": "backup"}]})).await;
    let ada = system.client("acme", "ada");
    let turns = [
        "First [[script: say \"One.\"]]",
        "Second [[script: status 503 for openai; say \"Two.\"]]",
        "Third [[script: say \"Three.\"]]",
        "Fourth [[script: say \"Four.\"]]",
    ];
    for turn in turns {
        says(&ada, &of("s", turn)).await;
    }
    let told = |turns: &[(&str, &str)]| -> Vec<String> {
        turns
            .iter()
            .flat_map(|(asked, said)| [format!("user: {asked}"), format!("assistant: {said}")])
            .collect()
    };
    let elsewhere = provider.calls();
    assert_eq!((elsewhere.len(), is_chained(&elsewhere[0])), (1, false), "no id of the first provider");
    assert_eq!(history(&elsewhere[0]), told(&[(turns[0], "One.")]));
    let calls = system.model_calls();
    assert_eq!(calls.iter().map(is_chained).collect::<Vec<_>>(), [false, true, false, true]);
    assert_eq!(
        history(&calls[2]),
        told(&[(turns[0], "One."), (turns[1], "Two.")]),
        "its chain misses a turn"
    );
}

#[tokio::test]
async fn no_fallback_after_output_or_for_a_bad_request() {
    let system = with_small().await;
    let ada = system.client("acme", "ada");
    for (script, code) in [
        ("say \"Half an\"; fail server_error", "ModelUnavailable"),
        ("say \"Half an\"; cut after 5 events", "ModelReplyMalformed"),
        ("call agent_list_modes {}; fail rate_limit_exceeded", "ModelRateLimited"),
        ("status 400 for big", "ModelRejected"),
        ("status 401 for big", "ModelMisconfigured"),
        ("status 402 for big", "ModelQuotaExceeded"),
        ("status 400 code content_filter for big", "ModelContentFiltered"),
    ] {
        let before = system.model_calls().len();
        let answer =
            ada.execute(&of(script.split(' ').next().unwrap(), &format!("[[script: {script}]]"))).await;
        assert_eq!(answer.error(), code, "{script}");
        let calls = system.model_calls();
        assert_eq!(models(&calls[before..]), ["big"], "{script}");
    }
}

#[tokio::test]
async fn mid_turn_fallback_keeps_rounds_and_prices_each_model() {
    let system = System::with(declaring(&json!([]))).await;
    let prices =
        |price: &str| json!({"PromptPerMillion": price, "CompletionPerMillion": "0", "Currency": "USD"});
    system
        .put_context(json!({
            "ModelName": "big", "Prices": prices("8"),
            "Fallbacks": [{"ModelName": "small", "Prices": prices("2")}],
        }))
        .await;
    let ada = system.client("acme", "ada");
    let request = of(
        "s",
        "Do [[script: call agent_list_modes {}; usage 1000 0; then; status 503 for big; call code_hash_normalized \
         {\"text\":\"a\"}; usage 1000 0; then; usage 1000 0; say \"Done.\"]]",
    );
    assert_eq!(says(&ada, &request).await, "Done.");
    let calls = system.model_calls();
    assert_eq!(models(&calls), ["big", "big", "small", "small"]);
    let rounds = ["system", "user", "agent_list_modes", "function_call_output", "user"];
    assert_eq!(items(&calls[2]), rounds, "what was done is told, and not done again");
    assert_eq!(calls.iter().map(is_chained).collect::<Vec<_>>(), [false, true, false, true]);
    let read = ada.get(&turn_path(&request)).await.result();
    assert_eq!(
        read["Cost"],
        json!({"Amount": "0.012", "Currency": "USD"}),
        "1,000 tokens at 8 and 2,000 at 2"
    );
    assert_eq!(read["Usage"]["PromptTokens"], 3_000);
    let total =
        |answer: &crate::support::Answer| answer.json()["Result"]["TotalUsage"]["TotalTokens"] == 3_000;
    ada.until(&session_path(&request), crate::support::PATIENCE, total).await;
    let ended =
        system.until_item(|item| item.contains_key("Fallbacks") && item.contains_key("ModelCalls")).await;
    let fell_back = format!("{:?}", ended["Fallbacks"]);
    assert!(
        fell_back.contains("big") && fell_back.contains("unavailable") && fell_back.contains("127.0.0.1"),
        "{fell_back}"
    );
}

#[tokio::test]
async fn takeover_continues_with_the_model_of_the_recorded_round() {
    let options = Options { lease: Some(LEASE), ..declaring(&json!([])) };
    let system = System::with(options).await;
    system.put_context(json!({"ModelName": "big", "Fallbacks": [{"ModelName": "small"}]})).await;
    let ada = system.client("acme", "ada");
    let request = of(
        "s",
        "Do [[script: status 503 for big; call agent_list_modes {}; then; delay 700ms; say \"Done.\"]]",
    );
    let crash = async {
        system.model_called(3).await;
        // The round is recorded beside the call.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        system.cloud.crash(Function::Execute);
    };
    let (answer, ()) = futures::join!(ada.execute(&request), crash);
    assert_eq!(answer.error(), "FunctionFailed");
    assert_eq!(ada.execute_when_settled(&request).await.result()["PrimaryOutputText"], "Done.");
    let calls = system.model_calls();
    assert_eq!(models(&calls), ["big", "small", "small", "small"]);
    assert!(is_chained(&calls[3]), "it goes on from the recorded reply");
}

#[tokio::test]
async fn client_tool_results_continue_with_the_fallback() {
    let system = with_small().await;
    let ada = system.client("acme", "ada");
    let mut request = of(
        "s",
        "Read [[script: status 503 for big; call workspace_read_file {\"path\":\"a.rs\"}; then; say \"Read.\"]]",
    );
    let context = json!({"Name": "workspace_read_file", "Description": "Reads.", "ExecutedBy": "client",
        "Parameters": {"type": "object", "properties": {"path": {"type": "string"}}}});
    system
        .put_context(json!({
            "ModelName": "big", "Fallbacks": [{"ModelName": "small"}], "ClientTools": [context],
        }))
        .await;
    request["SessionId"] = json!("t");
    let waits = ada.execute(&request).await.result();
    assert_eq!(waits["Kind"], "client_tool_continuation", "{waits}");
    let call = &waits["ToolCalls"][0]["ToolCallId"];
    let results = json!({"SessionId": request["SessionId"], "TurnId": request["TurnId"], "ToolResults": [
        {"ToolCallId": call, "ExecutionMs": 1, "ResultJson": "\"text\""}]});
    assert_eq!(says(&ada, &results).await, "Read.");
    let calls = system.model_calls();
    assert_eq!(models(&calls), ["big", "small", "small"]);
    assert!(is_chained(&calls[2]));
}

#[tokio::test]
async fn larger_fallback_model_gets_the_full_history() {
    let system = with_small().await;
    let ada = system.client("acme", "ada");
    says(&ada, &of("s", "First [[script: say \"One.\"]]")).await;
    let second = of("s", "Second [[script: status 400 code context_length_exceeded for big; say \"Two.\"]]");
    let answer = ada.execute(&second).await.result();
    assert_eq!(answer["PrimaryOutputText"], "Two.");
    assert!(!answer["UserWarnings"].to_string().contains("Only the newest part"), "{answer}");
    let calls = system.model_calls();
    assert_eq!(models(&calls), ["big", "big", "big", "small"]);
    assert_eq!(calls.iter().map(is_chained).collect::<Vec<_>>(), [false, true, false, false]);
    assert_eq!(history(&calls[3]), history(&calls[2]), "the same history, and not the half of it");
}

#[tokio::test]
async fn all_models_failing_reports_the_last_failure() {
    let system = System::with(declaring(&json!([]))).await;
    system
        .put_context(
            json!({"ModelName": "big", "Fallbacks": [{"ModelName": "small"}, {"ModelName": "tiny"}]}),
        )
        .await;
    let answer = system
        .client("acme", "ada")
        .execute(&of(
            "s",
            "[[script: status 503 for big; status 503 for small; status 429 for tiny retry-after 7]]",
        ))
        .await;
    assert_eq!((answer.error().as_str(), answer.header("retry-after")), ("ModelRateLimited", Some("7")));
    assert_eq!(models(&system.model_calls()), ["big", "small", "tiny"]);
}
