//! `GET …/turns/{TurnId}/steps`: a turn's replies, calls and results; and the reason of its status.

use local::token::Identity;
use serde_json::{Value, json};

use crate::client_tools::{results, submit};
use crate::support::{Client, System, turn, turn_in, turn_path, workspace_turn};

async fn steps(client: &Client, turn: &Value) -> Vec<Value> {
    let list = client.get(&format!("{}/steps", turn_path(turn))).await.result();
    assert_eq!(list["HasMore"], false, "{list}");
    list["Items"].as_array().unwrap().clone()
}

/// A reply that calls a tool of each side, and an answer.
const BOTH: &str = "Read [[script: say \"Let me look.\"; call agent_list_modes {}; call workspace_read_file {\"path\":\"a\"}; \
                    then; say \"Read.\"]]";

#[tokio::test]
async fn transcript_is_rebuilt_from_the_steps_alone() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = workspace_turn(BOTH);
    let continuation = ada.execute(&request).await.result();
    let waiting = steps(&ada, &request).await;
    let [step] = waiting.as_slice() else { panic!("{waiting:?}") };
    assert_eq!(
        (&step["Round"], &step["Kind"], &step["Text"]),
        (&json!(1), &json!("tools"), &json!("Let me look."))
    );
    let pending: Vec<bool> =
        step["Calls"].as_array().unwrap().iter().map(|call| call["IsPending"] == true).collect();
    assert_eq!(pending, [false, true], "{step}");
    assert!(step["ToolDeadlineDate"].is_string(), "{step}");
    let turn = ada.get(&turn_path(&request)).await.result();
    assert_eq!(
        (&turn["Status"]["Id"], &turn["StatusReason"]),
        (&json!("pending"), &json!("waiting_for_tools"))
    );

    submit(&ada, &results(&continuation, "contents")).await.result();
    let done = steps(&ada, &request).await;
    let [step, answer] = done.as_slice() else { panic!("{done:?}") };
    let [server, client] = step["Calls"].as_array().unwrap().as_slice() else { panic!("{step}") };
    assert_eq!((&server["Name"], &server["RanBy"]), (&json!("agent_list_modes"), &json!("server")));
    assert!(server["ResultJson"].as_str().unwrap().contains("general"), "{server}");
    assert!(server["ExecutionMs"].is_u64(), "{server}");
    assert_eq!(client["ToolCallId"], continuation["ToolCalls"][0]["ToolCallId"]);
    assert_eq!(
        (&client["RanBy"], &client["ArgumentsJson"], &client["ResultJson"], &client["ExecutionMs"]),
        (&json!("client"), &json!("{\"path\":\"a\"}"), &json!("\"contents\""), &json!(5)),
    );
    assert!(step.get("ToolDeadlineDate").is_none(), "nobody is waited for: {step}");
    assert_eq!(
        (&answer["Round"], &answer["Kind"], &answer["Text"]),
        (&json!(2), &json!("answer"), &json!("Read."))
    );
    for step in &done {
        assert_eq!(step["Attempt"], 1, "{step}");
        assert!(step["AskedDate"].is_string() && step["ModelMs"].is_u64(), "{step}");
        assert!(step.get("OpenAIRequestPayloadUrl").is_none(), "{step}");
    }
    let turn = ada.get(&turn_path(&request)).await.result();
    let used: u64 = done.iter().map(|step| step["Usage"]["TotalTokens"].as_u64().unwrap()).sum();
    assert_eq!(turn["Usage"]["TotalTokens"], used, "what the turn used is what its replies used");
    assert_eq!(turn["StatusReason"], "completed");

    let path = format!("{}/steps?pageSize=1", turn_path(&request));
    let first = ada.get(&path).await.result();
    assert_eq!((&first["HasMore"], &first["Items"]), (&json!(true), &json!([done[0]])));
    let token = first["ContinuationToken"].as_str().unwrap();
    let second = ada.get(&format!("{path}&continuationToken={token}")).await.result();
    assert_eq!((&second["HasMore"], &second["Items"]), (&json!(false), &json!([done[1]])));
    assert_eq!(ada.get(&format!("{path}&continuationToken=2")).await.error(), "ParameterInvalid");
}

#[tokio::test]
async fn operator_reads_the_raw_traffic_of_each_reply() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let operator = system.identified(&Identity { operator: true, ..Identity::user("acme", "op") });
    system.put_context(json!({"StoreRawPayloads": true})).await;
    let mut request = turn("Look [[script: call agent_list_modes {}; then; say \"Done.\"]]");
    request["ConversationContextId"] = json!("c");
    ada.execute(&request).await.result();
    let calls = system.model_calls();
    for (step, sent) in steps(&operator, &request).await.iter().zip(&calls) {
        let link = operator.get(step["OpenAIRequestPayloadUrl"].as_str().unwrap()).await;
        let text = reqwest::get(link.header("location").unwrap()).await.unwrap().text().await.unwrap();
        assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), sent, "round {}", step["Round"]);
        assert_eq!(operator.get(step["OpenAIResponsePayloadUrl"].as_str().unwrap()).await.status, 302);
    }
    let path = format!("{}/payloads/llm-request", turn_path(&request));
    assert_eq!(operator.get(&format!("{path}?round=3")).await.error(), "PayloadNotFound");
    assert_eq!(operator.get(&format!("{path}?round=0")).await.error(), "ParameterInvalid");
    assert_eq!(ada.get(&format!("{path}?round=1")).await.error(), "PayloadNotFound");
}

#[tokio::test]
async fn failed_turn_keeps_its_steps_and_partial_answer() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request =
        turn("Look [[script: call agent_list_modes {}; then; say \"Half an answer\"; cut after 6 events]]");
    let failed = ada.execute(&request).await;
    assert_eq!(failed.error(), "ModelReplyMalformed");
    let told = steps(&ada, &request).await;
    let kinds: Vec<&str> = told.iter().map(|step| step["Kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tools", "partial_answer"], "{told:?}");
    assert!(told[1]["Text"].as_str().unwrap().starts_with("Half an"), "{told:?}");
    for path in [turn_path(&request), format!("{}/summary", turn_path(&request))] {
        let turn = ada.get(&path).await.result();
        assert_eq!(
            (&turn["StatusReason"], &turn["ErrorCode"]),
            (&json!("failed"), &json!("ModelReplyMalformed"))
        );
    }
}

#[tokio::test]
async fn ended_turn_gives_the_reason_and_keeps_its_work() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = workspace_turn(BOTH);
    let session = first["SessionId"].as_str().unwrap();
    ada.execute(&first).await.result();
    ada.execute_when_free(&turn_in(session, "Something else")).await.result();
    let superseded = ada.get(&turn_path(&first)).await.result();
    assert_eq!(
        (&superseded["StatusReason"], &superseded["ErrorCode"]),
        (&json!("superseded"), &json!("TurnSuperseded"))
    );
    let told = steps(&ada, &first).await;
    assert_eq!(told[0]["Text"], "Let me look.");
    assert_eq!(told[0]["Calls"][1]["IsPending"], false, "nobody waits for it any more");

    let stuck = turn("Work [[script: call agent_list_modes {}; then; hang 60s]]");
    let (answer, ()) = futures::join!(ada.execute(&stuck), async {
        system.model_called(4).await;
        let running =
            ada.until(&turn_path(&stuck), std::time::Duration::from_secs(5), |turn| turn.status == 200).await;
        assert_eq!(running.result()["StatusReason"], "running");
        let path = format!("{}/steps", turn_path(&stuck));
        let recorded = |answer: &crate::support::Answer| answer.json()["Result"]["Items"][0]["Round"] == 1;
        let seen = ada.until(&path, std::time::Duration::from_secs(5), recorded).await;
        assert_eq!(seen.result()["Items"][0]["Calls"][0]["Name"], "agent_list_modes");
        ada.post(&format!("{}/cancel", turn_path(&stuck)), String::new()).await.result();
    });
    assert_eq!(answer.error(), "TurnCancelled");
    let cancelled = ada.get(&turn_path(&stuck)).await.result();
    assert_eq!(
        (&cancelled["StatusReason"], &cancelled["ErrorCode"]),
        (&json!("cancelled"), &json!("TurnCancelled"))
    );
    assert_eq!(steps(&ada, &stuck).await.len(), 1);
}

/// Follows a link out of the API and returns its content.
async fn followed(client: &Client, link: &Value) -> String {
    let link = client.get(link.as_str().unwrap_or_else(|| panic!("no link"))).await;
    assert_eq!(link.status, 302, "{}", link.text);
    reqwest::get(link.header("location").unwrap()).await.unwrap().text().await.unwrap()
}

/// DD-005: what is long is told by its head, and all of it is behind a link.
#[tokio::test]
async fn long_step_value_is_truncated_with_a_link_to_all_of_it() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let beside = "ä€🦀 word ".repeat(2_000);
    let arguments = json!({"path": format!("{}.rs", "long/".repeat(5_000))}).to_string();
    let request = workspace_turn(&format!(
        "Read [[script: say {}; call workspace_read_file {arguments}; call agent_list_modes {{}}; then; words 4000]]",
        json!(beside),
    ));
    let continuation = ada.execute(&request).await.result();
    let text = "Ünï\n".repeat(60_000);
    let whole = |value: &Value, link: &Value, expected: String| {
        let (head, link) = (value.as_str().unwrap().to_owned(), link.clone());
        let ada = &ada;
        async move {
            assert!(head.len() <= 16 << 10 && expected.starts_with(&head), "{} bytes", head.len());
            assert_eq!(followed(ada, &link).await, expected);
            let inline = ada.get(&format!("{}?inline=true", link.as_str().unwrap())).await.result();
            assert_eq!(inline["Text"], expected);
        }
    };
    for is_over in [false, true] {
        if is_over {
            submit(&ada, &results(&continuation, &text)).await.result();
        }
        let answer = ada.get(&format!("{}/steps", turn_path(&request))).await;
        assert!(answer.text.len() < 80 << 10, "a page stays small: {} bytes", answer.text.len());
        let steps = answer.result()["Items"].as_array().unwrap().clone();
        let [client, server] = steps[0]["Calls"].as_array().unwrap().as_slice() else { panic!("{steps:?}") };
        whole(&steps[0]["Text"], &steps[0]["FullTextUrl"], beside.clone()).await;
        whole(&client["ArgumentsJson"], &client["FullArgumentsJsonUrl"], arguments.clone()).await;
        for short in ["FullArgumentsJsonUrl", "FullResultJsonUrl"] {
            assert!(server.get(short).is_none(), "{server}");
        }
        if is_over {
            whole(&client["ResultJson"], &client["FullResultJsonUrl"], json!(text).to_string()).await;
            let last =
                ada.get(&format!("{}/payloads/answer?inline=true", turn_path(&request))).await.result();
            let last = last["Text"].as_str().unwrap().to_owned();
            whole(&steps[1]["Text"], &steps[1]["FullTextUrl"], last).await;
        }
    }
    let link =
        ada.get(&format!("{}/steps", turn_path(&request))).await.result()["Items"][0]["FullTextUrl"].clone();
    let eve = system.client("rival", "eve");
    assert_eq!(eve.get(link.as_str().unwrap()).await.status, 404);
}

#[tokio::test]
async fn long_errors_and_partial_answers_are_truncated_too() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let half = "Half of it. ".repeat(2_000);
    let request = workspace_turn(&format!(
        "Read [[script: call workspace_read_file {{\"path\":\"a\"}}; then; say {}; error]]",
        json!(half)
    ));
    let continuation = ada.execute(&request).await.result();
    let why = "No. ".repeat(10_000);
    let mut refused = results(&continuation, "");
    refused["ToolResults"][0] =
        json!({"ToolCallId": refused["ToolResults"][0]["ToolCallId"], "ExecutionMs": 1, "ErrorMessage": why});
    submit(&ada, &refused).await;
    let steps = steps(&ada, &request).await;
    let [tools, partial] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!(followed(&ada, &tools["Calls"][0]["FullErrorMessageUrl"]).await, why);
    assert!(why.starts_with(tools["Calls"][0]["ErrorMessage"].as_str().unwrap()));
    assert_eq!(partial["Kind"], "partial_answer");
    assert_eq!(followed(&ada, &partial["FullTextUrl"]).await.trim_end(), half.trim_end());
    assert!(partial["Text"].as_str().unwrap().len() <= 16 << 10);
}
