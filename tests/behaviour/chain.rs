//! Chains of provider responses: continued where possible, else replayed from our records.

use local::Function;
use serde_json::{Value, json};

use crate::support::{
    Client, System, history, is_chained, items, mock_profile, options, turn, turn_in, turn_path, user_message,
};

/// Runs turns of one session, whose answers are `One.`, `Two.` and so on.
async fn talk(client: &Client, session: &str, turns: &[&str]) -> Vec<Value> {
    let mut answers = Vec::new();
    for instruction in turns {
        answers.push(client.execute(&turn_in(session, instruction)).await.result());
    }
    answers
}

const ONE: &str = "First [[script: say \"One.\"]]";
const TWO: &str = "Second [[script: say \"Two.\"]]";

fn told() -> Vec<String> {
    [format!("user: {ONE}"), "assistant: One.".into(), format!("user: {TWO}"), "assistant: Two.".into()]
        .into()
}

fn warnings(answer: &Value) -> String {
    answer["UserWarnings"].to_string()
}

#[tokio::test]
async fn lost_chain_is_replayed_in_order_then_continues() {
    let mut options = options();
    options.environment.insert("CONVERSATION_STATE".to_owned(), "provider".to_owned());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    talk(&ada, "s", &[ONE, TWO]).await;
    let lost = ada.execute(&turn_in("s", "Third [[script: forget; say \"Three.\"]]")).await.result();
    assert_eq!(lost["PrimaryOutputText"], "Three.");
    assert!(warnings(&lost).contains("no longer has the earlier part"), "{lost}");
    let calls = system.model_calls();
    assert_eq!((calls.len(), is_chained(&calls[2]), is_chained(&calls[3])), (4, true, false));
    assert_eq!(history(&calls[3]), told());
    assert!(user_message(&calls[3]).contains("Third"));

    let next = ada.execute(&turn_in("s", "Fourth")).await.result();
    assert!(next.get("UserWarnings").is_none(), "{next}");
    assert!(is_chained(&system.last_call()), "the rebuilt chain is gone on from");
}

#[tokio::test]
async fn operators_read_the_previous_response_id_of_a_reply() {
    let system = System::start().await;
    let operator = system
        .identified(&local::token::Identity { operator: true, ..local::token::Identity::user("acme", "op") });
    talk(&operator, "s", &[ONE]).await;
    let rounds = turn_in("s", "Second [[script: call agent_list_modes {}; then; say \"Two.\"]]");
    let forgotten = turn_in("s", "Third [[script: forget; say \"Three.\"]]");
    for request in [&rounds, &forgotten] {
        operator.execute(request).await.result();
        let carried = system.last_call().get("previous_response_id").cloned();
        let read = operator.get(&turn_path(request)).await.result();
        assert_eq!(read.get("PreviousOpenAIResponseId").cloned(), carried);
        assert_ne!(read["OpenAIResponseId"], read["PreviousOpenAIResponseId"]);
    }
    let calls = system.model_calls();
    assert_eq!(calls.iter().map(is_chained).collect::<Vec<_>>(), [false, true, true, true, false]);
    assert_ne!(calls[1]["previous_response_id"], calls[2]["previous_response_id"]);
}

#[tokio::test]
async fn expired_chain_is_rebuilt_without_a_failed_call() {
    let mut options = options();
    options.environment.insert("PROVIDER_RESPONSE_TTL_SECONDS".to_owned(), "0.001".to_owned());
    let system = System::with(options).await;
    let answers = talk(&system.client("acme", "ada"), "s", &[ONE, TWO, "Third"]).await;
    assert!(answers[0].get("UserWarnings").is_none(), "a first turn has nothing to tell");
    assert!(warnings(&answers[2]).contains("limited time"), "{}", answers[2]);
    let calls = system.model_calls();
    assert!(calls.len() == 3 && !calls.iter().any(is_chained));
    assert_eq!(history(&calls[2]), told());
}

#[tokio::test]
async fn model_switch_sends_the_history_with_effort_and_limit() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    system.put_context(json!({"ModelName": "small", "MaxOutputTokens": 99})).await;
    let mut first = turn_in("s", ONE);
    first["ConversationContextId"] = json!("c");
    ada.execute(&first).await.result();
    talk(&ada, "s", &[TWO]).await;
    system.put_context(json!({"ModelName": "large", "ReasoningEffort": "high"})).await;
    let answers = talk(&ada, "s", &["Third", "Fourth"]).await;
    assert!(warnings(&answers[0]).contains("Another model answers now"), "{}", answers[0]);
    let calls = system.model_calls();
    assert_eq!((&calls[1]["model"], &calls[1]["max_output_tokens"]), (&json!("small"), &json!(99)));
    assert_eq!((&calls[2]["model"], &calls[2]["reasoning"]), (&json!("large"), &json!({"effort": "high"})));
    assert_eq!(history(&calls[2]), told());
    assert!(is_chained(&calls[3]) && answers[1].get("UserWarnings").is_none());
}

#[tokio::test]
async fn provider_switch_sends_the_history() {
    // One cloud serves as the provider of the other, under two names of the same machine.
    let upstream = System::start().await;
    let folder = tempfile::tempdir().unwrap();
    let provider = |host: &str| local::Options {
        data: local::Data::Folder(folder.path().to_owned()),
        model: local::Model::Provider {
            wire: agent::model::Wire::Responses,
            base_url: upstream.cloud.endpoints().model.replace("127.0.0.1", host),
            api_key: "key".to_owned(),
            name: Some("scripted".to_owned()),
        },
        ..options()
    };
    for (host, instruction) in [("127.0.0.1", ONE), ("127.0.0.1", TWO), ("localhost", "Third")] {
        let system = System::with(provider(host)).await;
        let answer = system.client("acme", "ada").execute(&turn_in("s", instruction)).await.result();
        assert_eq!(warnings(&answer).contains("Another model provider"), host == "localhost", "{answer}");
        system.cloud.shutdown().await;
    }
    let calls = upstream.model_calls();
    assert!(is_chained(&calls[1]) && !is_chained(&calls[2]));
    assert_eq!(history(&calls[2]), told());
}

#[tokio::test]
async fn local_conversation_stores_nothing_upstream_and_resends_tool_rounds() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    system.put_context(json!({"Chain": "local"})).await;
    let mut first = turn_in("s", ONE);
    first["ConversationContextId"] = json!("c");
    ada.execute(&first).await.result();
    let tools = "Second [[script: call agent_list_modes {}; then; call code_hash_normalized {\"text\":\"a\"}; then; say \"Two.\"]]";
    let answers = talk(&ada, "s", &[tools, "Third"]).await;
    assert!(answers.iter().all(|answer| answer.get("UserWarnings").is_none()), "{answers:?}");
    let calls = system.model_calls();
    assert_eq!(calls.len(), 5);
    assert!(calls.iter().all(|call| !is_chained(call) && call["store"] == false));
    let said = user_message(&calls[3]);
    assert!(said.contains("Name: code_hash_normalized") && !said.contains("agent_list_modes"), "{said}");
    let first = ["system", "user", "assistant", "user"];
    let round = |tool| [tool, "function_call_output", "user"];
    let so_far = [&first[..], &round("agent_list_modes"), &round("code_hash_normalized")].concat();
    assert_eq!(items(&calls[3]), so_far, "every round is told, in the API's own items");
    assert_eq!(items(&calls[4]), [&so_far[..], &["assistant", "user"]].concat());
    let told = history(&calls[4]);
    assert_eq!((told[1].as_str(), told.last().unwrap().as_str()), ("assistant: One.", "assistant: Two."));

    system.put_context(json!({"Chain": "provider"})).await;
    let answers = talk(&ada, "s", &["Fourth", "Fifth"]).await;
    assert!(answers.iter().all(|answer| answer.get("UserWarnings").is_none()), "{answers:?}");
    let calls = system.model_calls();
    assert_eq!((history(&calls[5]).len(), calls[5].get("store")), (8, None));
    assert!(is_chained(&calls[6]));
}

#[tokio::test]
async fn chain_lost_mid_turn_resends_what_the_turn_did_so_far() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    talk(&ada, "s", &[ONE]).await;
    let lost = "Second [[script: call agent_list_modes {}; then; call code_hash_normalized {\"text\":\"a\"}; \
                then; forget; say \"Two.\"]]";
    let answer = talk(&ada, "s", &[lost]).await.remove(0);
    assert_eq!(
        (&answer["PrimaryOutputText"], answer["ToolResults"].as_array().unwrap().len()),
        (&json!("Two."), 2)
    );
    let rebuilt = system.last_call();
    assert_eq!(history(&rebuilt)[..2], [format!("user: {ONE}"), "assistant: One.".into()]);
    let calls: Vec<String> = items(&rebuilt).into_iter().filter(|item| item.contains('_')).collect();
    let output = "function_call_output";
    assert_eq!(calls, ["agent_list_modes", output, "code_hash_normalized", output]);
    assert_eq!(system.model_calls().len(), 5);
}

#[tokio::test]
async fn conversation_too_large_for_the_model_is_shortened_until_it_fits() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let too_long = "status 400 code context_length_exceeded";
    talk(&ada, "s", &[ONE, TWO]).await;
    let chained = format!("Third [[script: {too_long} chained; say \"Three.\"]]");
    let answer = talk(&ada, "s", &[&chained]).await.remove(0);
    assert_eq!(answer["PrimaryOutputText"], "Three.");
    assert!(warnings(&answer).contains("outgrown the model"), "{answer}");
    assert_eq!(history(&system.last_call()), told());

    let request = turn_in("s", &format!("Fourth [[script: {too_long}]]"));
    let refused = ada.execute(&request).await;
    assert_eq!(refused.error(), "ModelContextTooLong");
    let calls = system.model_calls().split_off(4);
    let lengths: Vec<usize> = calls.iter().map(|call| history(call).len()).collect();
    assert_eq!((is_chained(&calls[0]), lengths), (true, vec![0, 6, 2, 0]), "all, half, nothing");
    let failed = ada.get(&turn_path(&request)).await.result();
    assert!(failed["Warnings"].to_string().contains("older turns were left out"), "{failed}");
}

#[tokio::test]
async fn failed_turns_are_not_resent_and_a_first_turn_has_no_warning() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let failed = turn("Fail [[script: status 400]]");
    assert_eq!(ada.execute(&failed).await.status, 502);
    let session = failed["SessionId"].as_str().unwrap();
    let answers = talk(&ada, session, &[ONE]).await;
    assert!(answers[0].get("UserWarnings").is_none(), "{}", answers[0]);
    assert!(history(&system.last_call()).is_empty());
}

/// True if a model call stores nothing with the provider.
fn is_local(call: &Value) -> bool {
    !is_chained(call) && call["store"] == false
}

#[tokio::test]
async fn stateless_provider_is_detected_once_per_process() {
    let system = System::with(mock_profile("vllm")).await;
    let ada = system.client("acme", "ada");
    let answers = talk(&ada, "s", &[ONE, TWO, "Third [[script: say \"Three.\"]]"]).await;
    assert_eq!(answers[1]["PrimaryOutputText"], "Two.", "told again in the same call");
    let calls = system.model_calls();
    let local: Vec<(bool, bool)> = calls.iter().map(|call| (is_chained(call), is_local(call))).collect();
    assert_eq!(
        local,
        [(false, false), (true, false), (false, true), (false, true)],
        "one call in vain, once"
    );
    assert_eq!(history(&calls[3]), told());
    assert!(answers[2].get("UserWarnings").is_none(), "{}", answers[2]);

    // The session remembers it in every process.
    system.cloud.crash(Function::Execute);
    while system.cloud.processes(Function::Execute) > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    talk(&ada, "s", &["Fourth"]).await;
    assert!(system.model_calls().len() == 5 && is_local(&system.last_call()));

    // A second session that is refused in one process is no coincidence: from then on nobody is asked.
    talk(&ada, "another", &[ONE, TWO]).await;
    talk(&ada, "third", &[ONE, TWO]).await;
    assert_eq!(system.model_calls().len(), 5 + 3 + 3);
    talk(&ada, "fourth", &[ONE, TWO]).await;
    let calls = system.model_calls();
    assert!(calls.len() == 13 && calls[11..].iter().all(is_local), "{}", calls.len());
}

#[tokio::test]
async fn tool_round_of_a_first_turn_detects_it_without_a_user_warning() {
    let system = System::with(mock_profile("llamacpp")).await;
    let ada = system.client("acme", "ada");
    let tools = "First [[script: call agent_list_modes {}; then; say \"One.\"]]";
    let answers = talk(&ada, "s", &[tools, TWO]).await;
    assert!(answers.iter().all(|answer| answer.get("UserWarnings").is_none()), "{answers:?}");
    let calls = system.model_calls();
    assert_eq!((calls.len(), is_chained(&calls[1]), is_local(&calls[2])), (4, true, true));
    assert_eq!(items(&calls[2]), ["system", "user", "agent_list_modes", "function_call_output", "user"]);
}

#[tokio::test]
async fn provider_that_reports_no_storage_costs_no_extra_call() {
    for provider in ["ollama", "openrouter", "openai-zdr"] {
        let system = System::with(mock_profile(provider)).await;
        let ada = system.client("acme", "ada");
        let answers = talk(&ada, "s", &[ONE, TWO, "Third"]).await;
        assert!(answers.iter().all(|answer| answer.get("UserWarnings").is_none()), "{provider}: {answers:?}");
        let calls = system.model_calls();
        assert!(calls.len() == 3 && calls[1..].iter().all(is_local), "{provider}: {}", calls.len());
        assert_eq!(history(&calls[2]), told(), "{provider}");
        system.cloud.shutdown().await;
    }
}

#[tokio::test]
async fn answer_generated_without_the_history_is_discarded() {
    // The session began where chains are kept; its next turn meets a provider that takes the request and
    // forgets, behind the same name.
    let folder = tempfile::tempdir().unwrap();
    let with = |provider| {
        let data = local::Data::Folder(folder.path().to_owned());
        local::Options { data, ..mock_profile(provider) }
    };
    let system = System::with(with("openai")).await;
    talk(&system.client("acme", "ada"), "s", &[ONE, TWO]).await;
    system.cloud.shutdown().await;
    let system = System::with(with("ollama")).await;
    let answer =
        talk(&system.client("acme", "ada"), "s", &["Third [[script: say \"Three.\"]]"]).await.remove(0);
    assert_eq!(answer["PrimaryOutputText"], "Three.");
    let calls = system.model_calls();
    assert_eq!((calls.len(), is_chained(&calls[0]), history(&calls[1])), (2, true, told()));
}

#[tokio::test]
async fn refused_request_does_not_mark_provider_stateless() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    talk(&ada, "s", &[ONE]).await;
    assert_eq!(ada.execute(&turn_in("s", "Bad [[script: status 400]]")).await.status, 502);
    talk(&ada, "s", &[TWO]).await;
    assert!(is_chained(&system.last_call()), "it still keeps chains");
}
