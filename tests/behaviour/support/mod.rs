//! A running system and clients of it.

mod account;
mod client;
mod cognito;
mod contexts;
mod events;
mod logs;
mod roles;
mod sources;
mod stored;
mod upstream;

use std::{
    path::PathBuf,
    str::FromStr,
    sync::{Arc, LazyLock},
    time::Duration,
};

use aws_sdk_sqs::types::QueueAttributeName;
use contracts::{id::InvalidId, paths};
use local::call_proxy::{Call, CallProxy, Policy, ProxyOptions};
use local::{Cloud, Model, Options, token::Identity};
use mock_model::{Provider, Recorder};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

pub use account::{ACCOUNT_STACK, Account, Facts};
pub use client::{Answer, Client};
pub use cognito::{APP_CODE, APP_KEY, CLIENT, POOL, STACK, USER, UserPool};
pub use events::{Event, Events, answer_text, final_text_and_result};
pub use logs::line;
pub use roles::Roles;
pub use sources::{Indexed, embedding, embeddings, serve, set};
pub use upstream::{
    NamedProvider, declaring, history, is_chained, items, reading_tool, system_message, user_message,
};

/// The runtime of the proxies, separate from the tests' single-threaded runtimes.
static PROXY_RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap());

/// A running system.
pub struct System {
    pub cloud: Cloud,
    /// The permissions of its functions, and their use.
    pub roles: Arc<Roles>,
    /// The proxy between its functions and the services.
    proxy: Option<CallProxy>,
    _taken: RequestValidityCheck,
}

/// Fails the test on drop if the model received an invalid request: one that violates the published schema or a rule
/// of the API.
struct RequestValidityCheck(Option<Recorder>);

impl Drop for RequestValidityCheck {
    fn drop(&mut self) {
        let refused = self.0.as_ref().map(Recorder::invalid_requests).unwrap_or_default();
        if !std::thread::panicking() {
            assert_eq!(refused, Vec::<String>::new(), "the model was sent requests that no provider takes");
        }
    }
}

/// A lease that tests can wait for.
pub const LEASE: Duration = Duration::from_secs(5);

/// The longest wait of a test. It only ends tests that hang.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the options of a test's system: it sweeps only on request.
pub fn options() -> Options {
    Options {
        executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_aptix"))),
        sweep: None,
        mock_wires: mock_wires::WIRES,
        ..Options::default()
    }
}

/// Returns the options with a mock model that imitates this provider.
pub fn mock_profile(provider: &str) -> Options {
    let provider: Provider = provider.parse().expect("a known provider");
    Options { model: Model::Mock(provider), ..options() }
}

impl System {
    pub async fn start() -> Self {
        Self::with(options()).await
    }

    pub async fn with(options: Options) -> Self {
        Self::behind_proxy(options, false).await
    }

    /// Starts a system whose calls of the table are recorded with their capacity units.
    pub async fn metered() -> Self {
        Self::behind_proxy(options(), true).await
    }

    /// Starts a system for measurements, without a proxy between its functions and the services.
    pub async fn measured(options: Options) -> Self {
        Self::under(Arc::default(), None, options).await
    }

    async fn behind_proxy(mut options: Options, is_metered: bool) -> Self {
        let roles = Arc::new(Roles::of_template());
        let policy = Some(Arc::clone(&roles) as Arc<dyn Policy>);
        let started = PROXY_RUNTIME.spawn(CallProxy::start(ProxyOptions { is_metered, policy }));
        let proxy = started.await.unwrap().expect("the proxy starts");
        for (variable, url) in proxy.environment() {
            options.environment.entry(variable.clone()).or_insert_with(|| url.clone());
        }
        Self::under(roles, Some(proxy), options).await
    }

    async fn under(roles: Arc<Roles>, proxy: Option<CallProxy>, options: Options) -> Self {
        let cloud = Cloud::start(options).await.expect("the local cloud starts");
        if let Some(proxy) = &proxy {
            proxy.set_target(&cloud);
        }
        let taken = RequestValidityCheck(cloud.model().cloned());
        Self { cloud, roles, proxy, _taken: taken }
    }

    /// Takes the calls of the functions since the last time.
    pub fn take_calls(&self) -> Vec<Call> {
        self.proxy.as_ref().expect("a proxy").take()
    }

    /// Delays each call of the functions from now on, so that concurrent calls overlap however busy the machine is.
    pub fn delay_calls(&self, delay: Duration) {
        self.proxy.as_ref().expect("a proxy").delay_calls(delay);
    }

    /// Waits until so many messages of a queue can be received.
    pub async fn until_visible(&self, queue: &str, count: usize) {
        let reached = async {
            let (sqs, visible) = (self.cloud.sqs(), QueueAttributeName::ApproximateNumberOfMessages);
            loop {
                let depth =
                    sqs.get_queue_attributes().queue_url(queue).attribute_names(visible.clone()).send();
                let depth = depth.await.unwrap().attributes.unwrap()[&visible].parse::<usize>().unwrap();
                if depth == count {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, reached).await.expect("all messages");
    }

    /// Returns a client of this user.
    pub fn client(&self, org: &str, user: &str) -> Client {
        self.identified(&Identity::user(org, user))
    }

    pub fn identified(&self, identity: &Identity) -> Client {
        Client::new(self.cloud.url(), Some(self.cloud.token(identity).expect("a token")))
    }

    pub fn anonymous(&self) -> Client {
        Client::new(self.cloud.url(), None)
    }

    /// Returns the bodies of all requests to the model.
    pub fn model_calls(&self) -> Vec<Value> {
        self.cloud.model().expect("the mock model").bodies()
    }
}

/// Creates a user turn with fresh ids.
pub fn turn(instruction: &str) -> Value {
    turn_in(&id(), instruction)
}

/// Creates a user turn of a session.
pub fn turn_in(session: &str, instruction: &str) -> Value {
    json!({"SessionId": session, "TurnId": id(), "Instruction": instruction})
}

/// Creates a user turn of a new session with the agent that has the workspace's client tools.
pub fn workspace_turn(instruction: &str) -> Value {
    with_workspace(turn(instruction))
}

/// Names the agent that has the workspace's client tools.
pub fn with_workspace(mut turn: Value) -> Value {
    turn["AgentContextId"] = json!("workspace");
    turn
}

/// Creates a user turn of the session `s` in the conversation context `c`; see [`System::put_context`].
pub fn in_context(instruction: &str) -> Value {
    let mut turn = turn_in("s", instruction);
    turn["ConversationContextId"] = json!("c");
    turn
}

/// Returns a fresh id, as clients create them.
pub fn id() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// Returns the path of a turn.
pub fn turn_path(turn: &Value) -> String {
    paths::TURN.fill(&id_of(turn, "SessionId"), &id_of(turn, "TurnId"))
}

/// Returns the path of a turn's session.
pub fn session_path(turn: &Value) -> String {
    paths::SESSION.fill(&id_of(turn, "SessionId"))
}

fn id_of<T: FromStr<Err = InvalidId>>(turn: &Value, name: &str) -> T {
    turn[name].as_str().unwrap().parse().unwrap()
}

/// Returns the text of the newest user message of a model call.
pub fn said(call: &Value) -> String {
    let input = call["input"].as_array().unwrap();
    let message = input.iter().rev().find(|item| item["role"] == "user").unwrap();
    message["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["text"].as_str().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the names of the tools of a model call.
pub fn tools(call: &Value) -> Vec<&str> {
    call["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}
