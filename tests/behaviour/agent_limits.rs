//! Limits of agents, on every way to an agent's configuration.

use contracts::paths::{AGENTS, BUDGET_USE, CONVERSATION_CONTEXTS};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    agents::{editor, put as put_context},
    budgets::{budget, put},
    export::operator,
    org_settings::{refused, set},
    support::{Answer, Client, PATIENCE, System, id, session_path, turn, turn_in, turn_path},
};

/// Starts a system whose org `acme` has the agent `helper` with the conversation context `house`, and the agent `other`
/// with none.
async fn with_helper() -> (System, Client) {
    let system = System::start().await;
    let eddie = editor(&system, "acme");
    let house = json!({"Name": "House", "System": "Help."});
    put_context(&eddie, &CONVERSATION_CONTEXTS.context("house"), &house).await.result();
    for (id, agent) in [
        ("helper", json!({"Name": "Helper", "DefaultConversationContextId": "house"})),
        ("other", json!({"Name": "Other"})),
    ] {
        put_context(&eddie, &AGENTS.context(id), &agent).await.result();
    }
    (system, eddie)
}

/// Returns a turn of a new session with these contexts.
fn with(agent: Option<&str>, conversation: Option<&str>) -> Value {
    let mut turn = turn("Hello [[script: usage 40 2; say \"Done.\"]]");
    for (name, id) in [("AgentContextId", agent), ("ConversationContextId", conversation)] {
        if let Some(id) = id {
            turn[name] = json!(id);
        }
    }
    turn
}

/// Returns every way to the configuration of `helper`.
fn ways() -> [Value; 5] {
    [
        with(Some("helper"), None),
        with(None, Some("house")),
        with(Some("helper"), Some("house")),
        with(Some("other"), Some("house")),
        with(Some("workspace"), Some("house")),
    ]
}

#[tokio::test]
async fn disabled_agent_is_refused_on_every_way_to_its_configuration() {
    let (system, eddie) = with_helper().await;
    let ada = system.client("acme", "ada");
    let mut started = Vec::new();
    for way in ways() {
        ada.execute(&way).await.result();
        started.push(way);
    }
    set(&system, "acme", json!({"Disabled": {"Agents": ["helper"]}})).await;
    let is_refused = |answer: &Answer| refused(answer, "DisabledByOperator", Some("helper"));
    for way in ways() {
        is_refused(&ada.execute(&way).await);
        assert_eq!(ada.get(&session_path(&way)).await.status, 404, "{way}");
    }
    // Sessions from before, their reruns and their forks.
    for way in started {
        let session = way["SessionId"].as_str().unwrap();
        is_refused(&ada.execute(&turn_in(session, "More")).await);
        let rerun = json!({"TurnId": id()}).to_string();
        is_refused(&ada.post(&format!("{}/rerun", turn_path(&way)), rerun).await);
        let fork = json!({"SessionId": id(), "TurnId": way["TurnId"]}).to_string();
        is_refused(&ada.post(&format!("{}/fork", session_path(&way)), fork).await);
    }
    let openai = json!({"model": "agent/helper", "input": "Hi"}).to_string();
    let openai = ada.post("/v1/responses", openai).await;
    assert_eq!((openai.status, &openai.json()["error"]["code"]), (403, &json!("DisabledByOperator")));
    // Others are free: another configuration, and another org.
    ada.execute(&with(Some("other"), None)).await.result();
    ada.execute(&with(None, None)).await.result();
    // A context that an agent's rolled out version names is that agent's too.
    put_context(&eddie, &CONVERSATION_CONTEXTS.context("next"), &json!({"Name": "N", "System": "Help."}))
        .await
        .result();
    ada.execute(&with(None, Some("next"))).await.result();
    let agents = AGENTS.context("helper");
    let next = json!({"Name": "Helper", "DefaultConversationContextId": "next"});
    put_context(&eddie, &agents, &next).await.result();
    is_refused(&ada.execute(&with(None, Some("next"))).await);
    ada.execute(&with(None, Some("house"))).await.result();
    let rollout = json!({"Version": 1, "Percent": 1}).to_string();
    eddie.send(Method::PUT, &AGENTS.rollout("helper").unwrap(), Some(rollout)).await.result();
    is_refused(&ada.execute(&with(None, Some("house"))).await);
    is_refused(&ada.execute(&with(None, Some("next"))).await);
}

#[tokio::test]
async fn agent_that_shares_its_context_keeps_limits_of_its_own() {
    let (system, eddie) = with_helper().await;
    let twin = json!({"Name": "Twin", "DefaultConversationContextId": "house"});
    put_context(&eddie, &AGENTS.context("twin"), &twin).await.result();
    set(&system, "acme", json!({"Disabled": {"Agents": ["helper"]}})).await;
    let ada = system.client("acme", "ada");
    ada.execute(&with(Some("twin"), None)).await.result();
    ada.execute(&with(Some("twin"), Some("house"))).await.result();
    refused(&ada.execute(&with(None, Some("house"))).await, "DisabledByOperator", Some("helper"));
}

#[tokio::test]
async fn budget_of_an_agent_counts_every_way_to_its_configuration() {
    let (system, _) = with_helper().await;
    let (op, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    let of = |id: &str, members: Value| {
        let mut members = members;
        members["Id"] = json!(id);
        members["Scope"] = json!("agent");
        budget(members)
    };
    let all = json!({"Budgets": [
        of("helper", json!({"Subject": "helper", "Unit": "turns", "Limit": 5})),
        of("other", json!({"Subject": "other", "Unit": "turns", "Limit": 2})),
        of("each", json!({"Limit": 100_000})),
    ]});
    put(&op, &all).await.result();
    for way in ways() {
        ada.execute(&way).await.result();
    }
    let exceeded = |answer: &Answer, id: &str| {
        assert_eq!((answer.status, answer.error().as_str()), (429, "BudgetExceeded"), "{}", answer.text);
        assert_eq!(answer.errors()[0]["Details"], id);
    };
    for way in ways() {
        exceeded(&ada.execute(&way).await, "helper");
    }
    // The refused turns left nothing in the meter of the agent that they named.
    ada.execute(&with(Some("other"), None)).await.result();
    exceeded(&ada.execute(&with(Some("other"), None)).await, "other");
    let counted = |answer: &Answer| {
        let report = &answer.json()["Result"]["Budgets"];
        (&report[0]["Meters"][0]["Used"], &report[1]["Meters"][0]["Used"]) == (&json!(5), &json!(2))
    };
    op.until(BUDGET_USE, PATIENCE, counted).await.result();
}

#[tokio::test]
async fn budget_of_single_turns_holds_on_every_way_to_its_agent() {
    let (system, _) = with_helper().await;
    let loops = budget(json!({"Scope": "agent", "Subject": "helper", "Window": "turn", "Limit": 150}));
    put(&operator(&system, "acme"), &json!({"Budgets": [loops]})).await.result();
    let ada = system.client("acme", "ada");
    let round = "usage 100 10; say \"Looking.\"; call agent_list_modes {}; then; ";
    for mut way in ways() {
        way["Instruction"] = json!(format!("Loop [[script: {round}{round}usage 100 10; say \"Done.\"]]"));
        let stopped = ada.execute(&way).await;
        assert_eq!((stopped.status, stopped.error().as_str()), (429, "TurnOverBudget"), "{}", stopped.text);
    }
}
