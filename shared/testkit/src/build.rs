//! Builders of what tests need again and again.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use contracts::{
    AgentExecuteRequest, AgentExecuteResponse, Caller, NonEmpty, Timestamp, Usage, UserTurn,
    caller::User,
    id::{OrgId, SessionId, TurnId, UserId},
    request::{Artifact, Contents, FileName, Origin, RelativePath},
    response::{ClientToolContinuation, Metadata, ToolCall},
};
use turns::{
    chain::Upstream,
    context::{self, ChainPolicy, Effective},
    flow::Design,
    id::{SessionKey, TurnKey},
    mode::Catalog,
    outcome::Outcome,
    progress::{Called, Progress, Step},
    session::{Contexts, Hints, SolutionChange},
    tool::{self, Registry},
    transition::begin::Ask,
};

/// The model every test turn is sent to.
pub const MODEL: &str = "model-1";

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
    Caller { org: OrgId::new(ORG).unwrap(), user: user(id), operator: false }
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
pub fn design() -> Arc<Design> {
    static DESIGN: OnceLock<Arc<Design>> = OnceLock::new();
    let made = DESIGN.get_or_init(|| {
        let tools = Registry::new(tool::built_in()).unwrap();
        let names: Vec<&str> = tools.names().collect();
        let catalog = Catalog::seed(&names).unwrap();
        let defaults = context::defaults(&catalog, &names).unwrap();
        Arc::new(Design {
            catalog,
            tools,
            defaults,
            model: MODEL.to_owned(),
            provider: PROVIDER.to_owned(),
            always: Vec::new(),
        })
    });
    Arc::clone(made)
}

fn upstream() -> Upstream {
    Upstream { model: MODEL.to_owned(), provider: PROVIDER.to_owned(), policy: ChainPolicy::Provider }
}

/// What a request asks, as the executor sees it.
#[must_use]
pub fn ask(caller: &Caller, request: &UserTurn) -> Ask {
    let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
    Ask {
        key: session.turn(request.turn_id.clone()),
        by: caller.user.clone(),
        fingerprint: request.fingerprint(),
        contexts: Contexts::default(),
        hints: Hints::default(),
        session_name: "A session".to_owned(),
        instruction_summary: request.instruction.clone().unwrap_or_default(),
        active_file_refs: Vec::new(),
        first_mode: "general".to_owned(),
        streamed: request.streaming,
        upstream: upstream(),
        solution: SolutionChange::default(),
    }
}

/// The outcome object of an attempt whose model called a client tool.
#[must_use]
pub fn suspended(turn: &TurnKey, call: &str) -> Outcome {
    let response = AgentExecuteResponse::ClientToolContinuation(ClientToolContinuation {
        metadata: Metadata {
            session_id: turn.session.session.clone(),
            turn_id: turn.turn.clone(),
            mode_display_name: "General".to_owned(),
        },
        tool_calls: NonEmpty::one(ToolCall {
            tool_call_id: call.to_owned(),
            name: "open_file".to_owned(),
            arguments_json: "{}".to_owned(),
        }),
        tool_continuation_message: None,
    });
    let open = Called {
        call_id: call.to_owned(),
        name: "open_file".to_owned(),
        arguments: "{}".to_owned(),
        outcome: None,
    };
    let usage = Usage { prompt_tokens: 7, total_tokens: 7, ..Usage::default() };
    let progress = Progress { rounds: 1, calls: vec![open], usage: Some(usage), ..Progress::default() };
    let effective = Effective::resolve(None, None, &design().defaults, MODEL);
    Outcome::suspended(response, instant(0), Step { plan: design().plan(&effective, "general"), progress })
}
