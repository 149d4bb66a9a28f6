//! Calls of connections' tools in reports: usage, steps and traces.

use std::collections::BTreeMap;

use contracts::paths::{CONNECTIONS, USAGE};
use local::token::Identity;
use serde_json::{Value, json};

use crate::agents::put;
use crate::effects::open;
use crate::export::operator;
use crate::import::{import, text};
use crate::provider_start::aptix;
use crate::shop::{Shop, asks, call};
use crate::support::{PATIENCE, System, turn_path};
use crate::traces::{Collector, attributes, traced};

#[tokio::test]
async fn usage_names_each_tool_with_its_calls_and_price() {
    let (system, _shop, _kills) = open("http", false).await;
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    let path = CONNECTIONS.context("shop");
    let mut content = olga.get(&path).await.result()["Content"].clone();
    content["Tools"][0]["Price"] = json!({ "Amount": "0.25", "Currency": "USD" });
    put(&olga, &path, &content).await.result();
    system.crash_execute().await;
    let first = asks(&format!("{}; {}; {}", call("refund", "1"), call("refund", "2"), call("status", "1")));
    ada.execute(&first).await.result();
    system.client("acme", "bob").execute(&asks(&call("refund", "3"))).await.result();

    let counts = |turns: u64| {
        move |answer: &crate::support::Answer| answer.json()["Result"]["Total"]["Turns"] == turns
    };
    let report = olga.until(USAGE, PATIENCE, counts(2)).await.result();
    let refunds = |calls: u64, amount: &str| json!({ "Tool": "shop__refund", "Calls": calls, "Costs": [{ "Amount": amount, "Currency": "USD" }] });
    let status = json!({ "Tool": "shop__status", "Calls": 1 });
    assert_eq!(report["Tools"], json!([refunds(3, "0.75"), status]));
    let of_ada = olga.until(&format!("{USAGE}?userId=ada"), PATIENCE, counts(1)).await.result();
    assert_eq!(of_ada["Tools"], json!([refunds(2, "0.5"), status]));

    let token = system.cloud.token(&Identity { operator: true, ..Identity::user("acme", "op") }).unwrap();
    let usage = ["usage", "--api-url", system.cloud.url(), "--token", &token];
    let done = aptix(&usage, &[]).output().await.unwrap();
    let printed = String::from_utf8(done.stdout).unwrap();
    let line = printed.lines().find(|line| line.starts_with("shop__refund")).unwrap_or_default();
    assert!(line.contains('3') && line.ends_with("0.75 USD"), "{printed}");

    // An import takes the counts along, and counts nothing again.
    let exported = text(&olga, &first).await;
    import(&olga, &exported, "?ids=new").await.result();
    assert_eq!(olga.get(USAGE).await.result()["Tools"], report["Tools"]);
    let mut wrong: Value = serde_json::from_str(&exported).unwrap();
    let result = |item: &Value| item["Key"].as_str().unwrap().ends_with("#RESULT");
    let place = wrong["Stored"].as_array().unwrap().iter().position(result).unwrap();
    wrong["Stored"][place]["Tools"]["shop__refund"]["Calls"] = json!(1_000_000);
    let refused = import(&olga, &wrong.to_string(), "?ids=new").await;
    assert!(refused.status == 400 && refused.text.contains("Tools.Calls"), "{}", refused.text);
}

#[tokio::test]
async fn steps_name_the_connection_and_its_version() {
    let (system, _shop, _kills) = open("http", false).await;
    let ada = system.client("acme", "ada");
    let asked = asks(&format!("{}; call agent_list_modes {{}}", call("refund", "1")));
    ada.execute(&asked).await.result();
    let steps = ada.get(&format!("{}/steps", turn_path(&asked))).await.result();
    let [refund, modes] = steps["Items"][0]["Calls"].as_array().unwrap().as_slice() else {
        panic!("{steps}");
    };
    assert_eq!((&refund["ConnectionId"], &refund["ConnectionVersion"]), (&json!("shop"), &json!(1)));
    assert_eq!(refund["Name"], "shop__refund");
    assert!(modes.get("ConnectionId").is_none(), "{steps}");
}

#[tokio::test]
async fn span_of_an_mcp_call_has_the_attributes_of_the_conventions() {
    for (is_stateless, version) in [(true, "2026-07-28"), (false, "2025-11-25")] {
        let (collector, url) = Collector::start().await;
        let system = System::with(traced(&url)).await;
        let (shop, _kills) = Shop::start(is_stateless).await;
        shop.open(&operator(&system, "acme"), "mcp").await;
        system.client("acme", "ada").execute(&asks(&call("refund", "1"))).await.result();
        let span = collector.span("execute_tool shop__refund");
        let told: BTreeMap<&str, String> = attributes(&span.attributes);
        let names = ["mcp.method.name", "mcp.protocol.version", "gen_ai.tool.name", "server.address"];
        assert_eq!(
            names.map(|name| told[name].as_str()),
            ["tools/call", version, "shop__refund", "127.0.0.1"]
        );
        let session = told.get("mcp.session.id").map(String::as_str);
        assert_eq!(session, (!is_stateless).then_some("refunds-1"));
        assert!(!told.contains_key("error.type"), "{told:?}");
        let lines = system.logged(local::Function::Execute, "tool called", |_| true).await;
        assert!(!format!("{lines:?}").contains("mcp."), "traces alone have these names: {lines:?}");
    }
}
