//! Calls with effects: an unknown outcome from the kill to its resolution, and turns over MCP.

use contracts::{
    id::{SessionId, TurnId},
    paths::{EFFECTS, RESOLVE_EFFECT},
};
use local::{Function, Options, token::Identity};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::export::operator;
use crate::provider_start::aptix;
use crate::shop::{Kill, Moment, Shop, asks, call};
use crate::support::{Answer, Client, LEASE, PATIENCE, System, id, options, session_path, turn_path};

/// A system with a short lease, and its shop.
pub async fn open(protocol: &str, is_stateless: bool) -> (System, Shop, UnboundedReceiver<Kill>) {
    let (shop, kills) = match protocol {
        "lambda" => Shop::signed(is_stateless, "lambda").await,
        _ => Shop::start(is_stateless).await,
    };
    let system = System::with(shop.allowed(Options { lease: Some(LEASE), ..options() })).await;
    shop.open(&operator(&system, "acme"), protocol).await;
    (system, shop, kills)
}

/// Runs a turn whose function is killed once by the shop. Returns the response of the retry.
pub async fn run_with_kill(
    system: &System,
    client: &Client,
    turn: &Value,
    kills: &mut UnboundedReceiver<Kill>,
) -> Answer {
    let kill = async {
        let killed = kills.recv().await.unwrap();
        system.cloud.crash(Function::Execute);
        killed.send(()).ok();
    };
    let (broken, ()) = futures::join!(client.execute(turn), kill);
    assert_eq!(broken.error(), "FunctionFailed");
    client.execute_when_free(turn).await
}

fn resolve_path(effect: &Value) -> String {
    let session: SessionId = effect["SessionId"].as_str().unwrap().parse().unwrap();
    let turn: TurnId = effect["TurnId"].as_str().unwrap().parse().unwrap();
    RESOLVE_EFFECT.fill(&session, &turn)
}

/// Lists the only call with an unknown outcome.
pub async fn only_unknown(operator: &Client) -> Value {
    let is_listed =
        |answer: &Answer| answer.json()["Result"]["Items"].as_array().is_some_and(|items| !items.is_empty());
    let page = operator.until(EFFECTS, PATIENCE, is_listed).await.result();
    let items = page["Items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{page}");
    items[0].clone()
}

#[tokio::test]
async fn unknown_outcome_is_told_listed_resolved_and_then_an_equal_call_is_sent() {
    let (system, shop, mut kills) = open("http", false).await;
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    shop.kill_at("1", Moment::Performed);
    let first = asks(&call("refund", "1"));
    let answer = run_with_kill(&system, &ada, &first, &mut kills).await.result();
    let warnings = answer["UserWarnings"].to_string();
    assert!(warnings.contains("The outcome of a call of shop__refund is unknown"), "{answer}");
    let read = ada.get(&turn_path(&first)).await.result();
    assert!(read["Warnings"].to_string().contains("shop__refund is unknown"), "{read}");
    assert_eq!(shop.performed().len(), 1);

    let unknown = only_unknown(&olga).await;
    assert_eq!(unknown["TurnId"], first["TurnId"]);
    assert_eq!((&unknown["ConnectionId"], &unknown["Tool"]), (&json!("shop"), &json!("shop__refund")));
    assert_eq!((&unknown["Round"], &unknown["ConnectionVersion"]), (&json!(1), &json!(1)));
    assert_eq!(unknown["Key"].as_str().unwrap().len(), 40);

    let again = |script: &str| {
        let mut turn = asks(script);
        turn["SessionId"] = first["SessionId"].clone();
        turn
    };
    ada.execute_when_settled(&again(&call("refund", "1"))).await.result();
    assert_eq!(shop.performed().len(), 1, "an equal call needs a person");
    ada.execute_when_settled(&again(&call("refund", "2"))).await.result();
    assert_eq!(shop.performed().len(), 2, "another call doesn't");

    let body = json!({ "EffectId": unknown["EffectId"], "Outcome": "performed", "Note": "T-17" });
    let path = resolve_path(&unknown);
    assert_eq!(ada.get(EFFECTS).await.status, 403);
    assert_eq!(ada.post(&path, body.to_string()).await.status, 403);
    let other = operator(&system, "evil");
    assert_eq!(other.get(EFFECTS).await.result()["Items"], json!([]));
    assert_eq!(other.post(&path, body.to_string()).await.error(), "TurnNotFound");
    for (member, value) in [("Outcome", json!("maybe")), ("EffectId", json!(7)), ("Note", json!("a\nb"))] {
        let mut wrong = body.clone();
        wrong[member] = value;
        let refused = olga.post(&path, wrong.to_string()).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "MemberInvalid"), "{member}");
    }
    let mut wrong = body.clone();
    wrong["EffectId"] = json!("0".repeat(64));
    assert_eq!(olga.post(&path, wrong.to_string()).await.error(), "EffectNotFound");
    let resolved = olga.post(&path, body.to_string()).await.result();
    assert_eq!(resolved, unknown);
    assert_eq!(olga.post(&path, body.to_string()).await.error(), "EffectNotFound");
    assert_eq!(olga.get(EFFECTS).await.result()["Items"], json!([]));
    ada.execute_when_settled(&again(&call("refund", "1"))).await.result();
    assert_eq!(shop.performed().len(), 3);
}

#[tokio::test]
async fn turn_after_a_cancelled_one_is_told_of_its_unknown_call() {
    let (system, shop, mut kills) = open("http", false).await;
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    shop.kill_at("1", Moment::Performed);
    let first = asks(&call("refund", "1"));
    let kill = async {
        let killed = kills.recv().await.unwrap();
        system.cloud.crash(Function::Execute);
        killed.send(()).ok();
    };
    futures::join!(ada.execute(&first), kill);
    ada.post(&format!("{}/cancel", turn_path(&first)), String::new()).await.result();
    let read = ada.get(&turn_path(&first)).await.result();
    assert!(read["Warnings"].to_string().contains("shop__refund is unknown"), "{read}");
    let steps = ada.get(&format!("{}/steps", turn_path(&first))).await.result();
    assert_eq!(steps["Items"][0]["Calls"][0]["Name"], "shop__refund", "{steps}");
    let mut next = asks("say \"What happened?\"");
    next["SessionId"] = first["SessionId"].clone();
    ada.execute_when_settled(&next).await.result();
    let sent = system.last_call().to_string();
    assert!(sent.contains("The turn ended before a result came. The call may have run."), "{sent}");
    assert_eq!(only_unknown(&olga).await["TurnId"], first["TurnId"]);
    assert_eq!(shop.performed().len(), 1);
}

#[tokio::test]
async fn command_line_lists_and_resolves_an_unknown_outcome() {
    let (system, shop, mut kills) = open("http", false).await;
    let ada = system.client("acme", "ada");
    let token = system.cloud.token(&Identity { operator: true, ..Identity::user("acme", "op") }).unwrap();
    let run = async |arguments: &[&str]| {
        let api = ["--api-url", system.cloud.url(), "--token", token.as_str()];
        let done = aptix(&[&["admin", "effects"], arguments, &api[..]].concat(), &[]).output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let (status, output, errors) = run(&["list"]).await;
    assert_eq!((status, output.as_str()), (Some(0), "No call has an unknown outcome.\n"), "{errors}");
    shop.kill_at("1", Moment::Lost);
    run_with_kill(&system, &ada, &asks(&call("refund", "1")), &mut kills).await.result();
    let unknown = only_unknown(&operator(&system, "acme")).await;
    let (_, output, _) = run(&["list"]).await;
    assert!(output.contains("shop__refund") && output.contains(unknown["Key"].as_str().unwrap()), "{output}");
    let of = |name: &str| unknown[name].as_str().unwrap().to_owned();
    let (session, turn, id) = (of("SessionId"), of("TurnId"), of("EffectId"));
    let resolve = ["resolve", &session, &turn, &id, "not-performed", "--note", "looked it up"];
    let (status, output, errors) = run(&resolve).await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(output.contains("The call of shop__refund is resolved."), "{output}");
    let (status, _, errors) = run(&resolve).await;
    assert_eq!(status, Some(1));
    assert!(errors.contains("EffectNotFound") || errors.contains("no call with this id"), "{errors}");
}

#[tokio::test]
async fn mcp_server_is_called_in_turns_and_once_under_a_kill_in_both_revisions() {
    for is_stateless in [true, false] {
        let (system, shop, mut kills) = open("mcp", is_stateless).await;
        let ada = system.client("acme", "ada");
        let script = format!("{}; {}", call("refund", "1"), call("status", "1"));
        ada.execute(&asks(&script)).await.result();
        let sent = system.last_call().to_string();
        assert!(sent.contains("refunded"), "{sent}");
        assert_eq!(shop.performed().len(), 1);
        shop.kill_at("2", Moment::Performed);
        let answer = run_with_kill(&system, &ada, &asks(&call("refund", "2")), &mut kills).await.result();
        assert!(answer["UserWarnings"].to_string().contains("shop__refund is unknown"), "{answer}");
        // A server that honours the key performs the call once, and its result is known.
        shop.kill_at("3", Moment::Performed);
        let keyed =
            run_with_kill(&system, &ada, &asks(&call("refund_keyed", "3")), &mut kills).await.result();
        assert!(!keyed["UserWarnings"].to_string().contains("unknown"), "{keyed}");
        let orders: Vec<String> = shop.performed().into_iter().map(|(order, _)| order).collect();
        assert_eq!(orders, ["1", "2", "3"], "stateless: {is_stateless}");
    }
}

#[tokio::test]
async fn rerun_and_fork_of_a_turn_with_effects_are_warned_about() {
    let (system, shop, _kills) = open("http", false).await;
    let ada = system.client("acme", "ada");
    let fork = async |of: &Value| {
        let body = json!({ "SessionId": id(), "TurnId": of["TurnId"] }).to_string();
        let forked = ada.post(&format!("{}/fork", session_path(of)), body).await;
        forked.result();
        forked.json()["Warnings"].to_string()
    };
    for (tool, is_warned) in [("status", false), ("refund", true)] {
        let turn = asks(&call(tool, "1"));
        ada.execute(&turn).await.result();
        assert_eq!(fork(&turn).await.contains("called tools with effects"), is_warned, "{tool}");
        let again = json!({ "TurnId": id() }).to_string();
        let rerun = ada.post(&format!("{}/rerun", turn_path(&turn)), again).await.result();
        let warnings = rerun["UserWarnings"].to_string();
        assert_eq!(warnings.contains("performed them again"), is_warned, "{tool}: {rerun}");
    }
    let keys: Vec<String> = shop.performed().into_iter().map(|(_, key)| key).collect();
    assert_eq!(keys.len(), 2, "a rerun performs the call again");
}

#[tokio::test]
async fn lost_result_is_looked_up_where_the_connection_names_a_way() {
    let (system, shop, mut kills) = open("http", false).await;
    let ada = system.client("acme", "ada");
    for (order, moment, is_found) in [("1", Moment::Performed, true), ("2", Moment::Lost, false)] {
        shop.kill_at(order, moment);
        let turn = asks(&call("refund_found", order));
        let answer = run_with_kill(&system, &ada, &turn, &mut kills).await.result();
        let is_unknown = answer["UserWarnings"].to_string().contains("refund_found is unknown");
        assert_eq!(is_unknown, !is_found, "{answer}");
        let sent = system.last_call().to_string();
        let told = if is_found { r#"\"found\":\"1\""# } else { "Its outcome is unknown" };
        assert!(sent.contains(told), "{told}: {sent}");
    }
}
