//! Contexts are read as the operator wrote them, and only by their own org.

use agent::context::{AgentContext, ConversationContext, Document};
use contracts::id::{AgentContextId, ConversationContextId, OrgId};
use serde_json::json;
use turns::ports::Store;

use super::Tenant;
use crate::build;

/// Checks that a table implements the contexts. Writing them isn't part of [`Store`], since operators do that, so
/// `put` does it here.
///
/// Each context is written only once, because a table may cache reads.
pub async fn contexts(store: &impl Store, put: impl AsyncFn(&OrgId, Document), run: &str) {
    let (tenant, other) =
        (Tenant::new(store, run, "contexts"), Tenant::new(store, run, "contexts of another"));
    // Unusual ids, the same for both kinds.
    for id in ["one", "An-0dd.id_of~its-own"] {
        let (agent, conversation) = (agent(id), conversation(id));
        put(&tenant.org, Document::AgentContext(agent.clone())).await;
        assert_eq!(store.agent_context(&tenant.org, &agent.id).await.unwrap().as_ref(), Some(&agent));
        let unknown = store.conversation_context(&tenant.org, &conversation.id).await.unwrap();
        assert_eq!(unknown, None, "an agent's context is no conversation's");
        put(&tenant.org, Document::ConversationContext(conversation.clone())).await;
        let read = store.conversation_context(&tenant.org, &conversation.id).await.unwrap();
        assert_eq!(read.as_ref(), Some(&conversation));
        assert_eq!(store.agent_context(&other.org, &agent.id).await.unwrap(), None);
        assert_eq!(store.conversation_context(&other.org, &conversation.id).await.unwrap(), None);
    }
    let ids = async |limit| {
        let ids = store.agents(&tenant.org, limit).await.unwrap();
        ids.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (ids(10).await, ids(1).await.len()),
        (vec!["An-0dd.id_of~its-own".to_owned(), "one".to_owned()], 1)
    );
    assert_eq!(store.agents(&other.org, 10).await.unwrap(), []);
    // More than a page of the table, which is 1 MB.
    let large = Tenant::new(store, run, "large contexts");
    for number in 10..22 {
        let large_agent = AgentContext { name: "x".repeat(95_000), ..agent(&number.to_string()) };
        put(&large.org, Document::AgentContext(large_agent)).await;
    }
    assert_eq!(store.agents(&large.org, 100).await.unwrap().len(), 12);
    let plain = ConversationContext { name: "Ours alone".to_owned(), ..build::conversation("one") };
    put(&other.org, Document::ConversationContext(plain.clone())).await;
    assert_eq!(store.conversation_context(&other.org, &plain.id).await.unwrap().as_ref(), Some(&plain));
    let theirs = store.conversation_context(&tenant.org, &plain.id).await.unwrap();
    assert_eq!(theirs, Some(conversation("one")), "the same id in another org");
    let (agent, conversation) =
        (AgentContextId::new("nobodys").unwrap(), ConversationContextId::new("nobodys").unwrap());
    assert_eq!(store.agent_context(&tenant.org, &agent).await.unwrap(), None);
    assert_eq!(store.conversation_context(&tenant.org, &conversation).await.unwrap(), None);
}

fn agent(id: &str) -> AgentContext {
    AgentContext {
        id: AgentContextId::new(id).unwrap(),
        name: "Bücher 😀".to_owned(),
        default_conversation_context_id: Some(ConversationContextId::new(id).unwrap()),
        ..build::config().defaults.agent.clone()
    }
}

/// A context in which no member has its default value.
fn conversation(id: &str) -> ConversationContext {
    let tools = &build::config().defaults.agent.client_tools;
    serde_json::from_value(json!({
        "Id": id, "Name": "Bücher 😀", "ModelName": "a-model", "System": "Be brief.\n\"Always\".",
        "Temperature": 0.7, "MaxOutputTokens": 1_000, "ReasoningEffort": "low", "DefaultMode": "general",
        "ClientTools": tools, "HostedTools": [{"Type": "web_search"}], "ToolChoiceName": "publish_file", "Collection": "books", "Chain": "local",
        "ToolsOnContinuation": "omit", "StoreRawPayloads": true, "ToolDeadlineSeconds": 61, "MaxRounds": 3,
        "HistorySummary": true,
        "Budgets": { "HistoryTokens": 1, "FileTokens": 2, "TotalFileTokens": 3, "ContextTokens": 4, "ContextChunks": 5 },
        "Prices": {
            "PromptPerMillion": "1.25", "CachedPromptPerMillion": "0.125", "CacheWritePerMillion": "1.5625",
            "CompletionPerMillion": "10",
            "Currency": "EUR",
        },
    }))
    .unwrap()
}
