//! Errors of a provider as a developer reads them: the reason on a local cloud, no false cause, and no call in vain
//! (docs/guides/providers.md).

use local::{Function, Options};
use serde_json::json;

use crate::support::{NamedProvider, System, is_chained, line, options, turn, turn_in, turn_path};

fn with_messages() -> Options {
    Options { provider_messages: true, ..options() }
}

#[tokio::test]
async fn rejected_parameter_of_a_chained_turn_costs_one_call() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    ada.execute(&turn_in("s", "First [[script: say \"One.\"]]")).await.result();
    for script in [
        "status 400 code unsupported_parameter param temperature message \"Not with this model.\"",
        "status 400 message \"Unsupported value: 'reasoning.effort' does not support 'minimal'.\"",
    ] {
        let before = system.model_calls().len();
        let answer = ada.execute(&turn_in("s", &format!("Second [[script: {script}]]"))).await;
        assert_eq!((answer.status, answer.error().as_str()), (502, "ModelRejected"));
        let error = answer.errors().remove(0);
        assert_eq!(error["Retry"], "never");
        let message = error["Message"].as_str().unwrap();
        assert!(message.contains("rejected a parameter") && !message.contains("again"), "{message}");
        let calls = system.model_calls();
        assert!(calls.len() == before + 1 && is_chained(&calls[before]), "{} calls", calls.len() - before);
        assert!(!answer.text.contains("no longer has the earlier part"), "{}", answer.text);
    }
    let next = ada.execute(&turn_in("s", "Third [[script: say \"Three.\"]]")).await.result();
    assert!(next.get("UserWarnings").is_none(), "{next}");
    assert!(is_chained(&system.last_call()), "the chain goes on from the first turn");
}

#[tokio::test]
async fn provider_message_and_address_are_shown_on_request_alone() {
    let script = "[[script: status 400 code invalid_value param tools.name message \"Xanadu is no tool.\"]]";
    for (options, is_shown) in [(with_messages(), true), (options(), false)] {
        let system = System::with(options).await;
        let ada = system.client("acme", "ada");
        let request = turn(script);
        let answer = ada.execute(&request).await;
        assert_eq!(answer.error(), "ModelRejected");
        let expected =
            format!("{}/responses answered 400: Xanadu is no tool.", system.cloud.endpoints().model);
        assert_eq!(answer.errors()[0]["Message"].as_str().unwrap().ends_with(&expected), is_shown);
        let stored = ada.get(&turn_path(&request)).await.text;
        assert_eq!(stored.contains(&expected), is_shown, "{stored}");
        let lines = system.logged(Function::Execute, "model call failed", |_| true).await;
        let description = line(&lines, "model call failed").get("description").cloned();
        assert_eq!(description, is_shown.then(|| json!(expected)));
    }
}

#[tokio::test]
async fn unreachable_provider_is_named_with_its_address() {
    let gone = NamedProvider::with_profile("ollama").await.base.clone();
    let mut options = with_messages();
    let providers = json!([{"Name": "gone", "BaseUrl": gone}]).to_string();
    for (name, value) in
        [("MODEL_PROVIDERS", providers.as_str()), ("MODEL_PROVIDER", "gone"), ("OPENAI_RETRIES", "0")]
    {
        options.environment.insert(name.to_owned(), value.to_owned());
    }
    let system = System::with(options).await;
    let answer = system.client("acme", "ada").execute(&turn("Hello")).await;
    assert_eq!(answer.error(), "ModelUnavailable");
    assert!(answer.text.contains(&format!("{gone}/responses: ")), "{}", answer.text);
}

#[tokio::test]
async fn failed_response_shows_the_providers_message() {
    let system = System::with(with_messages()).await;
    let answer = system.client("acme", "ada").execute(&turn("[[script: fail bio_policy]]")).await;
    assert_eq!(answer.error(), "ModelContentFiltered");
    let address = format!("{}/responses: ", system.cloud.endpoints().model);
    assert!(answer.errors()[0]["Message"].as_str().unwrap().contains(&address), "{}", answer.text);
}
