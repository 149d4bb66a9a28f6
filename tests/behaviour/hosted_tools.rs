//! Tools that the provider runs: offered, told again where the API needs it, and cited.

use serde_json::{Value, json};

use crate::support::{System, answer_text, final_text_and_result, is_chained, items, turn_in};

const SOURCES: &str =
    "It is so.\n\nSources:\n\n- [The page](https://docs.example/page)\n- plan.pdf (`file-1`)";

fn all() -> Value {
    json!([
        {"Type": "web_search", "SearchContextSize": "low", "AllowedDomains": ["docs.example"]},
        {"Type": "file_search", "VectorStoreIds": ["vs_1"], "MaxNumResults": 5},
        {"Type": "code_interpreter", "MemoryLimit": "4g"},
        {"Type": "mcp", "ServerLabel": "docs", "ServerUrl": "https://mcp.example/mcp", "AllowedTools": ["ask"]},
    ])
}

/// A turn of the context `c` that looks things up, calls a tool of the service, and cites what it found.
fn research() -> Value {
    let page = json!({"type": "url_citation", "url": "https://docs.example/page", "title": "The page",
                      "start_index": 0, "end_index": 9});
    let file = json!({"type": "file_citation", "file_id": "file-1", "filename": "plan.pdf", "index": 9});
    let search = json!({"action": {"type": "search", "query": "so"}});
    let listed = json!({"server_label": "docs", "tools": []});
    let asked = json!({"server_label": "docs", "name": "ask", "arguments": "{}", "output": "yes"});
    let script = format!(
        "think \"Look it up.\"; hosted web_search_call {search}; hosted mcp_list_tools {listed}; \
         hosted mcp_call {asked}; call agent_list_modes {{}}; then; \
         hosted file_search_call {{\"queries\":[\"so\"]}}; say \"It is so.\"; cite {page}; cite {file}; cite {page}"
    );
    let mut turn = turn_in("s", &format!("Is it so? [[script: {script}]]"));
    turn["ConversationContextId"] = json!("c");
    turn
}

#[tokio::test]
async fn hosted_tools_are_offered_and_replayed_without_storage() {
    let system = System::start().await;
    system.put_context(json!({"HostedTools": all(), "Chain": "local"})).await;
    let ada = system.client("acme", "ada");
    let answer = ada.execute(&research()).await.result();
    assert_eq!(answer["PrimaryOutputText"], SOURCES);
    let calls = system.model_calls();
    for call in &calls {
        let tools = call["tools"].as_array().unwrap();
        let offered: Vec<&Value> = tools.iter().filter(|tool| tool["type"] != "function").collect();
        let expected = json!([
            {"type": "web_search", "filters": {"allowed_domains": ["docs.example"]}, "search_context_size": "low"},
            {"type": "file_search", "vector_store_ids": ["vs_1"], "max_num_results": 5},
            {"type": "code_interpreter", "container": {"type": "auto", "memory_limit": "4g"}},
            {"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example/mcp",
             "allowed_tools": ["ask"], "require_approval": "never"},
        ]);
        assert_eq!(offered, expected.as_array().unwrap().iter().collect::<Vec<_>>());
        assert!(tools.len() > offered.len(), "behind the service's own");
    }
    let round = [
        "system",
        "user",
        "reasoning",
        "web_search_call",
        "mcp_list_tools",
        "ask",
        "agent_list_modes",
        "function_call_output",
        "user",
    ];
    assert_eq!(items(&calls[1]), round, "in their place, as they came");
    assert_eq!(calls[1]["input"][5]["output"], "yes");

    let mut next = turn_in("s", "And now?");
    next["ConversationContextId"] = json!("c");
    ada.execute(&next).await.result();
    let told = system.last_call();
    assert_eq!(items(&told), [&round[..], &["assistant", "user"]].concat());
    assert_eq!(told["input"][9]["content"], SOURCES, "with its sources");
}

#[tokio::test]
async fn streamed_citations_equal_those_of_the_response() {
    let system = System::start().await;
    system.put_context(json!({"HostedTools": all()})).await;
    let ada = system.client("acme", "ada");
    let Ok(stream) = ada.execute_streaming(&research(), None).await else { panic!("no stream") };
    let (text, result) = final_text_and_result(&stream.rest().await);
    assert_eq!((text.as_str(), answer_text(&result).as_str()), (SOURCES, SOURCES));
    let calls = system.model_calls();
    assert!(is_chained(&calls[1]) && calls[1]["tools"].to_string().contains("web_search"), "offered again");
    assert_eq!(items(&calls[1]), ["function_call_output", "user"], "the provider has the rest");
}
