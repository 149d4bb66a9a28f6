//! Tool results: exact, or refused with the reason and without a trace (AGN-033 §3.3, AGN-034 §5).

use serde_json::{Value, json};

use crate::{
    client_tools::{result, results, submit},
    support::{System, in_context, reading_tool, turn_path, workspace_turn},
};

#[tokio::test]
async fn mutated_results_are_refused_and_the_right_ones_still_work() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = workspace_turn(
        "Read [[script: call workspace_read_file {\"path\":\"0\"}; then; call workspace_read_file {\"path\":\"a\"}; \
         call workspace_read_file {\"path\":\"b\"}; then; say \"Both read.\"]]",
    );
    let first = ada.execute(&request).await.result();
    // The very list that was accepted gets this continuation again, so another that answers the same call.
    let mut earlier = result(&first["ToolCalls"][0], "contents");
    let old = first["ToolCalls"][0]["ToolCallId"].as_str().unwrap();
    let continuation = submit(&ada, &results(&first, "contents")).await.result();
    earlier["ExecutionMs"] = json!(6);
    let calls = continuation["ToolCalls"].as_array().unwrap();
    let right = results(&continuation, "contents");
    let list = right["ToolResults"].as_array().unwrap().clone();
    let with = |list: Vec<Value>| json!({"SessionId": right["SessionId"], "TurnId": right["TurnId"], "ToolResults": list});
    let edited = |edit: &dyn Fn(&mut Value)| {
        let mut one = list[0].clone();
        edit(&mut one);
        with(vec![one, list[1].clone()])
    };
    let foreign = json!({"ToolCallId": "call_of_another", "ExecutionMs": 1, "ResultJson": "1"});
    let call = |at: usize| calls[at]["ToolCallId"].as_str().unwrap();
    let place = |at: usize, expected: &str, got: &str| {
        format!("; ToolResults[{at}] must answer {expected}, it answers {got}")
    };
    let lengths = |count: usize| format!("2 results were expected, {count} came");
    let (a, b, x) = (call(0), call(1), "call_of_another");
    let mismatches = [
        ("missing", vec![list[0].clone()], lengths(1) + &place(1, b, "nothing")),
        (
            "extra",
            vec![list[0].clone(), list[1].clone(), foreign.clone()],
            lengths(3) + &place(2, "nothing", x),
        ),
        ("swapped", vec![list[1].clone(), list[0].clone()], lengths(2) + &place(0, a, b) + &place(1, b, a)),
        ("doubled", vec![list[0].clone(), list[0].clone()], lengths(2) + &place(1, b, a)),
        ("foreign", vec![foreign, list[1].clone()], lengths(2) + &place(0, a, x)),
        (
            "an earlier round's",
            vec![earlier.clone()],
            lengths(1) + &place(0, a, old) + &place(1, b, "nothing"),
        ),
    ];
    let broken = [
        ("none", with(vec![]), "MemberInvalid", "ToolResults"),
        ("both", edited(&|one| one["ErrorMessage"] = json!("no")), "MemberForbidden", "ToolResults[0]"),
        (
            "neither",
            edited(&|one| drop(one.as_object_mut().unwrap().remove("ResultJson"))),
            "MemberRequired",
            "ToolResults[0]",
        ),
        (
            "not JSON",
            edited(&|one| one["ResultJson"] = json!("{")),
            "MemberInvalid",
            "ToolResults[0].ResultJson",
        ),
        (
            "negative",
            edited(&|one| one["ExecutionMs"] = json!(-1)),
            "MemberInvalid",
            "ToolResults[0].ExecutionMs",
        ),
        (
            "no time",
            edited(&|one| drop(one.as_object_mut().unwrap().remove("ExecutionMs"))),
            "MemberRequired",
            "ToolResults[0].ExecutionMs",
        ),
        ("unknown", edited(&|one| one["Comment"] = json!("x")), "MemberUnknown", "ToolResults[0].Comment"),
    ];
    let stored = (system.objects().await, system.items().await);
    let calls_before = system.model_calls().len();
    for (name, list, details) in mismatches {
        let refused = submit(&ada, &with(list)).await;
        assert_eq!((refused.status, refused.error().as_str()), (409, "ToolResultsMismatch"), "{name}");
        assert_eq!(refused.errors()[0]["Details"], details, "{name}");
    }
    for (name, body, code, details) in broken {
        let refused = submit(&ada, &body).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, code), "{name}: {}", refused.text);
        assert_eq!((refused.errors().len(), &refused.errors()[0]["Details"]), (1, &json!(details)), "{name}");
    }
    assert_eq!(system.model_calls().len(), calls_before, "the model was not called");
    assert_eq!((system.objects().await, system.items().await), stored, "nothing was stored");
    assert_eq!(submit(&ada, &right).await.result()["Kind"], "final");
}

#[tokio::test]
async fn resent_results_of_any_round_get_the_current_turn_state() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let read = |path: &str| format!("call workspace_read_file {{\"path\":\"{path}\"}}; then; ");
    let script =
        |end: &str| workspace_turn(&format!("Read [[script: {}{}{}{end}]]", read("1"), read("2"), read("3")));
    let request = script("delay 1500ms; say \"Read.\"");
    let (mut stands, mut accepted) = (ada.execute(&request).await, Vec::new());
    for round in 1..=2 {
        let right = results(&stands.result(), &format!("contents {round}"));
        stands = submit(&ada, &right).await;
        accepted.push(right);
        for earlier in &accepted {
            assert_eq!(submit(&ada, earlier).await.text, stands.text, "suspended in round {}", round + 1);
        }
    }
    let last = results(&stands.result(), "contents 3");
    let calls = system.model_calls().len();
    let running = async {
        system.model_called(calls + 1).await;
        // What no round accepted is a conflict while the turn runs, as it is afterwards.
        let mut other = accepted[0].clone();
        other["ToolResults"][0]["ExecutionMs"] = json!(6);
        assert_eq!(submit(&ada, &other).await.error(), "TurnNotAwaitingTools");
        (submit(&ada, &accepted[0]).await, other)
    };
    let (answer, (followed, other)) = futures::join!(submit(&ada, &last), running);
    assert_eq!((answer.status, &answer.result()["PrimaryOutputText"]), (200, &json!("Read.")));
    assert_eq!(followed.text, answer.text, "an earlier round's follows a running turn to its answer");
    accepted.push(last);
    for round in &accepted {
        let again = submit(&ada, round).await;
        assert_eq!((again.status, &again.text), (200, &answer.text), "after the end");
    }
    assert_eq!(submit(&ada, &other).await.error(), "TurnNotAwaitingTools");
    assert_eq!(system.model_calls().len(), calls + 1);

    let request = script("say \"Never.\"");
    let first = results(&ada.execute(&request).await.result(), "1");
    let second = results(&submit(&ada, &first).await.result(), "2");
    submit(&ada, &second).await.result();
    ada.post(&format!("{}/cancel", turn_path(&request)), String::new()).await.result();
    for round in [&first, &second] {
        assert_eq!(submit(&ada, round).await.error(), "TurnCancelled");
    }
}

#[tokio::test]
async fn rounds_with_the_same_provider_call_ids_are_distinguished() {
    let system = System::start().await;
    // Told everything with each request, as those providers are that give such ids.
    system.put_context(json!({"Chain": "local", "ClientTools": [reading_tool()]})).await;
    let ada = system.client("acme", "ada");
    let read = "quirk same-call-id; call workspace_read_file {\"path\":\"a\"}; then; ";
    let request = in_context(&format!("Read [[script: {read}{read}{read}say \"Read.\"]]"));
    let mut stands = ada.execute(&request).await;
    let (mut ids, mut accepted) = (Vec::new(), Vec::new());
    while stands.result()["Kind"] != "final" {
        let right = results(&stands.result(), "contents");
        ids.push(right["ToolResults"][0]["ToolCallId"].as_str().unwrap().to_owned());
        accepted.push(right.clone());
        stands = submit(&ada, &right).await;
        for earlier in &accepted {
            assert_eq!(submit(&ada, earlier).await.text, stands.text, "sent again, it changes nothing");
        }
        assert!(ids.len() < 4, "the same call again and again: {ids:?}");
    }
    assert_eq!(stands.result()["PrimaryOutputText"], "Read.");
    assert_eq!(ids.len(), 3);
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");

    let steps = ada.get(&format!("{}/steps", turn_path(&request))).await.result();
    let shown =
        steps["Items"].as_array().unwrap().iter().filter_map(|step| step["Calls"][0]["ToolCallId"].as_str());
    assert_eq!(shown.collect::<Vec<_>>(), ids, "the same ids are read");
    let told = system.model_calls().last().unwrap().clone();
    let outputs =
        told["input"].as_array().unwrap().iter().filter(|item| item["type"] == "function_call_output");
    let sent: Vec<_> = outputs.map(|output| output["call_id"].as_str().unwrap()).collect();
    assert_eq!(sent, ["call_same", &ids[1], &ids[2]], "the provider gets its own id back once");
}
