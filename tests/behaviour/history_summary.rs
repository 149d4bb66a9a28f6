//! A model sums up the turns that go out of the window, where the context asks for it (`HistorySummary`).

use local::{Function, Options};
use serde_json::{Value, json};

use crate::cancel::cancel;
use crate::support::{Client, LEASE, System, in_context, options, turn_path, user_message};

/// A system whose context `c` keeps nothing with the provider and tells a few turns again.
async fn system(members: Value) -> (System, Client) {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let mut context = json!({"Chain": "local", "PromptLimits": {"HistoryTokens": 600}});
    context.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    system.put_context(context).await;
    let ada = system.client("acme", "ada");
    (system, ada)
}

/// A turn that takes about a hundred tokens of the history's.
fn long(number: usize, script: &str) -> Value {
    let filler = "x".repeat(200);
    in_context(&format!("Turn-{number}. {filler} [[script: usage 100 10; say \"Yes-{number}.\"]] {script}"))
}

fn asks_for_summary(call: &&Value) -> bool {
    call["input"][0].to_string().contains("You sum up the beginning of a conversation")
}

fn summaries(calls: &[Value]) -> Vec<Value> {
    calls.iter().filter(asks_for_summary).cloned().collect()
}

async fn tokens(ada: &Client, turn: &Value) -> u64 {
    ada.get(&turn_path(turn)).await.result()["Usage"]["TotalTokens"].as_u64().unwrap()
}

#[tokio::test]
async fn turns_leaving_the_window_are_compacted_once_and_paid() {
    let prices = json!({"PromptPerMillion": "10", "CompletionPerMillion": "10", "Currency": "USD"});
    let (system, ada) =
        system(json!({"HistorySummary": true, "StoreRawPayloads": true, "Prices": prices})).await;
    let (mut seen, mut asked_in) = (0, Vec::new());
    for number in 1..=14 {
        let script = format!("[[summed: usage 40 4; say \"Summary by turn {number} on.\"]]");
        let turn = long(number, &script);
        ada.execute(&turn).await.result();
        let calls = system.model_calls().split_off(seen);
        seen += calls.len();
        let asked = summaries(&calls);
        assert_eq!(calls.len(), 1 + asked.len(), "turn {number}");
        let told = calls.last().unwrap()["input"].to_string();
        match asked.as_slice() {
            [] => assert_eq!(
                tokens(&ada, &turn).await,
                110,
                "a turn that leaves nothing out pays for nothing else"
            ),
            [request] => {
                let read = ada.get(&turn_path(&turn)).await.result();
                assert_eq!(read["Usage"]["TotalTokens"], 154, "the summary is counted");
                assert_eq!(read["Cost"]["Amount"], "0.00154");
                assert!(request.get("tools").is_none() && request["store"] == false, "{request}");
                let said = user_message(request);
                assert_eq!(said.contains("Turn-1."), asked_in.is_empty(), "{said}");
                assert_eq!(
                    said.contains("A summary of the turns before these:"),
                    !asked_in.is_empty(),
                    "{said}"
                );
                for turn in 1..number {
                    let (summed, is_told) =
                        (said.contains(&format!("Yes-{turn}.")), told.contains(&format!("Yes-{turn}.")));
                    let before = asked_in.last().is_some_and(|(_, until)| turn < *until);
                    assert_eq!(
                        (summed, is_told),
                        (!before && !is_told, !before && !summed),
                        "turn {turn} in {number}"
                    );
                }
                let until = (1..number).find(|turn| told.contains(&format!("Yes-{turn}."))).unwrap();
                asked_in.push((number, until));
                let objects = system.objects().await;
                let of = |name: &str| format!("/{}/{name}", turn["TurnId"].as_str().unwrap());
                let kept =
                    |name: &str| objects.iter().any(|key| key.contains(&of("")) && key.ends_with(name));
                assert!(
                    kept("/request-1.json") && kept("/response-2.json") && kept("/step-1.json"),
                    "{objects:#?}"
                );
            }
            _ => panic!("summed up twice in turn {number}"),
        }
        let is_told = told.contains("[EARLIER_TURNS]") && told.contains("A model summed them up:");
        assert_eq!(is_told, !asked_in.is_empty(), "turn {number}: {told}");
    }
    assert!(asked_in.len() >= 2, "{asked_in:?}");
}

#[tokio::test]
async fn no_summary_if_disabled_or_if_the_provider_stores_the_history() {
    let (plain, ada) = system(json!({})).await;
    for number in 1..=8 {
        ada.execute(&long(number, "")).await.result();
    }
    assert_eq!(plain.model_calls().len(), 8);
    assert!(!plain.last_call()["input"].to_string().contains("Turn-1."), "turns were left out");
    let (chained, ada) = system(json!({"Chain": "provider", "HistorySummary": true})).await;
    for number in 1..=8 {
        ada.execute(&long(number, "")).await.result();
    }
    assert_eq!(chained.model_calls().len(), 8);
}

#[tokio::test]
async fn lost_conversation_is_compacted_if_it_exceeds_the_window() {
    let (system, ada) = system(json!({"Chain": "auto", "HistorySummary": true})).await;
    for number in 1..=8 {
        ada.execute(&long(number, "[[summed: say \"They counted.\"]]")).await.result();
    }
    ada.execute(&in_context("And now? [[script: forget; say \"Nine.\"]]")).await.result();
    let calls = system.model_calls();
    assert_eq!((calls.len(), summaries(&calls).len()), (11, 1), "the lost call, the summary, the answer");
    let told = calls[10]["input"].to_string();
    assert!(told.contains("A model summed them up:") && told.contains("    They counted."), "{told}");
    assert!(user_message(&calls[9]).contains("Yes-1."), "from the first turn on");
}

#[tokio::test]
async fn turn_too_large_for_the_window_is_summarized_from_its_start() {
    let (system, ada) = system(json!({"HistorySummary": true})).await;
    let long = format!("First, [[summed: say \"They began.\"]] {}omega-9", "x".repeat(5_000));
    ada.execute(&in_context(&long)).await.result();
    ada.execute(&in_context("And now?")).await.result();
    let calls = system.model_calls();
    assert_eq!(calls.len(), 3);
    let said = user_message(&calls[1]);
    assert!(said.contains("First,") && said.contains("[cut here: ") && !said.contains("omega-9"), "{said}");
    assert!(user_message(&calls[2]).contains("    They began."));
    ada.execute(&in_context("And then?")).await.result();
    assert_eq!(system.model_calls().len(), 4, "once");
}

#[tokio::test]
async fn failed_compaction_is_skipped_and_not_retried_in_the_turn() {
    let (system, ada) = system(json!({"HistorySummary": true})).await;
    let mut number = 0;
    while summaries(&system.model_calls()).is_empty() {
        number += 1;
        assert!(number < 20, "the window never moves");
        let turn = long(number, "[[summed: status 400 code marker]]");
        let answer = ada.execute(&turn).await.result();
        assert_eq!(answer["PrimaryOutputText"], format!("Yes-{number}."));
        assert!(answer.get("UserWarnings").is_none(), "{answer}");
        assert_eq!(tokens(&ada, &turn).await, 110);
    }
    system.logged(Function::Execute, "history compaction failed", |_| true).await;
    ada.execute(&long(number + 1, "")).await.result();
    assert_eq!(summaries(&system.model_calls()).len(), 1, "not again for the same turns");
    assert!(!system.last_call()["input"].to_string().contains("A model summed them up"));
}

#[tokio::test]
async fn retry_after_a_crash_reuses_the_summary() {
    let (system, ada) = system(json!({"HistorySummary": true})).await;
    // They fit one by one and not together: the third turn leaves the first out.
    for (name, letters) in [("First", 1_200), ("Second", 600)] {
        let turn =
            in_context(&format!("{name} {} [[summed: usage 40 4; say \"One.\"]]", "x".repeat(letters)));
        ada.execute(&turn).await.result();
    }
    assert!(summaries(&system.model_calls()).is_empty());
    let third = in_context("Third [[script: delay 2s; usage 100 10; say \"Done.\"]]");
    let of = format!("/{}/", third["TurnId"].as_str().unwrap());
    let crash = async {
        system.object(|key| key.contains(&of) && key.ends_with("/step-1.json")).await;
        system.cloud.crash(Function::Execute);
    };
    let (died, ()) = futures::join!(ada.execute(&third), crash);
    assert_eq!(died.status, 502);
    assert_eq!(ada.execute_when_settled(&third).await.result()["PrimaryOutputText"], "Done.");
    let calls = system.model_calls();
    assert_eq!(summaries(&calls).len(), 1, "once");
    assert!(calls.last().unwrap()["input"].to_string().contains("A model summed them up:"));
    let read = ada.get(&turn_path(&third)).await.result();
    let lost = read["EstimatedTokens"].as_u64().expect("an estimate of the killed call");
    assert_eq!(read["Usage"]["TotalTokens"].as_u64().unwrap() - lost, 154, "and it is counted");
}

#[tokio::test]
async fn cancel_during_the_summary_stops_it_and_starts_no_other_call() {
    let (system, ada) = system(json!({"HistorySummary": true})).await;
    for (name, letters) in [("First", 1_200), ("Second", 600)] {
        let turn = in_context(&format!("{name} {} [[summed: delay 20s; say \"One.\"]]", "x".repeat(letters)));
        ada.execute(&turn).await.result();
    }
    let third = in_context("Third");
    let cancel = async {
        system.model_called(3).await;
        cancel(&ada, &third).await;
    };
    let (answer, ()) = futures::join!(ada.execute(&third), cancel);
    assert_eq!((answer.status, answer.error().as_str()), (409, "TurnCancelled"));
    let calls = system.model_calls();
    assert_eq!((calls.len(), summaries(&calls).len()), (3, 1));
}
