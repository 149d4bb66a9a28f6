//! Settings that only some wires can carry (docs/guides/providers.md#wires).

use local::{Options, Stores};
use serde_json::json;

use crate::{
    support::{System, declaring, options, turn_in},
    wires::{WIRES, Wires, on, says},
};

#[tokio::test]
async fn hosted_tools_are_refused_by_name_on_wires_without_them() {
    for wire in &WIRES {
        // The default provider, whose wire isn't known when the context is written.
        let wire_setting = ("OPENAI_WIRE".to_owned(), wire.name.to_owned());
        let system = System::with(Options { environment: [wire_setting].into(), ..options() }).await;
        system.put_context(json!({ "HostedTools": [{ "Type": "web_search" }] })).await;
        let mut turn = turn_in("s", "Search [[script: say \"Found.\"]]");
        turn["ConversationContextId"] = json!("c");
        let answer = system.client("acme", "ada").execute(&turn).await;
        if wire.name == "responses" {
            assert_eq!(answer.result()["PrimaryOutputText"], "Found.");
        } else {
            assert_eq!(answer.error(), "ModelMisconfigured", "{}", wire.name);
            assert!(answer.text.contains("is set up with HostedTools, which the API"), "{}", answer.text);
            assert!(system.model_calls().is_empty(), "{}", wire.name);
        }
        system.cloud.shutdown().await;
    }
}

#[tokio::test]
async fn context_is_refused_if_its_wire_cannot_carry_a_setting() {
    let wires = Wires::start(json!({})).await;
    let stores = Stores::of_local_cloud(wires.system.cloud.data_folder()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for wire in &WIRES {
        let hosted = ("HostedTools", json!([{ "Type": "web_search" }]), wire.name == "responses");
        let guarded = ("Guardrail", json!({ "Id": "abc", "Version": "1" }), wire.name == "bedrock-converse");
        for (member, value, is_carried) in [hosted, guarded] {
            let mut context = json!({
                "Kind": "conversation", "Id": "new", "Name": "New", "System": "Be brief.", "Provider": wire.name,
            });
            context[member] = value;
            let file = folder.path().join("context.json");
            std::fs::write(&file, context.to_string()).unwrap();
            let put = local::contexts::put(&stores, "acme", &file).await;
            assert_eq!(put.is_ok(), is_carried, "{}: {member}", wire.name);
            if let Err(refused) = put {
                let rule = format!(
                    "{member}: needs another provider than {:?}, whose wire {} doesn't support it",
                    wire.name, wire.name
                );
                assert!(refused.to_string().contains(&rule), "{refused}");
            }
        }
    }
    wires.end().await;
}

/// The guardrail checks text before it is streamed, and what it blocks is no answer.
#[tokio::test]
async fn guardrail_is_sent_and_its_intervention_ends_the_turn() {
    let wires = Wires::start(json!({})).await;
    let (wire, provider) = wires.each().last().unwrap();
    let guarded = json!({
        "Kind": "conversation", "Id": wire.name, "Name": wire.name, "System": "Be brief.", "Provider": wire.name,
        "ModelName": wire.model, "Guardrail": { "Id": "abc123", "Version": "3" },
    });
    wires.system.put_contexts("acme", &json!([guarded])).await;
    wires.system.crash_execute().await;
    assert_eq!(says(&wires.ada, &on(wire, "Hello [[script: say \"Yes.\"]]")).await, "Yes.");
    let blocked = wires.ada.execute(&on(wire, "Go [[script: refuse \"Blocked by the guardrail.\"]]")).await;
    assert_eq!(blocked.error(), "ModelContentFiltered");
    for call in provider.calls() {
        let sent = json!({
            "guardrailIdentifier": "abc123", "guardrailVersion": "3", "streamProcessingMode": "sync",
        });
        assert_eq!(call["guardrailConfig"], sent);
    }
    wires.end().await;
}

#[tokio::test]
async fn unknown_wire_stops_the_start() {
    let mut options = declaring(&json!([{ "Name": "a", "BaseUrl": "http://localhost/v1", "Wire": "soap" }]));
    options.concurrency = 1;
    let system = System::with(options).await;
    let answer = system.client("acme", "ada").execute(&turn_in("s", "Hello")).await;
    assert!(answer.status >= 500, "{answer:?}");
    let fault = "MODEL_PROVIDERS[0]: unknown variant `soap`, expected one of `responses`, `chat-completions`";
    system.until_logs(|logs| logs.contains(fault)).await;
}
