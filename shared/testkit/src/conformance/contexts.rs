//! Contexts are read as the operator wrote them, and only by their own org.

use std::sync::Arc;

use agent::{
    context::{AgentContext, ConversationContext, Document},
    mode::{MAX_MODES, Mode},
};
use contracts::id::{AgentContextId, ConversationContextId, OrgId};
use serde_json::json;
use turns::ports::{AgentEntry, Store, TypedDocuments};

use super::Tenant;
use crate::build;

/// Checks that a table implements the typed reads of contexts. `put` writes one as an operator does.
///
/// Each context is written only once, because a table may cache reads.
pub async fn contexts(store: &impl Store, put: impl AsyncFn(&OrgId, Document), run: &str) {
    let (tenant, other) =
        (Tenant::new(store, run, "contexts"), Tenant::new(store, run, "contexts of another"));
    // Unusual ids, the same for both kinds.
    for id in ["one", "An-0dd.id_of~its-own"] {
        let (agent, conversation) = (agent(id), conversation(id));
        put(&tenant.org, Document::AgentContext(agent.clone())).await;
        assert_eq!(agent_of(store, &tenant.org, &agent.id).await.as_ref(), Some(&agent));
        let unknown = conversation_of(store, &tenant.org, &conversation.id).await;
        assert_eq!(unknown, None, "an agent's context is no conversation's");
        put(&tenant.org, Document::ConversationContext(conversation.clone())).await;
        let read = conversation_of(store, &tenant.org, &conversation.id).await;
        assert_eq!(read.as_ref(), Some(&conversation));
        assert_eq!(store.agent_context(&other.org, &agent.id).await.unwrap(), None);
        assert_eq!(store.conversation_context(&other.org, &conversation.id).await.unwrap(), None);
    }
    let ids = async |limit| {
        let ids = store.agents(&tenant.org, None, limit).await.unwrap();
        ids.iter().map(|agent| agent.id.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (ids(10).await, ids(1).await.len()),
        (vec!["An-0dd.id_of~its-own".to_owned(), "one".to_owned()], 1)
    );
    assert_eq!(store.agents(&other.org, None, 10).await.unwrap(), []);
    // More than a page of the table, which is 1 MB.
    let large = Tenant::new(store, run, "large contexts");
    for number in 10..22 {
        let large_agent = AgentContext { name: "x".repeat(95_000), ..agent(&number.to_string()) };
        put(&large.org, Document::AgentContext(large_agent)).await;
    }
    assert_eq!(store.agents(&large.org, None, 100).await.unwrap().len(), 12);
    let plain = ConversationContext { name: "Ours alone".to_owned(), ..build::conversation("one") };
    put(&other.org, Document::ConversationContext(plain.clone())).await;
    assert_eq!(conversation_of(store, &other.org, &plain.id).await.as_ref(), Some(&plain));
    let theirs = conversation_of(store, &tenant.org, &plain.id).await;
    assert_eq!(theirs, Some(conversation("one")), "the same id in another org");
    let (agent, conversation) =
        (AgentContextId::new("nobodys").unwrap(), ConversationContextId::new("nobodys").unwrap());
    assert_eq!(store.agent_context(&tenant.org, &agent).await.unwrap(), None);
    assert_eq!(store.conversation_context(&tenant.org, &conversation).await.unwrap(), None);
    deprecated_agents(store, &put, run).await;
    modes(store, &put, run).await;
}

/// Checks that a list says which agents are deprecated.
async fn deprecated_agents(store: &impl Store, put: &impl AsyncFn(&OrgId, Document), run: &str) {
    let tenant = Tenant::new(store, run, "deprecated agents");
    let old = AgentContext { deprecated: Some("Use \"new\".".to_owned()), ..agent("old") };
    let entry = |agent: &AgentContext, is_deprecated| AgentEntry {
        id: agent.id.clone(),
        name: agent.name.clone(),
        description: agent.description.clone(),
        is_deprecated,
        default_conversation: agent.default_conversation_context_id.clone(),
        rollout: None,
    };
    let expected = [entry(&agent("new"), false), entry(&old, true)];
    for context in [old, agent("new")] {
        put(&tenant.org, Document::AgentContext(context)).await;
    }
    assert_eq!(store.agents(&tenant.org, None, 10).await.unwrap(), expected);
    let after = store.agents(&tenant.org, Some(&expected[0].id), 10).await.unwrap();
    assert_eq!(after, expected[1..]);
}

/// Checks that the modes of an org are read together, in a bounded number and only by their own org.
async fn modes(store: &impl Store, put: &impl AsyncFn(&OrgId, Document), run: &str) {
    let (tenant, other) = (Tenant::new(store, run, "modes"), Tenant::new(store, run, "modes of another"));
    for key in ["writing", "drawing"] {
        put(&tenant.org, Document::Mode(mode(key))).await;
    }
    let read = store.modes(&tenant.org).await.unwrap();
    assert_eq!(read.to_vec(), ["drawing", "writing"].map(|key| Arc::new(mode(key))));
    assert!(store.modes(&other.org).await.unwrap().is_empty());
    let many = Tenant::new(store, run, "many modes");
    for number in 0..=MAX_MODES {
        put(&many.org, Document::Mode(mode(&format!("m{number}")))).await;
    }
    assert_eq!(store.modes(&many.org).await.unwrap().len(), MAX_MODES);
}

/// A mode in which no member has its default value, but `IsDefault`.
fn mode(key: &str) -> Mode {
    serde_json::from_value(json!({
        "Id": "0123456789abcdef0123456789abcdef", "Key": key, "DisplayName": "Bücher 😀", "Description": "d",
        "WhenToUse": "w", "Status": "deprecated", "Deprecated": "Use \"general\".", "Version": "2",
        "ModeInstructions": ["One.\n\"Two\"."], "BehaviorHints": ["b"], "HumanRoleHints": ["h"],
        "ExampleUtterances": ["e"], "AssociatedToolIds": ["publish_file"],
        "ClientTools": build::config().defaults.agent.client_tools, "ToolGroupHints": ["g"],
        "RagScopeHints": ["Subtype=ddr"], "StrongSignals": ["s"], "WeakSignals": ["w"],
    }))
    .unwrap()
}

async fn agent_of(store: &impl Store, org: &OrgId, id: &AgentContextId) -> Option<AgentContext> {
    store.agent_context(org, id).await.unwrap().map(|found| found.content)
}

async fn conversation_of(
    store: &impl Store,
    org: &OrgId,
    id: &ConversationContextId,
) -> Option<ConversationContext> {
    store.conversation_context(org, id).await.unwrap().map(|found| found.content)
}

fn agent(id: &str) -> AgentContext {
    AgentContext {
        id: AgentContextId::new(id).unwrap(),
        name: "Bücher 😀".to_owned(),
        description: Some("Finds Bücher 😀.".to_owned()),
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
        "ClientTools": tools, "HostedTools": [{"Type": "web_search"}],
        "Guardrail": {"Id": "abc123", "Version": "1"}, "ToolChoiceName": "publish_file", "Collection": "books", "Chain": "local",
        "ToolsOnContinuation": "omit", "StoreRawPayloads": true, "ToolDeadlineSeconds": 61, "MaxRounds": 3,
        "HistorySummary": true,
        "PromptLimits": { "HistoryTokens": 1, "FileTokens": 2, "TotalFileTokens": 3, "ContextTokens": 4, "ContextChunks": 5 },
        "Prices": {
            "PromptPerMillion": "1.25", "CachedPromptPerMillion": "0.125", "CacheWritePerMillion": "1.5625",
            "CompletionPerMillion": "10",
            "Currency": "EUR",
        },
    }))
    .unwrap()
}
