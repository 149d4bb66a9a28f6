//! Builders for common test data.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use agent::{
    context::{
        self, AgentContext, ConversationContext, Document, Fallback, PromptLimits, Rollout,
        config::AgentConfig,
    },
    mode::Catalog,
    model::providers::Providers,
    retrieval::{DefaultSources, EmbeddingModel},
    tool::{
        self, Definition, ExecutedBy, Registry,
        remote::{CallTerms, EffectClass, RemoteTool},
    },
};
use contracts::{
    AgentExecuteRequest, Timestamp, UserTurn,
    id::{AgentContextId, ConversationContextId, OrgId, SessionId, TurnId, UserId},
    read::Visibility,
    request::{Artifact, Contents, FileName, Origin, RelativePath, SessionVisibility},
};
use protocol::{Caller, caller::User};
use protocol::{
    chain::{ConversationStatePolicy, Target},
    detail::Excerpt,
    id::{SessionKey, TurnKey},
    session::{Contexts, Hints, IdOrigin, SolutionChange},
    transition::begin::{Setup, Submission},
};

/// The model of test turns whose session has no contexts.
pub const MODEL: &str = "model-1";

/// An agent context of the org. Its sessions use the conversation context [`CUSTOM`] by default.
pub const AGENT: &str = "agent";

/// A conversation context of the org with its own model.
pub const CUSTOM: &str = "custom";

/// The model of [`CUSTOM`]. [`MODEL`] is its fallback.
pub const CUSTOM_MODEL: &str = "model-2";

/// A conversation context of the org that stores nothing with the provider.
pub const LOCAL: &str = "local";
/// A conversation context that stores nothing either, and compacts earlier turns.
pub const COMPACTED: &str = "compacted";

/// An agent context and a conversation context of the org, of each of which a version is rolled out to half of the
/// sessions. See [`rollouts`].
pub const ROLLED_OUT: &str = "rolled-out";
/// The model of the version of the conversation context that is rolled out.
pub const ROLLED_OUT_MODEL: &str = "model-3";

/// The provider of all test turns.
pub const PROVIDER: &str = "provider.example.com";

/// The default org of tests.
pub const ORG: &str = "org";

#[must_use]
pub fn org() -> OrgId {
    OrgId::new(ORG).unwrap()
}

/// Budgets that no simulated run uses up. Turns with many calls use more than they reserve.
#[must_use]
pub fn org_budgets() -> contracts::request::Budgets {
    let budgets = br#"{"Budgets": [
        {"Id": "month", "Scope": "org", "Window": "month", "Unit": "tokens", "Limit": 10000000},
        {"Id": "day", "Scope": "user", "Window": "day", "Unit": "turns", "Limit": 1000},
        {"Id": "now", "Scope": "org", "Window": "concurrent", "Unit": "turns", "Limit": 100}
    ]}"#;
    contracts::request::Budgets::parse(budgets).unwrap()
}

#[must_use]
pub fn session_key(session: &str) -> SessionKey {
    SessionKey { org: org(), session: SessionId::new(session).unwrap() }
}

#[must_use]
pub fn turn_key(session: &str, turn: &str) -> TurnKey {
    session_key(session).turn(TurnId::new(turn).unwrap())
}

#[must_use]
pub fn user(id: &str) -> User {
    User { id: UserId::new(id).unwrap(), name: id.to_owned() }
}

#[must_use]
pub fn caller(id: &str) -> Caller {
    Caller {
        org: OrgId::new(ORG).unwrap(),
        org_name: None,
        user: user(id),
        operator: false,
        agent_editor: false,
        token: None,
    }
}

#[must_use]
pub fn instant(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_767_225_600_000).after(Duration::from_secs(seconds))
}

#[must_use]
pub fn request(session: &str, turn: &str, instruction: &str) -> UserTurn {
    let body =
        serde_json::json!({ "SessionId": session, "TurnId": turn, "Instruction": instruction }).to_string();
    match AgentExecuteRequest::parse(body.as_bytes()).unwrap() {
        AgentExecuteRequest::UserTurn(turn) => turn,
        AgentExecuteRequest::ToolContinuation(_) => unreachable!("there are no tool results"),
    }
}

/// Adds a file to a request. Its path is always the same, and its content is the instruction.
#[must_use]
pub fn with_file(mut request: UserTurn) -> UserTurn {
    let contents = request.instruction.clone().unwrap_or_default();
    request.input_artifacts.push(Artifact {
        relative_path: RelativePath::new("src/a.rs").unwrap(),
        file_name: FileName::new("a.rs").unwrap(),
        contents: Contents::Text(contents),
        origin: Origin::Ide,
        mime_type: None,
        language: None,
    });
    request
}

/// The seed modes, the built-in tools and the default contexts. Built once, since validating them takes time.
#[must_use]
pub fn config() -> Arc<AgentConfig> {
    static SHARED: OnceLock<Arc<AgentConfig>> = OnceLock::new();
    Arc::clone(SHARED.get_or_init(|| Arc::new(build_config(None))))
}

/// The same configuration with retrieval.
#[must_use]
pub fn config_with_retrieval() -> Arc<AgentConfig> {
    let embedding = EmbeddingModel { name: "embedding-1".to_owned(), dimensions: None };
    Arc::new(build_config(Some(DefaultSources { collection: "sources".to_owned(), embedding })))
}

fn build_config(retrieval: Option<DefaultSources>) -> AgentConfig {
    let tools = Registry::new(tool::built_in()).unwrap();
    let names: Vec<&str> = tools.names().collect();
    let catalog = Catalog::seed(&names).unwrap().with_tools(tools.definitions());
    let mut defaults = context::defaults().unwrap();
    // Sessions that name no context have client tools here, so that every test can suspend a turn.
    defaults.conversation.client_tools =
        defaults.named_agents.iter().flat_map(|agent| agent.client_tools.clone()).collect();
    defaults.remote_tools = remote_tools();
    let mut always_on_tools = ["code_hash_normalized", "publish_file"].map(str::to_owned).to_vec();
    always_on_tools.extend(retrieval.iter().map(|_| tool::SEARCH_CONTEXT.to_owned()));
    AgentConfig {
        catalog,
        tools,
        defaults,
        model: MODEL.to_owned(),
        providers: Providers::single(PROVIDER),
        conversation_state: ConversationStatePolicy::default(),
        retrieval,
        visibility: SessionVisibility::default(),
        always_on_tools,
        store_raw_payloads: false,
    }
}

/// The remote tools of all test turns, one of each class. Their names are those of their classes.
#[must_use]
pub fn remote_tools() -> Vec<RemoteTool> {
    let classes = [
        ("remote_read", EffectClass::Read),
        ("remote_repeatable", EffectClass::Repeatable),
        ("remote_keyed", EffectClass::Keyed),
        ("remote_effect", EffectClass::Effect),
    ];
    let tool = |(name, class): (&str, EffectClass)| RemoteTool {
        definition: Definition {
            name: name.to_owned(),
            description: "Calls the target.".to_owned(),
            parameters: serde_json::json!({
                "type": "object", "properties": { "order": { "type": "string" } }, "required": ["order"],
            }),
            usage: None,
            executed_by: ExecutedBy::Server,
            strict: false,
        },
        connection: "shop".to_owned(),
        revision: 1,
        class,
        terms: CallTerms::default(),
        target: serde_json::Value::Null,
    };
    classes.map(tool).into()
}

/// The contexts that an operator has written for [`ORG`].
#[must_use]
pub fn contexts() -> Vec<Document> {
    let agent = AgentContext {
        id: AgentContextId::new(AGENT).unwrap(),
        default_conversation_context_id: Some(ConversationContextId::new(CUSTOM).unwrap()),
        ..config().defaults.agent.clone()
    };
    let custom = ConversationContext {
        model_name: Some(CUSTOM_MODEL.to_owned()),
        fallbacks: vec![Fallback { provider: None, model_name: Some(MODEL.to_owned()), prices: None }],
        ..conversation(CUSTOM)
    };
    let local = ConversationContext { chain: Some(ConversationStatePolicy::Local), ..conversation(LOCAL) };
    // Enough for a tool round and a little more.
    let compacted = ConversationContext {
        chain: Some(ConversationStatePolicy::Local),
        history_summary: true,
        prompt_limits: PromptLimits { history_tokens: 400, ..PromptLimits::default() },
        ..conversation(COMPACTED)
    };
    let rolled_out_agent = rolled_out_agent(ROLLED_OUT);
    let conversations =
        [custom, local, compacted, conversation(ROLLED_OUT)].map(Document::ConversationContext);
    [agent, rolled_out_agent].map(Document::AgentContext).into_iter().chain(conversations).collect()
}

/// The versions of contexts that an operator rolls out in [`ORG`]: an agent with another default conversation, and a
/// conversation with another model.
#[must_use]
pub fn rollouts() -> [(Document, Rollout); 2] {
    let rollout = Rollout { version: 2, percent: 50 };
    let other_model = Some(ROLLED_OUT_MODEL.to_owned());
    let conversation = ConversationContext { model_name: other_model, ..conversation(ROLLED_OUT) };
    [
        (Document::AgentContext(rolled_out_agent(LOCAL)), rollout),
        (Document::ConversationContext(conversation), rollout),
    ]
}

fn rolled_out_agent(default_conversation: &str) -> AgentContext {
    AgentContext {
        id: AgentContextId::new(ROLLED_OUT).unwrap(),
        default_conversation_context_id: Some(ConversationContextId::new(default_conversation).unwrap()),
        ..config().defaults.agent.clone()
    }
}

/// The default conversation context with another id.
#[must_use]
pub fn conversation(id: &str) -> ConversationContext {
    let id = ConversationContextId::new(id).unwrap();
    ConversationContext { id, ..config().defaults.conversation.clone() }
}

fn target() -> Target {
    Target { model: MODEL.to_owned(), provider: PROVIDER.to_owned(), ..Target::default() }
}

/// A request in the executor's form.
#[must_use]
pub fn submission(caller: &Caller, request: &UserTurn) -> Submission {
    let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
    Submission {
        key: session.turn(request.turn_id.clone()),
        id_origin: IdOrigin::Client,
        requested_by: caller.user.clone(),
        fingerprint: request.fingerprint(),
        id: None,
        contexts: Contexts::default(),
        hints: Hints::default(),
        session_name: "A session".to_owned(),
        instruction_summary: Excerpt {
            text: request.instruction.clone().unwrap_or_default(),
            is_truncated: false,
        },
        streamed: request.streaming,
        unstored: false,
        solution: SolutionChange::default(),
    }
}

/// The setup of new turns.
#[must_use]
pub fn setup() -> Setup {
    Setup {
        contexts: Contexts::default(),
        visibility: Visibility::Org,
        initial_mode: "general".to_owned(),
        target: target(),
        files: Vec::new(),
        basis: None,
        lost_ancestor: None,
    }
}
