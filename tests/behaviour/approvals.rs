//! Calls that a person has to approve: from the call to its answer, whoever answers and whatever happens meanwhile.

use std::time::{Duration, Instant};

use contracts::{
    id::{SessionId, TurnId},
    paths::{AGENTS, APPROVAL, APPROVALS, APPROVE, CANCEL, CONNECTIONS, DENY, ORG_SETTINGS},
};
use local::{Function, Options};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::agents::put;
use crate::client_tools::{results, submit};
use crate::export::operator;
use crate::shop::{Moment, Shop, asks, call};
use crate::support::{Answer, Client, LEASE, PATIENCE, System, options, turn, turn_path};

/// The connection `shop` whose refunds need an approval.
fn connection(shop: &Shop, approval: &Value) -> Value {
    let order = json!({
        "type": "object", "required": ["order"],
        "properties": { "order": { "type": "string" }, "amount": { "type": "number" } },
    });
    let mut tool = json!({
        "Name": "refund", "Description": "Refunds an order.", "Parameters": order,
        "Method": "POST", "Path": "/refund",
    });
    if !approval.is_null() {
        tool["Approval"] = approval.clone();
    }
    json!({ "Name": "Shop", "Protocol": "http", "Url": format!("{}/v1", shop.url), "Tools": [tool] })
}

async fn open(approval: Value) -> (System, Shop) {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let (shop, _) = Shop::start(false).await;
    set(&system, &shop, &approval).await;
    let look = json!({
        "Name": "look", "Description": "Looks.", "ExecutedBy": "client",
        "Parameters": { "type": "object", "properties": {} },
    });
    let clerk = json!({ "Name": "Clerk", "Tools": ["shop"], "ClientTools": [look] });
    put(&operator(&system, "acme"), &AGENTS.context("clerk"), &clerk).await.result();
    (system, shop)
}

async fn set(system: &System, shop: &Shop, approval: &Value) {
    let connection = connection(shop, approval);
    put(&operator(system, "acme"), &CONNECTIONS.context("shop"), &connection).await.result();
}

/// Sends a turn that has to wait, and returns the approval that it waits for.
async fn wait(client: &Client, turn: &Value) -> Value {
    let waiting = client.execute(turn).await;
    assert_eq!((waiting.status, waiting.error().as_str()), (409, "TurnInProgress"));
    let id = waiting.json()["Errors"][0]["Details"].as_str().unwrap().to_owned();
    client.get(&APPROVAL.fill(&id)).await.result()
}

fn id(approval: &Value) -> &str {
    approval["ApprovalId"].as_str().unwrap()
}

async fn approve(client: &Client, approval: &Value) -> Answer {
    client.post(&APPROVE.fill(id(approval)), json!({ "Hash": approval["Hash"] }).to_string()).await
}

async fn deny(client: &Client, approval: &Value, reason: &str) -> Answer {
    client.post(&DENY.fill(id(approval)), json!({ "Reason": reason }).to_string()).await
}

async fn listed(client: &Client, query: &str) -> Vec<String> {
    let page = client.get(&format!("{APPROVALS}{query}")).await.result();
    page["Items"].as_array().unwrap().iter().map(|approval| id(approval).to_owned()).collect()
}

/// Waits until a turn has ended, which nobody asks for, and returns it.
async fn ended(client: &Client, asked: &Value) -> Value {
    let has_ended = |answer: &Answer| answer.json()["Result"]["Status"]["Id"] != "pending";
    client.until(&turn_path(asked), PATIENCE, has_ended).await.result()
}

/// Sweeps until a turn has ended.
async fn swept(system: &System, client: &Client, asked: &Value) -> Value {
    let give_up = Instant::now() + PATIENCE;
    loop {
        system.cloud.sweep().await.unwrap();
        sleep(Duration::from_millis(500)).await;
        let turn = client.get(&turn_path(asked)).await.result();
        if turn["Status"]["Id"] != "pending" {
            return turn;
        }
        assert!(Instant::now() < give_up, "{turn}");
    }
}

/// The text of what the model was told in its last call.
fn told(system: &System) -> String {
    system.last_call()["input"].to_string()
}

fn always() -> Value {
    json!({ "Policy": "always" })
}

/// A turn that continues after an answer, and one after its approval has expired.
pub async fn continue_by_answer_and_by_sweep(system: &System) {
    let (shop, _) = Shop::start(false).await;
    set(system, &shop, &json!({ "Policy": "always", "ExpiresAfterSeconds": 5 })).await;
    let clerk = json!({ "Name": "Clerk", "Tools": ["shop"] });
    put(&operator(system, "acme"), &AGENTS.context("clerk"), &clerk).await.result();
    let ada = system.client("acme", "ada");
    let [answered, expired] = ["1", "2"].map(|order| asks(&call("refund", order)));
    let approval = wait(&ada, &answered).await;
    approve(&ada, &approval).await.result();
    ended(&ada, &answered).await;
    wait(&ada, &expired).await;
    ended(&ada, &expired).await;
    assert_eq!(shop.performed().len(), 1);
}

#[tokio::test]
async fn approved_call_is_sent_once_and_the_turn_is_answered() {
    let (system, shop) = open(always()).await;
    let (ada, bob, olga) =
        (system.client("acme", "ada"), system.client("acme", "bob"), operator(&system, "acme"));
    let asked = asks(&call("refund", "1"));
    let waiting = ada.execute(&asked).await;
    let error = waiting.json()["Errors"][0].clone();
    let message = error["Message"].as_str().unwrap();
    assert!(message.contains("shop__refund") && message.contains("api/ai/agent/approvals/"), "{message}");
    assert_eq!(
        (&error["RetryAfterSeconds"], waiting.headers["retry-after"].to_str().unwrap()),
        (&json!(30), "30")
    );
    assert_eq!(shop.performed().len(), 0);

    let read = ada.get(&turn_path(&asked)).await.result();
    assert_eq!(
        (&read["Status"]["Id"], &read["StatusReason"]),
        (&json!("pending"), &json!("waiting_for_approval"))
    );
    let waits = &read["Waiting"]["Approvals"][0];
    let approval = ada.get(waits["Url"].as_str().unwrap()).await.result();
    assert_eq!((&approval["ApprovalId"], &waits["Tool"]), (&waits["ApprovalId"], &json!("shop__refund")));
    assert_eq!((&approval["Status"], &approval["MayAnswer"]), (&json!("pending"), &json!(true)));
    assert_eq!(
        (&approval["ArgumentsJson"], &approval["AskedByUserId"]),
        (&json!(r#"{"order":"1"}"#), &json!("ada"))
    );
    assert_eq!(listed(&ada, "").await, [id(&approval)]);
    assert_eq!(listed(&bob, "").await, [""; 0]);
    assert_eq!(
        (listed(&olga, "").await, listed(&olga, "?scope=all").await),
        (vec![], vec![id(&approval).to_owned()])
    );
    assert_eq!(bob.get(&format!("{APPROVALS}?scope=all")).await.status, 403);
    assert_eq!(bob.get(&APPROVAL.fill(id(&approval))).await.error(), "ApprovalNotFound");
    assert_eq!(
        operator(&system, "evil").get(&APPROVAL.fill(id(&approval))).await.error(),
        "ApprovalNotFound"
    );

    let mut other = approval.clone();
    other["Hash"] = json!("0".repeat(64));
    let edit = json!({ "Hash": approval["Hash"], "ArgumentsJson": r#"{"order":"2"}"# }).to_string();
    let path = APPROVE.fill(id(&approval));
    for (refused, status, code) in [
        (approve(&bob, &approval).await, 403, "ApprovalNotAllowed"),
        (approve(&olga, &approval).await, 403, "ApprovalNotAllowed"),
        (approve(&ada, &other).await, 409, "ApprovalMismatch"),
        (ada.post(&path, edit).await, 409, "ApprovalEditNotAllowed"),
        (ada.post(&path, "{}".to_owned()).await, 400, "MemberRequired"),
        (ada.post(&path, r#"{"Hash":"x"}"#.to_owned()).await, 400, "MemberInvalid"),
        (
            ada.post(&APPROVE.fill("0"), json!({ "Hash": approval["Hash"] }).to_string()).await,
            404,
            "ApprovalNotFound",
        ),
    ] {
        assert_eq!((refused.status, refused.error().as_str()), (status, code));
    }
    assert_eq!((shop.performed().len(), ada.execute(&asked).await.status), (0, 409));

    let approved = approve(&ada, &approval).await.result();
    assert_eq!((&approved["Status"], &approved["AnsweredByUser"]["Id"]), (&json!("approved"), &json!("ada")));
    ended(&ada, &asked).await;
    assert_eq!(shop.performed().len(), 1);
    assert_eq!(ada.execute(&asked).await.result()["PrimaryOutputText"], "Done.");
    assert_eq!(approve(&ada, &approval).await.error(), "ApprovalAnswered");
    assert_eq!(deny(&ada, &approval, "No.").await.error(), "ApprovalAnswered");
    assert_eq!((shop.performed().len(), listed(&ada, "").await.len()), (1, 0));
    let read = ada.get(&turn_path(&asked)).await.result();
    assert_eq!((&read["StatusReason"], read.get("Waiting")), (&json!("completed"), None));
    assert!(told(&system).contains("refunded"));
}

#[tokio::test]
async fn denial_and_its_reason_are_told_to_the_model() {
    let (system, shop) = open(always()).await;
    let ada = system.client("acme", "ada");
    let asked = asks(&format!("{}; {}", call("refund", "1"), call("refund", "2")));
    wait(&ada, &asked).await;
    let list = ada.get(APPROVALS).await.result();
    let items = list["Items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{list}");
    assert_eq!(deny(&ada, &items[0], "The customer was refunded in May.").await.result()["Status"], "denied");
    assert_eq!((shop.performed().len(), ada.execute(&asked).await.status), (0, 409), "the other still waits");
    approve(&ada, &items[1]).await.result();
    assert_eq!(ada.execute(&asked).await.result()["PrimaryOutputText"], "Done.");
    let denied_order: Value = serde_json::from_str(items[0]["ArgumentsJson"].as_str().unwrap()).unwrap();
    let performed = shop.performed();
    assert_eq!(performed.len(), 1);
    assert_ne!(json!(performed[0].0), denied_order["order"]);
    assert!(told(&system).contains("The customer was refunded in May."), "{}", told(&system));
}

#[tokio::test]
async fn four_eyes_exclude_the_asker_and_others_may_edit() {
    let policy = json!({
        "Policy": "always", "Roles": ["asker", "operator"], "Users": ["bob"], "FourEyes": true, "MayEdit": true,
    });
    let (system, shop) = open(policy).await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let asked = asks(&call("refund", "1"));
    let approval = wait(&ada, &asked).await;
    assert_eq!((&approval["MayAnswer"], &approval["MayEdit"]), (&json!(false), &json!(true)));
    assert_eq!(approve(&ada, &approval).await.error(), "ApprovalNotAllowed");
    assert_eq!((listed(&ada, "").await.len(), listed(&bob, "").await.len()), (0, 1));
    assert_eq!(listed(&operator(&system, "acme"), "").await.len(), 1);
    let path = APPROVE.fill(id(&approval));
    let edit = |arguments: &str| json!({ "Hash": approval["Hash"], "ArgumentsJson": arguments }).to_string();
    let refused = bob.post(&path, edit(r#"{"order":5}"#)).await;
    assert_eq!((refused.status, refused.error().as_str()), (400, "MemberInvalid"));
    let approved = bob.post(&path, edit(r#"{ "order": "7" }"#)).await.result();
    assert_eq!(approved["EditedArgumentsJson"], r#"{"order":"7"}"#);
    assert_eq!(ada.execute(&asked).await.result()["PrimaryOutputText"], "Done.");
    assert_eq!(shop.performed()[0].0, "7");
    assert!(told(&system).contains("edited_arguments"));
}

#[tokio::test]
async fn condition_and_the_orgs_policy_decide_which_calls_wait() {
    let greater = json!({ "Of": "argument", "Argument": "/amount", "Operator": "greater", "Value": 100 });
    let (system, shop) = open(json!({ "Policy": "when", "When": [greater] })).await;
    let (ada, olga) = (system.client("acme", "ada"), operator(&system, "acme"));
    let with = |amount: u32| asks(&format!(r#"call shop__refund {{"order":"1","amount":{amount}}}"#));
    ada.execute(&with(100)).await.result();
    assert_eq!(shop.performed().len(), 1);
    wait(&ada, &with(101)).await;
    wait(&ada, &asks(&call("refund", "1"))).await;

    set(&system, &shop, &json!({ "Policy": "never" })).await;
    let settings = json!({ "Policy": { "RequireApproval": ["shop.refund"] } }).to_string();
    olga.send(Method::PUT, ORG_SETTINGS, Some(settings)).await.result();
    let asked = with(1);
    let approval = wait(&ada, &asked).await;
    approve(&ada, &approval).await.result();
    ended(&ada, &asked).await;
    assert_eq!(shop.performed().len(), 2);

    let wrong = connection(&shop, &json!({ "Policy": "always", "FourEyes": true }));
    let refused = put(&olga, &CONNECTIONS.context("shop"), &wrong).await;
    assert_eq!((refused.status, refused.error().as_str()), (400, "MemberInvalid"));
    assert!(refused.text.contains("Tools[0].Approval.Roles"), "{}", refused.text);
}

#[tokio::test]
async fn mixed_round_lists_the_clients_calls_alone_and_needs_both() {
    let (system, shop) = open(always()).await;
    let ada = system.client("acme", "ada");
    for results_first in [true, false] {
        let before = shop.performed().len();
        let asked = asks(&format!("{}; call look {{}}", call("refund", "1")));
        let continuation = ada.execute(&asked).await.result();
        let calls = continuation["ToolCalls"].as_array().unwrap();
        assert_eq!((calls.len(), &calls[0]["Name"]), (1, &json!("look")), "{continuation}");
        let approval = ada.get(APPROVALS).await.result()["Items"][0].clone();
        if results_first {
            let waiting = submit(&ada, &results(&continuation, "seen")).await;
            assert_eq!((waiting.status, waiting.error().as_str()), (409, "TurnInProgress"));
            assert_eq!(shop.performed().len(), before);
            approve(&ada, &approval).await.result();
        } else {
            approve(&ada, &approval).await.result();
            assert_eq!(shop.performed().len(), before);
            let answer = submit(&ada, &results(&continuation, "seen")).await.result();
            assert_eq!(answer["PrimaryOutputText"], "Done.");
        }
        let answer = ada.execute(&asked).await.result();
        assert_eq!(answer["PrimaryOutputText"], "Done.");
        assert_eq!(shop.performed().len(), before + 1);
        let told = told(&system);
        assert!(told.contains("seen") && told.contains("refunded"), "{told}");
    }
}

#[tokio::test]
async fn cancelled_and_superseded_turns_close_their_approvals() {
    let (system, shop) = open(always()).await;
    let ada = system.client("acme", "ada");
    let asked = asks(&call("refund", "1"));
    let approval = wait(&ada, &asked).await;
    let session: SessionId = asked["SessionId"].as_str().unwrap().parse().unwrap();
    let turn_id: TurnId = asked["TurnId"].as_str().unwrap().parse().unwrap();
    ada.post(&CANCEL.fill(&session, &turn_id), "{}".to_owned()).await.result();
    assert_eq!(approve(&ada, &approval).await.error(), "ApprovalClosed");
    assert_eq!(ada.get(&APPROVAL.fill(id(&approval))).await.result()["Status"], "closed");
    assert_eq!(ada.execute(&asked).await.error(), "TurnCancelled");

    let asked = asks(&call("refund", "2"));
    let approval = wait(&ada, &asked).await;
    let mut next = turn("Never mind.");
    (next["SessionId"], next["AgentContextId"]) = (asked["SessionId"].clone(), json!("clerk"));
    ada.execute(&next).await.result();
    assert_eq!(approve(&ada, &approval).await.error(), "ApprovalClosed");
    assert_eq!((listed(&ada, "").await.len(), shop.performed().len()), (0, 0));
}

/// Ends the processes of `execute`, which cache documents. A request to one that is being killed would fail.
async fn forget(system: &System) {
    system.cloud.crash(Function::Execute);
    while system.cloud.processes(Function::Execute) > 0 {
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn approval_is_checked_again_when_the_turn_goes_on() {
    let (system, shop) = open(always()).await;
    let (ada, olga) = (system.client("acme", "ada"), operator(&system, "acme"));
    let asked = asks(&call("refund", "1"));
    let approval = wait(&ada, &asked).await;
    let mut moved = connection(&shop, &always());
    moved["Tools"][0]["Path"] = json!("/refund_all");
    put(&olga, &CONNECTIONS.context("shop"), &moved).await.result();
    forget(&system).await;
    approve(&ada, &approval).await.result();
    assert_eq!(ada.execute(&asked).await.result()["PrimaryOutputText"], "Done.");
    assert!(told(&system).contains("The connection has changed"), "{}", told(&system));

    set(&system, &shop, &always()).await;
    forget(&system).await;
    let asked = asks(&call("refund", "2"));
    let approval = wait(&ada, &asked).await;
    let settings = json!({ "Disabled": { "Agents": ["clerk"] } }).to_string();
    olga.send(Method::PUT, ORG_SETTINGS, Some(settings)).await.result();
    forget(&system).await;
    approve(&ada, &approval).await.result();
    ended(&ada, &asked).await;
    assert!(told(&system).contains("The agent clerk is disabled"), "{}", told(&system));
    assert_eq!(shop.performed().len(), 0);

    olga.send(Method::PUT, ORG_SETTINGS, Some("{}".to_owned())).await.result();
    set(&system, &shop, &json!({ "Policy": "always", "Roles": ["operator"] })).await;
    forget(&system).await;
    let asked = asks(&call("refund", "3"));
    let approval = wait(&ada, &asked).await;
    let settings = json!({ "Disabled": { "Users": ["ada"] } }).to_string();
    olga.send(Method::PUT, ORG_SETTINGS, Some(settings)).await.result();
    forget(&system).await;
    approve(&olga, &approval).await.result();
    ended(&olga, &asked).await;
    assert!(told(&system).contains("The user ada is disabled"), "{}", told(&system));
    assert_eq!(shop.performed().len(), 0);
}

#[tokio::test]
async fn killed_continuation_sends_an_approved_call_at_most_once() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let (shop, mut kills) = Shop::start(false).await;
    set(&system, &shop, &always()).await;
    put(&operator(&system, "acme"), &AGENTS.context("clerk"), &json!({ "Name": "Clerk", "Tools": ["shop"] }))
        .await
        .result();
    let ada = system.client("acme", "ada");
    for (order, moment, performed) in [("1", Moment::Performed, 1), ("2", Moment::Lost, 1)] {
        let asked = asks(&call("refund", order));
        let approval = wait(&ada, &asked).await;
        shop.kill_at(order, moment);
        let kill = async {
            let killed = kills.recv().await.unwrap();
            system.cloud.crash(Function::Execute);
            killed.send(()).ok();
        };
        let (approved, ()) = futures::join!(approve(&ada, &approval), kill);
        assert_eq!(approved.result()["Status"], "approved");
        // Nobody asks: the sweep has the turn continued.
        swept(&system, &ada, &asked).await;
        let answer = ada.execute(&asked).await.result();
        assert!(answer["UserWarnings"].to_string().contains("shop__refund is unknown"), "{answer}");
        assert_eq!(shop.performed().len(), performed, "{order}");
        assert_eq!(approve(&ada, &approval).await.error(), "ApprovalAnswered");
    }
}

#[tokio::test]
async fn queue_continues_an_approved_turn_whose_asker_is_gone() {
    let (system, shop) = open(json!({ "Policy": "always", "Roles": ["operator"] })).await;
    let (ada, olga) = (system.client("acme", "ada"), operator(&system, "acme"));
    let asked = asks(&call("refund", "1"));
    let approval = wait(&ada, &asked).await;
    system.cloud.pause_turns().await;
    assert_eq!(approve(&olga, &approval).await.result()["Status"], "approved");
    assert_eq!(shop.performed().len(), 0, "the answer waits for no turn");
    // The functions die between message and run, and the message comes twice.
    forget(&system).await;
    let (sqs, queue) = (system.cloud.sqs(), &system.cloud.endpoints().turn_queue);
    let message = |turn: &str| {
        json!({ "Kind": "continue_turn", "Org": "acme", "Session": asked["SessionId"], "Turn": turn })
            .to_string()
    };
    for turn in [asked["TurnId"].as_str().unwrap(), "unknown"] {
        sqs.send_message().queue_url(queue).message_body(message(turn)).send().await.unwrap();
    }
    let path = format!("{}/stream", turn_path(&asked));
    let resumed = async {
        sleep(Duration::from_millis(500)).await;
        system.cloud.resume_turns().await;
    };
    let (followed, ()) = futures::join!(ada.get(&path), resumed);
    assert!(followed.text.contains("Done."), "who follows the turn waits for it: {}", followed.text);
    let turn = ended(&olga, &asked).await;
    assert_eq!((&turn["Status"]["Id"], shop.performed().len()), (&json!("completed"), 1));
    assert_eq!(turn["CreatedByUser"]["Id"], "ada");
    assert_eq!(ada.execute(&asked).await.result()["PrimaryOutputText"], "Done.");
    assert_eq!(shop.performed().len(), 1);
    // What isn't a message returns to the queue, and delays no turn.
    sqs.send_message().queue_url(queue).message_body("{}").send().await.unwrap();
    let asked = asks(&call("refund", "2"));
    let approval = wait(&ada, &asked).await;
    approve(&olga, &approval).await.result();
    ended(&ada, &asked).await;
    assert_eq!(shop.performed().len(), 2);
}

#[tokio::test]
async fn sweep_continues_an_answered_turn_whose_message_is_lost() {
    let (system, shop) = open(always()).await;
    let ada = system.client("acme", "ada");
    let asked = asks(&format!("{}; {}", call("refund", "1"), call("refund", "2")));
    wait(&ada, &asked).await;
    let list = ada.get(APPROVALS).await.result();
    let items = list["Items"].as_array().unwrap();
    system.cloud.pause_turns().await;
    for approval in items {
        approve(&ada, approval).await.result();
    }
    forget(&system).await;
    let queue = &system.cloud.endpoints().turn_queue;
    system.cloud.sqs().purge_queue().queue_url(queue).send().await.unwrap();
    system.cloud.resume_turns().await;
    let turn = swept(&system, &ada, &asked).await;
    assert_eq!((&turn["Status"]["Id"], shop.performed().len()), (&json!("completed"), 2));
    assert!(told(&system).contains("refunded"));
}

#[tokio::test]
async fn expiry_is_told_without_another_request() {
    let (system, shop) = open(json!({ "Policy": "always", "ExpiresAfterSeconds": 1 })).await;
    let ada = system.client("acme", "ada");
    let asked = asks(&call("refund", "1"));
    wait(&ada, &asked).await;
    let turn = swept(&system, &ada, &asked).await;
    assert_eq!((&turn["Status"]["Id"], shop.performed().len()), (&json!("completed"), 0));
    assert!(told(&system).contains("Nobody approved this call in time"), "{}", told(&system));
}

#[tokio::test]
async fn expiry_is_told_when_the_request_is_sent_again() {
    let (system, shop) = open(json!({ "Policy": "always", "ExpiresAfterSeconds": 1 })).await;
    let ada = system.client("acme", "ada");
    let asked = asks(&call("refund", "1"));
    let approval = wait(&ada, &asked).await;
    let is_expired = |answer: &Answer| answer.json()["Result"]["Status"] == "expired";
    ada.until(&APPROVAL.fill(id(&approval)), PATIENCE, is_expired).await.result();
    assert_eq!(approve(&ada, &approval).await.error(), "ApprovalExpired");
    assert_eq!(listed(&ada, "").await, [""; 0]);
    assert_eq!(ada.execute(&asked).await.result()["PrimaryOutputText"], "Done.");
    assert!(told(&system).contains("Nobody approved this call in time"), "{}", told(&system));
    assert_eq!(shop.performed().len(), 0);
}
