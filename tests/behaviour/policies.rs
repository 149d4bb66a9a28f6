//! Policies of orgs: the models, providers, tools and file sizes that turns may use.

use serde_json::{Value, json};

use crate::org_settings::{refused, set};
use crate::support::{
    Client, NamedProvider, System, declaring, id, in_context, session_path, turn, turn_in, turn_path,
};

const CODE: &str = "ForbiddenByPolicy";

/// Sets the policy of `acme`.
async fn policy(system: &System, policy: Value) {
    set(system, "acme", json!({"Policy": policy})).await;
}

/// The names of the functions that a model call offers.
fn functions(call: &Value) -> Vec<&str> {
    call["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect()
}

/// Requires that a turn is refused by a name, and that nothing is left of it.
async fn refuses(system: &System, client: &Client, turn: &Value, name: &str) {
    let calls = system.model_calls().len();
    refused(&client.execute(turn).await, CODE, Some(name));
    assert_eq!(client.get(&turn_path(turn)).await.status, 404, "{turn}");
    assert_eq!(system.model_calls().len(), calls);
}

#[tokio::test]
async fn forbidden_model_is_refused_in_turns_reruns_forks_and_the_openai_api() {
    let system = System::start().await;
    system.put_context(json!({"ModelName": "big", "Fallbacks": [{"ModelName": "small"}]})).await;
    let ada = system.client("acme", "ada");
    let done = in_context("Hello [[script: say \"Done.\"]]");
    ada.execute(&done).await.result();
    policy(&system, json!({"Models": ["small"]})).await;
    refuses(&system, &ada, &turn_in(&id(), "By the default context"), "scripted").await;
    let mut next = in_context("By the session's");
    next["SessionId"] = done["SessionId"].clone();
    refuses(&system, &ada, &next, "big").await;
    let rerun = async |body: Value| ada.post(&format!("{}/rerun", turn_path(&done)), body.to_string()).await;
    refused(&rerun(json!({"TurnId": id()})).await, CODE, Some("big"));
    // The rerun may choose the allowed one.
    rerun(json!({"TurnId": id(), "Model": "small"})).await.result();
    let fork = json!({"SessionId": id(), "TurnId": done["TurnId"]});
    ada.post(&format!("{}/fork", session_path(&done)), fork.to_string()).await.result();
    refuses(&system, &ada, &turn_in(fork["SessionId"].as_str().unwrap(), "In the fork"), "big").await;
    for (path, body) in [
        ("/v1/responses", json!({"model": "scripted", "input": "Hi"})),
        ("/v1/responses", json!({"model": "scripted", "input": "Hi", "stream": true})),
        (
            "/v1/chat/completions",
            json!({"model": "scripted", "messages": [{"role": "user", "content": "Hi"}]}),
        ),
    ] {
        let answer = ada.post(path, body.to_string()).await;
        let error = answer.json()["error"].clone();
        assert_eq!((answer.status, &error["code"]), (403, &json!(CODE)), "{path}: {}", answer.text);
        assert_eq!(error["type"], "permission_error");
        assert!(error["message"].as_str().unwrap().contains("the model scripted"), "{error}");
    }
    // Another org has no policy.
    system.client("rival", "ada").execute(&turn("Hello")).await.result();
}

#[tokio::test]
async fn model_list_has_what_the_org_may_use() {
    let system = System::start().await;
    let ids = async |org: &str| -> Vec<String> {
        let listed = system.client(org, "ada").get("/v1/models").await.json();
        let data = listed["data"].as_array().unwrap().iter();
        data.map(|model| model["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("rival").await, ["agent/default", "agent/workspace", "default", "workspace", "scripted"]);
    set(&system, "acme", json!({"Policy": {"Models": ["small"]}, "Disabled": {"Agents": ["workspace"]}}))
        .await;
    assert_eq!(ids("acme").await, ["agent/default", "default"]);
    let ada = system.client("acme", "ada");
    for (model, status) in [("scripted", 404), ("agent/workspace", 404), ("agent/default", 200)] {
        assert_eq!(ada.get(&format!("/v1/models/{model}")).await.status, status, "{model}");
    }
    set(&system, "other", json!({"Disabled": {"Org": true}})).await;
    assert_eq!(ids("other").await, Vec::<String>::new());
}

#[tokio::test]
async fn forbidden_fallbacks_are_skipped_and_allowed_ones_answer() {
    let system = System::with(declaring(&json!([]))).await;
    let fallbacks = json!([{"ModelName": "small"}, {"ModelName": "medium"}]);
    system.put_context(json!({"ModelName": "big", "Fallbacks": fallbacks})).await;
    let ada = system.client("acme", "ada");
    let out = || {
        let mut turn = in_context("Hello [[script: status 503 for big; say \"Here.\"]]");
        turn["SessionId"] = json!(id());
        turn
    };
    let models = |from: usize| -> Vec<String> {
        let calls = system.model_calls();
        calls[from..].iter().map(|call| call["model"].as_str().unwrap().to_owned()).collect()
    };
    policy(&system, json!({"Models": ["big", "medium"]})).await;
    assert_eq!(ada.execute(&out()).await.result()["PrimaryOutputText"], "Here.");
    assert_eq!(models(0), ["big", "medium"]);
    set(&system, "acme", json!({"Disabled": {"Models": ["small", "medium"]}})).await;
    assert_eq!(ada.execute(&out()).await.error(), "ModelUnavailable");
    assert_eq!(models(2), ["big"]);
}

#[tokio::test]
async fn forbidden_provider_is_refused_by_name() {
    let backup = NamedProvider::with_profile("azure").await;
    let declared = json!([{"Name": "backup", "BaseUrl": backup.base, "KeySetting": "OPENAI_API_KEY"}]);
    let system = System::with(declaring(&declared)).await;
    system.put_context(json!({"Provider": "backup"})).await;
    let ada = system.client("acme", "ada");
    policy(&system, json!({"Providers": ["backup"]})).await;
    ada.execute(&in_context("Hello")).await.result();
    assert_eq!(backup.calls().len(), 1);
    let refusal = ada.execute(&turn("By the default provider")).await;
    let host = refusal.errors()[0]["Details"].as_str().unwrap().to_owned();
    refused(&refusal, CODE, Some(&host));
    policy(&system, json!({"Providers": [host]})).await;
    ada.execute(&turn("By the default provider")).await.result();
    let mut next = in_context("Hello");
    next["SessionId"] = json!(id());
    refuses(&system, &ada, &next, "backup").await;
}

#[tokio::test]
async fn hosted_tool_of_a_context_is_refused_and_server_tools_are_left_out() {
    let system = System::start().await;
    system.put_context(json!({"HostedTools": [{"Type": "web_search"}], "Chain": "local"})).await;
    let ada = system.client("acme", "ada");
    policy(&system, json!({"Tools": ["publish_file"]})).await;
    refuses(&system, &ada, &in_context("Search"), "web_search").await;
    ada.execute(&turn("Hello")).await.result();
    let calls = system.model_calls();
    let offered = functions(&calls[0]);
    assert!(offered.contains(&"publish_file") && offered.contains(&"agent_change_mode"), "{offered:?}");
    assert!(!offered.contains(&"agent_list_modes"), "{offered:?}");
    policy(&system, json!({"Tools": ["web_search"]})).await;
    ada.execute(&in_context("Search")).await.result();
    let calls = system.model_calls();
    assert!(!functions(&calls[1]).contains(&"publish_file"));
    // A model that calls it anyway gets an error in place of a result.
    let called = turn("List [[script: call publish_file {}; then; say \"Done.\"]]");
    assert_eq!(ada.execute(&called).await.result()["PrimaryOutputText"], "Done.");
}

#[tokio::test]
async fn larger_file_or_image_than_allowed_is_refused_by_name() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    policy(&system, json!({"MaxFileBytes": 20})).await;
    let with_file = |contents: &str| {
        let mut turn = turn("Read it");
        turn["InputArtifacts"] = json!([{
            "RelativePath": "src/a.rs", "FileName": "a.rs", "Contents": contents, "Origin": "ide",
        }]);
        turn
    };
    let fits = with_file(&"x".repeat(20));
    ada.execute(&fits).await.result();
    let large = with_file(&"x".repeat(21));
    refuses(&system, &ada, &large, "src/a.rs").await;
    let message = ada.execute(&large).await.errors()[0]["Message"].as_str().unwrap().to_owned();
    assert!(message.contains("at most 20 bytes, and src/a.rs has 21"), "{message}");
    policy(&system, json!({"MaxFileBytes": 19})).await;
    let rerun = json!({"TurnId": id()}).to_string();
    refused(&ada.post(&format!("{}/rerun", turn_path(&fits)), rerun).await, CODE, Some("src/a.rs"));
}
