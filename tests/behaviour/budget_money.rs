//! Budgets of money, and models without a price in their currency.

use agent::context::Rollout;
use contracts::paths::{BUDGET_USE, BUDGETS, CONVERSATION_CONTEXTS, ORG_SETTINGS, USAGE};
use local::token::Identity;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    agents::{editor, put as put_context},
    budgets::{budget, put, put_and_restart},
    export::operator,
    org_settings::{refused, set},
    provider_start::aptix,
    support::{
        Answer, Client, PATIENCE, System, declaring, id, in_context, session_path, turn, turn_in, turn_path,
    },
};

/// The model of a context without a price.
const UNPRICED: &str = "house-model";

/// Returns budgets of one USD or EUR a day for the org, with other members.
fn money(currency: &str, members: Value) -> Value {
    let mut one = budget(json!({"Scope": "org", "Unit": "money", "Limit": 1_000_000}));
    one.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    json!({"Currency": currency, "Budgets": [one]})
}

fn prices(currency: &str) -> Value {
    json!({"PromptPerMillion": "1", "CompletionPerMillion": "10", "Currency": currency})
}

/// Returns a turn of a new session in the context `c`.
fn in_c(instruction: &str) -> Value {
    let mut turn = in_context(instruction);
    turn["SessionId"] = json!(id());
    turn
}

/// Requires that a turn is refused for its model, and that nothing is left of it.
async fn refuses(system: &System, client: &Client, turn: &Value, model: &str, words: &[&str]) {
    let calls = system.model_calls().len();
    let answer = client.execute(turn).await;
    refused(&answer, "ForbiddenByPolicy", Some(model));
    for word in words {
        assert!(answer.text.contains(word), "{word}: {}", answer.text);
    }
    assert_eq!((client.get(&turn_path(turn)).await.status, system.model_calls().len()), (404, calls));
}

#[tokio::test]
async fn money_budget_is_written_once_every_agent_has_a_price() {
    let system = System::start().await;
    let (op, eddie) = (operator(&system, "acme"), editor(&system, "acme"));
    let faults = async |body: Value| {
        let answer = put(&op, &body).await;
        assert_eq!((answer.status, answer.error().as_str()), (400, "MemberInvalid"), "{}", answer.text);
        assert_eq!(answer.errors()[0]["Details"], "Budgets[0].Unpriced");
        answer.errors()[0]["Message"].as_str().unwrap().to_owned()
    };
    let message = faults(money("EUR", json!({}))).await;
    for words in
        ["default (its model scripted has prices in USD and none in EUR)", "workspace", "Set Prices in EUR"]
    {
        assert!(message.contains(words), "{message}");
    }
    put(&op, &money("USD", json!({}))).await.result();
    put(&op, &money("EUR", json!({"Unpriced": "allow"}))).await.result();
    // An agent of the org without a price, and one in a version that is rolled out.
    let unpriced = json!({"Name": "House", "System": "Help.", "ModelName": UNPRICED});
    let priced = json!({"Name": "House", "System": "Help.", "ModelName": "gpt-5"});
    let path = CONVERSATION_CONTEXTS.context("house");
    put_context(&eddie, &path, &unpriced).await.result();
    let agent = json!({"Name": "Helper", "DefaultConversationContextId": "house"});
    put_context(&eddie, &contracts::paths::AGENTS.context("helper"), &agent).await.result();
    let message = faults(money("USD", json!({}))).await;
    assert!(message.contains("helper (its model house-model has no price in USD)."), "{message}");
    assert!(!message.contains("default"), "{message}");
    let of_agent = |agent: &str| json!({"Scope": "agent", "Subject": agent});
    put(&op, &money("USD", of_agent("default"))).await.result();
    faults(money("USD", of_agent("helper"))).await;
    set(&system, "acme", json!({"Disabled": {"Agents": ["helper"]}})).await;
    put(&op, &money("USD", json!({}))).await.result();
    set(&system, "acme", json!({})).await;
    put_context(&eddie, &path, &priced).await.result();
    put(&op, &money("USD", of_agent("helper"))).await.result();
    let rollout = json!({"Version": 1, "Percent": 1}).to_string();
    eddie.send(Method::PUT, &CONVERSATION_CONTEXTS.rollout("house").unwrap(), Some(rollout)).await.result();
    faults(money("USD", json!({}))).await;
    // What is stored already is no change.
    put(&op, &money("USD", of_agent("helper"))).await.result();
}

#[tokio::test]
async fn default_agent_has_a_list_price_and_its_turns_count() {
    let system = System::start().await;
    let (op, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    put(&op, &money("USD", json!({"Limit": 200}))).await.result();
    let first = turn("One [[script: usage 100 10; say \"Done.\"]]");
    ada.execute(&first).await.result();
    assert_eq!(
        ada.get(&turn_path(&first)).await.result()["Cost"],
        json!({"Amount": "0.0002", "Currency": "USD"})
    );
    let is_counted =
        |answer: &Answer| answer.json()["Result"]["Budgets"][0]["Meters"][0]["Used"] == json!(200);
    op.until(BUDGET_USE, PATIENCE, is_counted).await.result();
    let over = ada.execute(&turn("Two")).await;
    assert_eq!((over.status, over.error().as_str()), (429, "BudgetExceeded"), "{}", over.text);
}

#[tokio::test]
async fn turn_without_a_price_is_refused_wherever_its_model_comes_from() {
    let system = System::start().await;
    let (op, eddie, ada) = (operator(&system, "acme"), editor(&system, "acme"), system.client("acme", "ada"));
    put(&op, &money("USD", json!({}))).await.result();
    let context = CONVERSATION_CONTEXTS.context("c");
    let content = |members: Value| {
        let mut content = json!({"Name": "C", "System": "Be brief."});
        content.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        content
    };
    let edit = async |members: Value| {
        put_context(&eddie, &context, &content(members)).await.result();
    };
    // Created, priced in another currency, and priced.
    edit(json!({"ModelName": UNPRICED})).await;
    let words = ["budget \\\"b\\\" of 1 USD a day for the org", "no price in USD", "set Prices in USD"];
    refuses(&system, &ada, &in_c("Created"), UNPRICED, &words).await;
    edit(json!({"ModelName": UNPRICED, "Prices": prices("EUR")})).await;
    refuses(&system, &ada, &in_c("Priced in EUR"), UNPRICED, &["prices in EUR and none in USD"]).await;
    let streamed = ada.execute_streaming(&in_c("Streamed"), None).await.err().unwrap();
    refused(&streamed, "ForbiddenByPolicy", Some(UNPRICED));
    edit(json!({"ModelName": UNPRICED, "Prices": prices("USD")})).await;
    let done = in_c("Priced");
    ada.execute(&done).await.result();
    let session = done["SessionId"].as_str().unwrap();
    system.until_finalized(session, 1).await;
    // Edited while its session exists: its next turn, a rerun and the turns of a fork.
    edit(json!({"ModelName": "scripted", "Fallbacks": [{"ModelName": UNPRICED}]})).await;
    ada.execute(&turn_in(session, "By the list price")).await.result();
    system.until_finalized(session, 2).await;
    let rerun = async |body: Value| ada.post(&format!("{}/rerun", turn_path(&done)), body.to_string()).await;
    refused(&rerun(json!({"TurnId": id(), "Model": UNPRICED})).await, "ForbiddenByPolicy", Some(UNPRICED));
    edit(json!({"ModelName": UNPRICED})).await;
    refuses(&system, &ada, &turn_in(session, "Edited"), UNPRICED, &[]).await;
    refused(&rerun(json!({"TurnId": id()})).await, "ForbiddenByPolicy", Some(UNPRICED));
    let fork = json!({"SessionId": id(), "TurnId": done["TurnId"]});
    ada.post(&format!("{}/fork", session_path(&done)), fork.to_string()).await.result();
    refuses(&system, &ada, &turn_in(fork["SessionId"].as_str().unwrap(), "Forked"), UNPRICED, &[]).await;
    // Rolled out, and rolled back.
    edit(json!({"ModelName": "gpt-5"})).await;
    let rollout = json!({"Version": 1, "Percent": 100}).to_string();
    eddie.send(Method::PUT, &CONVERSATION_CONTEXTS.rollout("c").unwrap(), Some(rollout)).await.result();
    assert!(Rollout { version: 1, percent: 100 }.includes("c", session));
    refuses(&system, &ada, &turn_in(session, "Rolled out"), UNPRICED, &[]).await;
    let back = json!({"Version": 1}).to_string();
    eddie.post(&CONVERSATION_CONTEXTS.rollback("c"), back).await.result();
    refuses(&system, &ada, &turn_in(session, "Rolled back"), UNPRICED, &[]).await;
    // No reservation is left.
    let used = op.get(BUDGET_USE).await.result();
    assert_eq!(used["Budgets"][0]["Meters"][0]["Reserved"], 0, "{used}");
    // Another org has no budget.
    system.client("rival", "ada").execute(&turn("Another org's")).await.result();
}

#[tokio::test]
async fn fallback_without_a_price_is_skipped() {
    let system = System::with(declaring(&json!([]))).await;
    let fallbacks = json!([{"ModelName": UNPRICED}, {"ModelName": "gpt-5-mini"}]);
    system.put_context(json!({"ModelName": "gpt-5", "Fallbacks": fallbacks})).await;
    let ada = system.client("acme", "ada");
    let out = || in_c("Hello [[script: status 503 for gpt-5; usage 100 10; say \"Here.\"]]");
    ada.execute(&out()).await.result();
    put_and_restart(&system, &money("USD", json!({}))).await;
    ada.execute(&out()).await.result();
    let calls = system.model_calls();
    let models: Vec<&str> = calls.iter().map(|call| call["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["gpt-5", UNPRICED, "gpt-5", "gpt-5-mini"]);
}

#[tokio::test]
async fn allowed_turns_without_a_price_are_counted_by_every_reader() {
    let system = System::start().await;
    system.put_context(json!({"ModelName": UNPRICED})).await;
    let (op, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    put(&op, &money("USD", json!({"Unpriced": "allow"}))).await.result();
    let unpriced = ada.execute(&in_c("One [[script: usage 100 10; say \"Done.\"]]")).await.result();
    assert_eq!(unpriced.get("UserWarnings"), None);
    ada.execute(&turn("Two [[script: usage 100 10; say \"Done.\"]]")).await.result();
    let is_counted = |answer: &Answer| {
        let meter = answer.json()["Result"]["Budgets"][0]["Meters"][0].clone();
        (&meter["Used"], &meter["UnpricedTurns"]) == (&json!(200), &json!(1))
    };
    op.until(BUDGET_USE, PATIENCE, is_counted).await.result();
    let counted = |answer: &Answer| answer.json()["Result"]["Total"]["Turns"] == 2;
    let usage = op.until(&format!("{USAGE}?by=model"), PATIENCE, counted).await.result();
    let total = &usage["Total"];
    assert_eq!(
        (&total["UnpricedTurns"], &total["Costs"]),
        (&json!(1), &json!([{"Amount": "0.0002", "Currency": "USD"}]))
    );
    let of_model = |model: &str| {
        let groups = usage["Groups"].as_array().unwrap();
        groups.iter().find(|group| group["Key"] == model).unwrap()["UnpricedTurns"].clone()
    };
    assert_eq!((of_model(UNPRICED), of_model("scripted")), (json!(1), json!(0)));
    let csv = op.raw(Method::GET, &format!("{USAGE}?by=model"), &[("accept", "text/csv")], Vec::new()).await;
    assert!(
        csv.text.lines().any(|line| line.starts_with("\"house-model\"") && line.ends_with(",\"\",1,0")),
        "{}",
        csv.text
    );
    let identity = Identity { operator: true, ..Identity::user("acme", "op") };
    let token = system.cloud.token(&identity).unwrap();
    for (command, expected) in [(&["budgets", "use"][..], "1 turn unpriced"), (&["usage"], "1 turn\n")] {
        let access = ["--api-url", system.cloud.url(), "--token", &token];
        let done = tokio::time::timeout(PATIENCE, aptix(&[command, &access].concat(), &[]).output());
        let text = String::from_utf8(done.await.expect("an end").unwrap().stdout).unwrap();
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn budget_that_warns_names_the_model_that_it_cannot_count() {
    let system = System::start().await;
    put(&operator(&system, "acme"), &money("USD", json!({"Action": "warn"}))).await.result();
    system.put_context(json!({"ModelName": UNPRICED})).await;
    let ada = system.client("acme", "ada");
    let answer = ada.execute(&in_c("Hello")).await.result();
    assert_eq!(
        answer["UserWarnings"],
        json!([
            "The budget \"b\" of 1 USD a day for the org can't count the model house-model, which has no price in USD."
        ])
    );
    assert_eq!(ada.execute(&turn("Hello")).await.result().get("UserWarnings"), None);
}

/// Returns the JSON block of a guide that contains a member.
fn example(guide: &str, member: &str) -> Value {
    let path = format!("{}/../docs/guides/{guide}.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("a guide");
    let mut blocks =
        text.split("```json").skip(1).filter_map(|rest| rest.split_once('\n')?.1.split("```").next());
    let found = blocks.find(|block| block.contains(&format!("\"{member}\"")));
    serde_json::from_str(found.expect("an example")).expect("JSON")
}

#[tokio::test]
async fn examples_of_the_guides_work_together() {
    let providers = json!([
        {"Name": "azure", "BaseUrl": "http://127.0.0.1:9/v1", "KeySetting": "OPENAI_API_KEY"},
        {"Name": "openrouter", "BaseUrl": "http://127.0.0.1:9/v1", "KeySetting": "OPENAI_API_KEY"},
    ]);
    let system = System::with(declaring(&providers)).await;
    let (op, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    system.put_contexts("acme", &example("agents", "engineer")).await;
    let careful = example("agents", "careful");
    put_context(&editor(&system, "acme"), &CONVERSATION_CONTEXTS.context("careful"), &careful).await.result();
    put(&op, &example("budgets", "Budgets")).await.result();
    op.send(Method::PUT, ORG_SETTINGS, Some(example("org-settings", "Titles").to_string())).await.result();
    let mut turn = turn("Hello [[script: usage 1000 100; say \"Done.\"]]");
    turn["AgentContextId"] = json!("engineer");
    ada.execute(&turn).await.result();
    assert_eq!(
        ada.get(&turn_path(&turn)).await.result()["Cost"],
        json!({"Amount": "0.00225", "Currency": "USD"})
    );
    let is_counted = |answer: &Answer| {
        let meter = answer.json()["Result"]["Budgets"][0]["Meters"][0].clone();
        (&meter["Used"], &meter["UnpricedTurns"]) == (&json!(2_250), &json!(0))
    };
    op.until(BUDGET_USE, PATIENCE, is_counted).await.result();
    assert_eq!(op.get(BUDGETS).await.result()["Currency"], "USD");
}
