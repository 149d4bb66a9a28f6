//! Replayed history is complete and identical to the first rendering.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use protocol::payload::MAX_INLINE_REQUEST_BYTES;
use serde_json::{Value, json};

use crate::{
    client_tools::{results, submit},
    support::{Client, System, in_context, items, reading_tool, turn_in, user_message},
};

const PNG: &[u8] = b"\x89PNG\r\n\x1A\nrest";

/// A system whose conversation context `c` keeps nothing with the provider.
async fn local(members: Value) -> (System, Client) {
    let system = System::start().await;
    let mut context = json!({"Chain": "local", "ClientTools": [reading_tool()]});
    context.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    system.put_context(context).await;
    let ada = system.client("acme", "ada");
    (system, ada)
}

fn with_file(mut turn: Value, path: &str, contents: &str) -> Value {
    let name = path.rsplit('/').next().unwrap();
    let file = json!({"RelativePath": path, "FileName": name, "Contents": contents, "Origin": "ide"});
    turn["InputArtifacts"] = json!([file]);
    turn["ClipboardImages"] =
        json!([{"Id": "shot", "MimeType": "image/png", "DataBase64": STANDARD.encode(PNG)}]);
    turn
}

/// Returns the length of the common prefix of two texts, in percent of the shorter one.
fn shared(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    same * 100 / a.len().min(b.len())
}

#[tokio::test]
async fn local_conversation_requests_share_their_prefix() {
    let (system, ada) = local(json!({})).await;
    let (list, hash) = ("call agent_list_modes {}", "call code_hash_normalized {\"text\":\"a\"}");
    for number in 1..=10 {
        let instruction = match number % 3 {
            0 => format!(
                "Turn {number} [[script: say \"Let me see.\"; {list}; {hash}; then; {hash}; then; say \"Done.\"]]"
            ),
            1 => format!(
                "Turn {number} [[script: call workspace_read_file {{\"path\":\"a.rs\"}}; then; {list}; then; say \"Read.\"]]"
            ),
            _ => format!("Turn {number} [[script: say \"Yes.\"]]"),
        };
        let mut turn = in_context(&instruction);
        if number % 4 == 2 {
            turn = with_file(turn, &format!("src/{number}.rs"), "fn main() {}\n");
        }
        if number % 5 == 3 {
            turn["SolutionContextText"] = json!(format!("A workspace, seen in turn {number}."));
        }
        let mut answer = ada.execute(&turn).await.result();
        if answer["Kind"] == "client_tool_continuation" {
            answer = submit(&ada, &results(&answer, &"r".repeat(3_000))).await.result();
        }
        assert!(answer.get("UserWarnings").is_none(), "{answer}");
    }
    let requests = system.cloud.model().unwrap().texts();
    assert_eq!(requests.len(), 24, "no call is wasted");
    let shares: Vec<usize> = requests.windows(2).map(|pair| shared(&pair[0], &pair[1])).collect();
    assert!(shares.iter().all(|share| *share >= 95), "{shares:?}");
}

#[tokio::test]
async fn long_tool_result_stays_complete_in_later_rounds_and_turns() {
    let (system, ada) = local(json!({})).await;
    let path = format!("{}a.rs", "folder/".repeat(100));
    let read = format!(
        "Read [[script: call workspace_read_file {{\"path\":\"{path}\"}}; then; call agent_list_modes {{}}; then; say \"Read.\"]]"
    );
    let suspended = ada.execute(&in_context(&read)).await.result();
    let long = format!("{}omega-9", "x".repeat(40_000));
    submit(&ada, &results(&suspended, &long)).await.result();
    ada.execute(&in_context("And now?")).await.result();
    let calls = system.model_calls();
    assert_eq!(calls.len(), 4);
    let block = calls[1].to_string();
    let told = format!("[the first 256 of {} characters]", format!("{{\"path\":\"{path}\"}}").len());
    assert!(block.contains(&told), "long arguments are told by their beginning: {block}");
    for call in &calls[1..] {
        let outputs =
            call["input"].as_array().unwrap().iter().filter(|item| item["type"] == "function_call_output");
        let outputs: Vec<&str> = outputs.map(|item| item["output"].as_str().unwrap()).collect();
        assert!(outputs[0].contains(&long), "whole in the call's output");
        assert_eq!(call.to_string().matches("omega-9").count(), 1, "and paid for once");
        let arguments =
            call["input"].as_array().unwrap().iter().filter(|item| item["type"] == "function_call");
        let arguments: String = arguments.map(|item| item["arguments"].as_str().unwrap()).collect();
        assert!(arguments.contains(&path), "so are the arguments");
        assert!(!call["input"].as_array().unwrap().iter().any(|item| {
            item["role"] == "assistant" && item["content"].to_string().contains("[TOOL_RESULTS]")
        }));
    }
}

#[tokio::test]
async fn reasoning_is_replayed_before_the_items_it_led_to() {
    let (system, ada) = local(json!({})).await;
    let thinking = "Think [[script: think \"First, look.\"; say \"Let me see.\"; call agent_list_modes {}; \
                    think \"Then, compare.\"; call code_hash_normalized {\"text\":\"a\"}; then; \
                    think \"It is clear.\"; say \"Done.\"]]";
    let answer = ada.execute(&in_context(thinking)).await.result();
    assert_eq!(answer["PrimaryOutputText"], "Done.", "nothing of it is shown");
    ada.execute(&in_context("And now?")).await.result();
    let calls = system.model_calls();
    let round = [
        "system",
        "user",
        "reasoning",
        "assistant",
        "agent_list_modes",
        "reasoning",
        "code_hash_normalized",
        "function_call_output",
        "function_call_output",
        "user",
    ];
    assert_eq!(items(&calls[1]), round);
    assert_eq!(items(&calls[2]), [&round[..], &["assistant", "user"]].concat());
    assert_eq!(calls[0]["include"], json!(["reasoning.encrypted_content"]));
    for call in &calls[1..] {
        let (first, second) = (&call["input"][2], &call["input"][5]);
        assert_eq!(first["summary"], json!([{"type": "summary_text", "text": "First, look."}]));
        assert_eq!(second["summary"][0]["text"], "Then, compare.");
        for reasoning in [first, second] {
            let id = reasoning["id"].as_str().unwrap();
            assert_eq!(reasoning["encrypted_content"], format!("scripted_{id}"), "as it came");
        }
    }

    let chained = System::start().await;
    let ada = chained.client("acme", "ada");
    ada.execute(&turn_in("s", thinking)).await.result();
    let kept = chained.model_calls();
    assert!(
        kept.iter()
            .all(|call| call.get("include").is_none() && !call["input"].to_string().contains("reasoning"))
    );
}

#[tokio::test]
async fn files_of_turn_one_are_replayed_in_turn_three_after_chain_loss() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = with_file(turn_in("s", "Look."), "src/a.rs", "fn secret_name() {}");
    ada.execute(&first).await.result();
    ada.execute(&turn_in("s", "Second")).await.result();
    let third =
        ada.execute(&turn_in("s", "What is it called? [[script: forget; say \"Known.\"]]")).await.result();
    let rebuilt = system.last_call();
    let told = rebuilt["input"][1]["content"].to_string();
    assert!(told.contains("fn secret_name() {}") && told.contains("ContentHash"), "{told}");
    assert!(told.contains(&format!("data:image/png;base64,{}", STANDARD.encode(PNG))), "{told}");
    let warnings = third["UserWarnings"].to_string();
    assert!(warnings.contains("sent again") && !warnings.contains("not repeated"), "{warnings}");
}

#[tokio::test]
async fn file_over_budget_is_named_and_warned_about_once() {
    // The former name of `PromptLimits`, as older contexts have it.
    let (system, ada) = local(json!({"Budgets": {"HistoryTokens": 2_000}})).await;
    ada.execute(&with_file(in_context("Look."), "src/a.rs", &"fn a() {}\n".repeat(1_000))).await.result();
    let second = ada.execute(&in_context("Second")).await.result();
    let told = system.last_call()["input"][1]["content"].to_string();
    assert!(told.contains("Path: src/a.rs") && told.contains("Contents: not repeated"), "{told}");
    assert!(!told.contains("fn a() {}") && !told.contains("data:image"), "{told}");
    let warnings = second["UserWarnings"].to_string();
    assert!(warnings.contains("src/a.rs (") && warnings.contains("the pasted image shot ("), "{warnings}");
    let third = ada.execute(&in_context("Third")).await.result();
    assert!(third.get("UserWarnings").is_none(), "{third}");
    let again = system.last_call()["input"][1]["content"].to_string();
    assert_eq!(again, told, "and it is told in the same words");
}

#[tokio::test]
async fn unreadable_earlier_turn_is_omitted_until_readable_again() {
    let (system, ada) = local(json!({})).await;
    // Too large to be inline, so that there is only the object.
    let code = format!("fn hidden() {{}}{}", "\n".repeat(MAX_INLINE_REQUEST_BYTES));
    let first = with_file(in_context("Look. [[script: say \"Seen.\"]]"), "src/a.rs", &code);
    ada.execute(&first).await.result();
    ada.execute(&in_context("Second")).await.result();
    let of = format!("/{}/", first["TurnId"].as_str().unwrap());
    let asked = system.object(|key| key.contains(&of) && key.ends_with("/instruction.json")).await;
    let (s3, bucket) = (system.cloud.s3(), system.cloud.bucket());
    let stored = s3.get_object().bucket(bucket).key(&asked).send().await.unwrap();
    let stored = stored.body.collect().await.unwrap().into_bytes();
    let copies = system.object(|key| key.ends_with("/history.json")).await;
    for key in [&asked, &copies] {
        s3.delete_object().bucket(bucket).key(key).send().await.unwrap();
    }

    let third = ada.execute(&in_context("Third")).await.result();
    let told = system.last_call()["input"].to_string();
    assert!(told.contains("[EARLIER_TURNS]") && told.contains("not repeated\\n- src/a.rs ("), "{told}");
    assert!(told.contains("Second") && !told.contains("fn hidden() {}"), "{told}");
    let warnings = third["UserWarnings"].to_string();
    assert!(warnings.contains("could not be read") && warnings.contains("src/a.rs ("), "{warnings}");

    s3.put_object().bucket(bucket).key(&asked).body(stored.into()).send().await.unwrap();
    let fourth = ada.execute(&in_context("Fourth")).await.result();
    assert!(fourth.get("UserWarnings").is_none(), "{fourth}");
    let told = system.last_call()["input"].to_string();
    assert!(told.contains("fn hidden() {}") && !told.contains("[EARLIER_TURNS]"), "{told}");
    let order = ["fn hidden() {}", "Second", "Third", "Fourth"].map(|words| told.find(words).expect(words));
    assert!(order.is_sorted(), "{told}");
}

#[tokio::test]
async fn mid_turn_mode_change_is_rendered_after_earlier_items() {
    let (system, ada) = local(json!({})).await;
    ada.execute(&in_context("First")).await.result();
    let change = "Change [[script: call agent_change_mode {\"mode\":\"ddr_authoring\",\"branch\":false,\"reason\":\"r\"}; \
                  then; call agent_list_modes {}; then; say \"Done.\"]]";
    ada.execute(&in_context(change)).await.result();
    let texts = system.cloud.model().unwrap().texts();
    assert!(texts[1..].windows(2).all(|pair| shared(&pair[0], &pair[1]) >= 95), "the beginning stays");
    let calls = system.model_calls();
    assert!(user_message(&calls[2]).contains("[MODE_INSTRUCTIONS: ddr_authoring]"));
    assert!(!user_message(&calls[3]).contains("[MODE_INSTRUCTIONS"), "once");
    ada.execute(&in_context("Third")).await.result();
    let said = user_message(&system.last_call());
    assert!(said.starts_with("[MODE: ddr_authoring]") && !said.contains("[MODE_INSTRUCTIONS"), "{said}");
    assert_eq!(items(&system.last_call())[..4], ["system", "user", "assistant", "user"]);
}
