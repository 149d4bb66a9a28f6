//! Tools that are Lambda functions: invoked with a valid signature by a server that speaks Lambda's API, and counts.

use contracts::paths::{AGENTS, CONNECTIONS, EFFECTS, tool_trial};
use local::Options;
use reqwest::Method;
use serde_json::{Value, json};

use crate::agents::put;
use crate::effects::{only_unknown, open, run_with_kill};
use crate::export::operator;
use crate::shop::{FUNCTION, Moment, Shop, asks, call};
use crate::support::{System, options};

#[tokio::test]
async fn function_gets_the_arguments_and_knows_the_call() {
    let (system, shop, _kills) = open("lambda", false).await;
    let ada = system.client("acme", "ada");
    ada.execute(&asks(&call("refund", "1"))).await.result();
    let sent = system.last_call().to_string();
    assert!(sent.contains(r#"{\"refunded\":\"1\"}"#), "{sent}");
    let [(order, key)] = &shop.performed()[..] else { panic!("{:?}", shop.performed()) };
    assert_eq!((order.as_str(), key.len()), ("1", 40));
    let context = json!({ "aptixTool": "refund", "aptixKey": key, "aptixOrg": "acme", "aptixUser": "ada" });
    assert_eq!(shop.contexts(), [context]);
}

#[tokio::test]
async fn function_is_invoked_once_under_a_kill_and_by_its_key_again() {
    let (system, shop, mut kills) = open("lambda", false).await;
    let ada = system.client("acme", "ada");
    for (order, moment) in [("1", Moment::Performed), ("2", Moment::Late), ("3", Moment::Lost)] {
        shop.kill_at(order, moment);
        let answer = run_with_kill(&system, &ada, &asks(&call("refund", order)), &mut kills).await.result();
        assert!(answer["UserWarnings"].to_string().contains("shop__refund is unknown"), "{answer}");
    }
    shop.kill_at("4", Moment::Performed);
    let keyed = run_with_kill(&system, &ada, &asks(&call("refund_keyed", "4")), &mut kills).await.result();
    assert!(!keyed["UserWarnings"].to_string().contains("unknown"), "{keyed}");
    let orders: Vec<String> = shop.performed().into_iter().map(|(order, _)| order).collect();
    assert_eq!(orders, ["1", "2", "4"]);
    // The keyed call was sent twice, and the others once.
    assert_eq!(shop.contexts().len(), 5);
}

#[tokio::test]
async fn failure_of_a_function_is_a_result_and_one_of_lambda_is_not() {
    let (system, shop, _kills) = open("lambda", false).await;
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    for (order, told) in [
        ("no-such-order", r#"\"errorType\":\"KeyError\",\"isError\":true,\"text\":\"No such order.\""#),
        ("throttled", "The target refused the call with status 429"),
        ("unprepared", "so it didn't run: KMSDisabledException"),
    ] {
        let answer = ada.execute(&asks(&call("refund", order))).await.result();
        assert!(!answer["UserWarnings"].to_string().contains("unknown"), "{answer}");
        let sent = system.last_call().to_string();
        assert!(sent.contains(told) && !sent.contains("shop.py"), "{order}: {sent}");
    }
    assert_eq!(olga.get(EFFECTS).await.result()["Items"], json!([]));
    for order in ["slow", "broken"] {
        let turn = asks(&call("refund", order));
        let answer = ada.execute(&turn).await.result();
        assert!(answer["UserWarnings"].to_string().contains("shop__refund is unknown"), "{answer}");
        let unknown = only_unknown(&olga).await;
        assert_eq!(unknown["TurnId"], turn["TurnId"]);
        let (session, id) = (unknown["SessionId"].as_str().unwrap(), turn["TurnId"].as_str().unwrap());
        let path = format!("/api/ai/agent/sessions/{session}/turns/{id}/resolve-effect");
        let body = json!({ "EffectId": unknown["EffectId"], "Outcome": "not_performed", "Note": "n" });
        olga.post(&path, body.to_string()).await.result();
    }
    assert_eq!((shop.performed().len(), shop.contexts().len()), (0, 5));
}

#[tokio::test]
async fn operator_tries_a_function() {
    let (system, shop, _kills) = open("lambda", false).await;
    let olga = operator(&system, "acme");
    let body = json!({ "Tool": "refund", "ArgumentsJson": r#"{"order":"1"}"# }).to_string();
    let trial = olga.post(&tool_trial("shop"), body).await.result();
    assert_eq!((&trial["Outcome"], &trial["Result"]), (&json!("done"), &json!({ "refunded": "1" })));
    assert_eq!(shop.contexts()[0]["aptixUser"], "op");
}

#[tokio::test]
async fn function_that_the_deployment_does_not_allow_is_refused_by_name() {
    let (shop, _kills) = Shop::signed(false, "lambda").await;
    let folder = tempfile::tempdir().unwrap();
    let data = || Options { data: local::Data::Folder(folder.path().to_owned()), ..options() };
    let system = System::with(shop.allowed(data())).await;
    let olga = operator(&system, "acme");
    shop.open(&olga, "lambda").await;
    let connection =
        |arn: &str| json!({ "Name": "Shop", "Protocol": "lambda", "FunctionArn": arn, "Tools": [] });
    let plain = FUNCTION.trim_end_matches(":live");
    for arn in [plain, "arn:aws:lambda:eu-central-1:123456789012:function:other"] {
        let refused = put(&olga, &CONNECTIONS.context("other"), &connection(arn)).await;
        assert_eq!(refused.status, 400);
        assert!(
            refused.text.contains("FunctionArn: is none that the deployment may invoke"),
            "{}",
            refused.text
        );
    }
    system.cloud.shutdown().await;
    // Another deployment of the same data, whose operator allows nothing.
    let system = System::with(data()).await;
    let ada = system.client("acme", "ada");
    ada.execute(&asks(&call("refund", "1"))).await.result();
    let sent = system.last_call().to_string();
    assert!(sent.contains("the deployment doesn't invoke the function of the connection shop"), "{sent}");
    assert_eq!(shop.contexts().len(), 0);
}

#[tokio::test]
async fn connection_of_a_function_has_no_member_of_a_server() {
    let (system, _shop, _kills) = open("lambda", false).await;
    let olga = operator(&system, "acme");
    let refused = async |member: &str, value: Value, wanted: &str| {
        let mut connection =
            json!({ "Name": "Shop", "Protocol": "lambda", "FunctionArn": FUNCTION, "Tools": [] });
        connection[member] = value;
        let answer = put(&olga, &CONNECTIONS.context("other"), &connection).await;
        assert_eq!(answer.status, 400, "{member}: {}", answer.text);
        assert!(answer.text.contains(wanted), "{member}: {}", answer.text);
    };
    refused("Url", json!("https://example.com"), "Url: is required, except for the protocol lambda").await;
    refused("DocumentUrl", json!("https://example.com"), "DocumentUrl: is only for the protocol openapi")
        .await;
    refused("Authentication", json!({ "Scheme": "bearer" }), "must be none for the protocol lambda").await;
    refused("FunctionArn", json!("arn:aws:lambda:eu-central-1:123456789012:function:*"), "must be the ARN")
        .await;
    refused("Protocol", json!("http"), "FunctionArn: is required for the protocol lambda").await;
    let tool = |member: &str, value: Value| {
        let mut tool = json!({ "Name": "refund", "Description": "d", "Parameters": { "type": "object" } });
        tool[member] = value;
        json!([tool])
    };
    for (member, value) in [
        ("Method", json!("POST")),
        ("Path", json!("/a")),
        ("LookupPath", json!("/{key}")),
        ("KeyHeader", json!("X-Key")),
        ("Hash", json!("0".repeat(64))),
    ] {
        refused("Tools", tool(member, value), &format!("Tools[0].{member}: is ")).await;
    }
    let refresh = format!("{}/refresh", CONNECTIONS.context("shop"));
    let refused = olga.post(&refresh, "{}".to_owned()).await;
    assert_eq!((refused.status, refused.error().as_str()), (400, "MemberInvalid"), "{}", refused.text);
    assert_eq!(olga.send(Method::DELETE, &AGENTS.context("clerk"), None).await.status / 100, 2);
}
