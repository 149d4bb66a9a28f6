//! Builders of what tests need again and again.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use agent::{
    config::{AgentConfig, Visibilities},
    context::{self, AgentContext, Budgets, ConversationContext, Document, Fallback},
    mode::Catalog,
    providers::Providers,
    retrieval::{Configured, EmbeddingModel},
    tool::{self, Registry},
};
use contracts::{
    AgentExecuteRequest, Timestamp, UserTurn,
    id::{AgentContextId, ConversationContextId, OrgId, SessionId, TurnId, UserId},
    read::Visibility,
    request::{Artifact, Contents, FileName, Origin, RelativePath},
};
use protocol::{Caller, caller::User};
use protocol::{
    chain::{ChainPolicy, Target},
    detail::Summary,
    id::{SessionKey, TurnKey},
    session::{Contexts, Hints, SolutionChange},
    transition::begin::{Setup, Submission},
};

/// The model of every test turn whose session has no contexts.
pub const MODEL: &str = "model-1";

/// An agent context of the org: its sessions have the conversation context [`HOUSE`] unless they name one.
pub const AGENT: &str = "agent";

/// A conversation context of the org, with a model of its own.
pub const HOUSE: &str = "house";

/// The model of [`HOUSE`]; in its place [`MODEL`] is asked.
pub const HOUSE_MODEL: &str = "model-2";

/// A conversation context of the org that leaves nothing with the provider.
pub const LOCAL: &str = "local";
/// A conversation context that leaves nothing either, and whose earlier turns are summed up.
pub const SUMMED_UP: &str = "summed-up";

/// Who answers every test turn.
pub const PROVIDER: &str = "provider.example.com";

/// The org every test belongs to unless it says otherwise.
pub const ORG: &str = "org";

#[must_use]
pub fn session_key(session: &str) -> SessionKey {
    SessionKey { org: OrgId::new(ORG).unwrap(), session: SessionId::new(session).unwrap() }
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
    Caller { org: OrgId::new(ORG).unwrap(), org_name: None, user: user(id), operator: false }
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

/// The same request with a file: its path is the same each time, its contents are the instruction.
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

/// The seed modes, the built-in tools and the default contexts; made once, since checking them takes time.
#[must_use]
pub fn config() -> Arc<AgentConfig> {
    static SHARED: OnceLock<Arc<AgentConfig>> = OnceLock::new();
    Arc::clone(SHARED.get_or_init(|| Arc::new(configured(None))))
}

/// The same where sources are indexed.
#[must_use]
pub fn searching() -> Arc<AgentConfig> {
    let embedding = EmbeddingModel { name: "embedding-1".to_owned(), dimensions: None };
    Arc::new(configured(Some(Configured { collection: "sources".to_owned(), embedding })))
}

fn configured(retrieval: Option<Configured>) -> AgentConfig {
    let tools = Registry::new(tool::built_in()).unwrap();
    let names: Vec<&str> = tools.names().collect();
    let catalog = Catalog::seed(&names).unwrap();
    let defaults = context::defaults().unwrap();
    let mut always = ["code_hash_normalized", "publish_file"].map(str::to_owned).to_vec();
    always.extend(retrieval.iter().map(|_| tool::SEARCH_CONTEXT.to_owned()));
    AgentConfig {
        catalog,
        tools,
        defaults,
        model: MODEL.to_owned(),
        providers: Providers::one(PROVIDER),
        chain: ChainPolicy::default(),
        retrieval,
        visibility: Visibilities::default(),
        retention_of_orgs: std::collections::BTreeMap::new(),
        sessions_are_indexed: false,
        always,
    }
}

/// The contexts that a deployment's operator has written for [`ORG`].
#[must_use]
pub fn contexts() -> Vec<Document> {
    let agent = AgentContext {
        id: AgentContextId::new(AGENT).unwrap(),
        default_conversation_context_id: Some(ConversationContextId::new(HOUSE).unwrap()),
        ..config().defaults.agent.clone()
    };
    let house = ConversationContext {
        model_name: Some(HOUSE_MODEL.to_owned()),
        fallbacks: vec![Fallback { provider: None, model_name: Some(MODEL.to_owned()), prices: None }],
        ..conversation(HOUSE)
    };
    let local = ConversationContext { chain: Some(ChainPolicy::Local), ..conversation(LOCAL) };
    // Room for a tool round and a little more.
    let summed_up = ConversationContext {
        chain: Some(ChainPolicy::Local),
        history_summary: true,
        budgets: Budgets { history_tokens: 400, ..Budgets::default() },
        ..conversation(SUMMED_UP)
    };
    let conversations = [house, local, summed_up].map(Document::ConversationContext);
    [Document::AgentContext(agent)].into_iter().chain(conversations).collect()
}

/// The default conversation context under another id.
#[must_use]
pub fn conversation(id: &str) -> ConversationContext {
    let id = ConversationContextId::new(id).unwrap();
    ConversationContext { id, ..config().defaults.conversation.clone() }
}

fn target() -> Target {
    Target { model: MODEL.to_owned(), provider: PROVIDER.to_owned(), ..Target::default() }
}

/// A request as the executor sees it.
#[must_use]
pub fn submission(caller: &Caller, request: &UserTurn) -> Submission {
    let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
    Submission {
        key: session.turn(request.turn_id.clone()),
        by: caller.user.clone(),
        fingerprint: request.fingerprint(),
        id: None,
        contexts: Contexts::default(),
        hints: Hints::default(),
        session_name: "A session".to_owned(),
        instruction_summary: Summary { text: request.instruction.clone().unwrap_or_default(), is_cut: false },
        streamed: request.streaming,
        solution: SolutionChange::default(),
    }
}

/// What turns are begun with.
#[must_use]
pub fn setup() -> Setup {
    Setup {
        contexts: Contexts::default(),
        visibility: Visibility::Org,
        first_mode: "general".to_owned(),
        target: target(),
        files: Vec::new(),
        rerun: None,
        cut: None,
    }
}
