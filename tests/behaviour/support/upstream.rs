//! Requests that the model received, and contexts that shape them.

use std::time::{Duration, Instant};

use local::{Function, Options, Stores};
use mock_model::{Provider, Recorder};
use mock_wires::SignatureCheck;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use super::{PATIENCE, System};

impl System {
    /// Puts a conversation context of the org `acme` with the id `c`. Functions cache contexts for a minute,
    /// so running ones are killed.
    pub async fn put_context(&self, members: Value) {
        let mut context = json!({"Kind": "conversation", "Id": "c", "Name": "C", "System": "Be brief."});
        context.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let file = self.cloud.data_folder().join("context.json");
        std::fs::write(&file, context.to_string()).unwrap();
        let stores = Stores::of_local_cloud(self.cloud.data_folder()).unwrap();
        local::contexts::put(&stores, "acme", &file).await.unwrap();
        self.crash_execute().await;
    }

    /// Kills the processes of `execute`, and waits until none can receive a request.
    pub async fn crash_execute(&self) {
        self.cloud.crash(Function::Execute);
        let give_up = Instant::now() + PATIENCE;
        while self.cloud.processes(Function::Execute) > 0 {
            assert!(Instant::now() < give_up, "a function does not end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the model has received this many requests.
    pub async fn model_called(&self, times: usize) {
        let give_up = Instant::now() + PATIENCE;
        while self.model_calls().len() < times {
            assert!(Instant::now() < give_up, "the model was not called {times} times");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Returns the newest request body to the model.
    pub fn last_call(&self) -> Value {
        self.model_calls().pop().expect("the model was called")
    }
}

/// Returns the messages of a model call: role and text.
pub fn messages(call: &Value) -> Vec<(String, String)> {
    let items = call["input"].as_array().unwrap().iter();
    items.filter_map(|item| Some((item["role"].as_str()?.to_owned(), text_of(&item["content"])))).collect()
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        parts => {
            let parts = parts.as_array().unwrap().iter();
            parts.map(|part| part["text"].as_str().unwrap_or_default()).collect::<Vec<_>>().join("\n")
        }
    }
}

/// Returns the system message of a model call that starts a chain.
pub fn system_message(call: &Value) -> String {
    let (role, text) = messages(call).remove(0);
    assert_eq!(role, "system");
    text
}

/// Returns the user message of a model call.
pub fn user_message(call: &Value) -> String {
    let (role, text) = messages(call).pop().unwrap();
    assert_eq!(role, "user");
    text
}

/// Returns the history of a model call: roles, and the texts under `[INSTRUCTION]`.
pub fn history(call: &Value) -> Vec<String> {
    let messages = messages(call);
    let earlier = messages.iter().take(messages.len() - 1).filter(|(role, _)| role != "system");
    let said = |text: &str| text.split_once("[INSTRUCTION]\n").map_or(text, |(_, said)| said).to_owned();
    earlier.map(|(role, text)| format!("{role}: {}", said(text))).collect()
}

/// Returns the input items of a model call: a message as its role, a call as its tool, the rest as their type.
pub fn items(call: &Value) -> Vec<String> {
    let name = |item: &Value, member: &str| item[member].as_str().map(str::to_owned);
    let items = call["input"].as_array().unwrap().iter();
    items.map(|item| name(item, "role").or(name(item, "name")).or(name(item, "type")).unwrap()).collect()
}

/// True if a model call continues from a response.
pub fn is_chained(call: &Value) -> bool {
    call.get("previous_response_id").is_some()
}

/// An additional provider: a mock model that a test declares by name.
pub struct NamedProvider {
    /// Its base URL, without a trailing slash.
    pub base: String,
    recorder: Recorder,
    server: JoinHandle<std::io::Result<()>>,
}

impl NamedProvider {
    /// Starts one that imitates this provider.
    pub async fn with_profile(provider: &str) -> Self {
        let recorder = Recorder::default();
        let provider = provider.parse().expect("a known provider");
        Self::serve(mock_wires::router(provider, recorder.clone()), recorder).await
    }

    /// Starts one that accepts these signatures alone.
    pub async fn signed(check: SignatureCheck) -> Self {
        let recorder = Recorder::default();
        let router = mock_wires::signed_router(Provider::default(), recorder.clone(), check);
        Self::serve(router, recorder).await
    }

    async fn serve(router: axum::Router, recorder: Recorder) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base, recorder, server }
    }

    /// Returns the bodies of its requests.
    pub fn calls(&self) -> Vec<Value> {
        self.recorder.bodies()
    }

    /// Returns the ids of the responses that it was asked to delete.
    pub fn removals(&self) -> Vec<String> {
        self.recorder.removals()
    }

    /// Returns the reasons of requests that violate the published schema or a rule of the API.
    pub fn invalid_requests(&self) -> Vec<String> {
        self.recorder.invalid_requests()
    }

    /// Returns the number of replies that were not read to the end.
    pub fn abandoned(&self) -> usize {
        self.recorder.abandoned()
    }

    /// Returns its requests: query, headers and bodies.
    pub fn requests(&self) -> Vec<Value> {
        self.recorder.requests()
    }
}

impl Drop for NamedProvider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Returns the options of a system with these providers and no retries.
pub fn declaring(providers: &Value) -> Options {
    let mut options = super::options();
    options.environment.insert("MODEL_PROVIDERS".to_owned(), providers.to_string());
    options.environment.insert("OPENAI_RETRIES".to_owned(), "0".to_owned());
    options
}

/// Returns a client tool, as declared in a context.
pub fn reading_tool() -> Value {
    json!({
        "Name": "workspace_read_file", "Description": "Reads a file.", "ExecutedBy": "client",
        "Parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    })
}
