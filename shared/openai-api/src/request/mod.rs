//! Requests for responses: every member is read, ignored and named, or refused by name.

pub mod compaction;
mod contents;
mod conversation;
mod file_search;
mod ignored;
mod input;
mod members;
mod settings;
pub mod standing;
#[cfg(test)]
mod tests;
mod tools;
mod turn;
mod vector_stores;

use agent::context::check_options;
use contracts::{
    id::SessionId,
    request::{ChatMessage, TurnOptions},
};
use histories::{Chat, Hint};
use serde_json::{Map, Value, json};

use crate::{
    error::ApiError,
    id::{self, ResponseId},
};

pub use compaction::input_tokens;
pub use contents::{uploads, with_contents};
pub use conversation::{
    ConversationBody, MAX_ITEMS as MAX_CONVERSATION_ITEMS, StoredConversation, StoredItem, as_input,
    conversation_object, with_id,
};
pub(crate) use file_search::FILE_SEARCH;
pub use file_search::FileSearch;
pub use ignored::Ignored;
pub(crate) use ignored::collect;
pub use input::Input;
pub(crate) use input::{check_detail, data_url, input_file};
pub(crate) use members::Members;
use settings::Settings;
pub(crate) use settings::{AnswerFormat, Choice, json_format, tool_choice};
pub(crate) use tools::{CalledTool, custom, each as each_tool, freeform_names, function};
pub use turn::tool_continuation;
pub use vector_stores::{AddFile, CreateStore, MAX_RESULTS, SearchStore, UpdateStore};

/// The prefix of a `model` that names an agent.
pub const AGENT: &str = "agent/";

/// Members that are repeated in the response. The first ones are hints without an effect.
const REPEATED: &[&str] = &[
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "user",
    "background",
    "instructions",
    "max_output_tokens",
    "metadata",
    "model",
    "parallel_tool_calls",
    "service_tier",
    "store",
    "temperature",
    "top_p",
];

/// The value of `include` for the results of a search in vector stores.
pub const SEARCH_RESULTS: &str = "file_search_call.results";

const MAX_METADATA: usize = 16;
const MAX_METADATA_KEY_CHARS: usize = 64;
const MAX_METADATA_VALUE_CHARS: usize = 512;

/// The parent of a new turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parent {
    /// None: the turn begins a session.
    None,
    /// A response.
    Response(ResponseId),
    /// The last turn of a session, which may be new.
    Conversation(SessionId),
}

/// A request for a response.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateResponse {
    /// The agent, if `model` names one.
    pub agent: Option<String>,
    /// The parent of the turn.
    pub parent: Parent,
    /// The messages before the input that no stored turn has.
    pub ancestry: Vec<ChatMessage>,
    /// The new input.
    pub input: Input,
    /// The standing instructions, with the system messages' instructions.
    pub instructions: String,
    /// The search in vector stores.
    pub file_search: Option<FileSearch>,
    /// True if the response shows the results of that search.
    pub includes_results: bool,
    /// The settings of the turn.
    pub options: TurnOptions,
    /// True if the response is streamed.
    pub stream: bool,
    /// True if the client doesn't wait for the response.
    pub background: bool,
    /// What the request asks for without an effect.
    pub ignored: Ignored,
}

impl CreateResponse {
    /// Parses a body.
    ///
    /// # Errors
    /// Returns the first member that is invalid or not supported.
    pub fn parse(body: &Body) -> Result<Self, ApiError> {
        let (parsed, ignored) = collect(|| Self::read(body))?;
        Ok(Self { ignored, ..parsed })
    }

    fn read(body: &Body) -> Result<Self, ApiError> {
        let members = standing::read(&body.value, "", standing::RESPONSES)?;
        check_delivery(&members)?;
        let model = members.required_text("model")?;
        let Settings { options: settings, file_search, repeated: choice } =
            settings::read(&members, body.searches_web)?;
        let items = input::read(&members)?;
        let parent = parent(&members, items.anchor(), items.has_references)?;
        let own = members.text("instructions")?;
        let instructions: Vec<&str> =
            own.into_iter().chain(items.system.iter().map(String::as_str)).collect();
        let instructions = instructions.join("\n\n");
        let background = members.flag("background")?.unwrap_or_default();
        let mut repeated: Map<String, Value> = REPEATED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), members.get(name)?.clone())))
            .collect();
        repeated.extend(choice);
        if let Parent::Conversation(session) = &parent {
            repeated.insert("conversation".to_owned(), json!({"id": id::conversation(session)}));
        }
        let agent = body.agent(model).map(str::to_owned);
        let model = agent.is_none().then(|| model.to_owned());
        let unstored = members.flag("store")? == Some(false);
        if unstored && matches!(parent, Parent::Conversation(_)) {
            return Err(members.rule("store", "must be true with 'conversation', which stores its items"));
        }
        if unstored && background {
            return Err(members.rule("background", "needs 'store' to be true"));
        }
        let options =
            checked(TurnOptions { model, unstored, repeated: Value::Object(repeated), ..settings })?;
        let (ancestry, input) = match parent {
            Parent::None => (Vec::new(), items.into_chat()),
            Parent::Response(_) | Parent::Conversation(_) => {
                let new = items.into_new();
                (new.ancestry, new.input)
            }
        };
        let request = Self {
            agent,
            parent: Parent::None,
            ancestry,
            input,
            instructions,
            file_search,
            includes_results: members.list("include")?.iter().any(|included| included == SEARCH_RESULTS),
            options,
            stream: members.flag("stream")?.unwrap_or_default(),
            background,
            ignored: Ignored::default(),
        };
        Ok(request.after(parent))
    }

    /// Returns the request with another parent.
    #[must_use]
    pub fn after(mut self, parent: Parent) -> Self {
        if let (Parent::Response(response), Value::Object(repeated)) = (&parent, &mut self.options.repeated) {
            repeated.insert("previous_response_id".to_owned(), json!(response.to_string()));
        }
        Self { parent, ..self }
    }

    /// Returns the chat of a request with these messages.
    #[must_use]
    pub fn chat(&self, messages: &[ChatMessage], hints: &[Hint], is_retry: bool) -> Chat {
        Chat {
            agent: self.agent.clone(),
            instructions: self.instructions.clone(),
            options: self.options.clone(),
            is_streamed: self.stream || self.background,
            is_retry,
            messages: messages.to_vec(),
            hints: hints.to_vec(),
            name: None,
        }
    }
}

/// The body of a request, whose model may be an agent.
#[derive(Debug, Clone)]
pub struct Body {
    value: Value,
    names_agent: bool,
    searches_web: bool,
}

impl Body {
    /// Parses a body.
    ///
    /// # Errors
    /// If it isn't JSON.
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        Ok(Self { value: json_body(body)?, names_agent: false, searches_web: false })
    }

    /// Returns the `model` that is a model's name or an agent's. `None` if its prefix or the lack of it leaves no choice.
    #[must_use]
    pub fn ambiguous_model(&self) -> Option<&str> {
        self.value.get("model")?.as_str().filter(|model| !model.contains('/'))
    }

    /// Takes the name of the model for an agent's.
    #[must_use]
    pub fn with_agent(self) -> Self {
        Self { names_agent: true, ..self }
    }

    /// Accepts a web search, which a provider of the deployment runs for clients.
    #[must_use]
    pub fn with_web_search(self, searches_web: bool) -> Self {
        Self { searches_web, ..self }
    }

    /// Returns the conversation that the request names, unless its input is outputs of functions alone, which resume a turn.
    #[must_use]
    pub fn conversation(&self) -> Option<SessionId> {
        let named = self.value.get("conversation")?;
        let id = named.as_str().or_else(|| named.get("id")?.as_str())?;
        let is_output = |item: &Value| item.get("type").and_then(Value::as_str).is_some_and(input::is_output);
        let items = self.value.get("input").and_then(Value::as_array);
        let resumes = items.is_some_and(|items| !items.is_empty() && items.iter().all(is_output));
        id::parse_conversation(id).filter(|_| !resumes)
    }

    /// Puts items before the input.
    #[must_use]
    pub fn with_earlier_items(mut self, mut items: Vec<Value>) -> Self {
        if let Value::Object(members) = &mut self.value
            && !items.is_empty()
        {
            match members.remove("input") {
                Some(Value::Array(input)) => items.extend(input),
                Some(Value::String(text)) => items.push(json!({"role": "user", "content": text})),
                Some(other) => items.push(other),
                None => {}
            }
            members.insert("input".to_owned(), Value::Array(items));
        }
        self
    }

    /// Returns the request as JSON.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the agent that the name of a model names.
    pub(crate) fn agent<'a>(&self, model: &'a str) -> Option<&'a str> {
        model.strip_prefix(AGENT).or(self.names_agent.then_some(model))
    }
}

/// Parses a body.
pub(crate) fn json_body(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let message = format!("The body is not valid JSON (line {line}, column {column}).");
        ApiError::invalid("", "invalid_json", message)
    })
}

/// Returns options that break no rule of the service.
pub(crate) fn checked(options: TurnOptions) -> Result<TurnOptions, ApiError> {
    check_options(&options).map_err(|faults| {
        let fault = faults.as_slice().first();
        fault.map_or_else(
            || ApiError::value("", "is invalid"),
            |fault| ApiError::value(&fault.path, &fault.message),
        )
    })?;
    Ok(options)
}

/// Checks the members that say how a response is stored and delivered.
fn check_delivery(members: &Members<'_>) -> Result<(), ApiError> {
    if members.text("truncation")?.is_some_and(|word| !matches!(word, "auto" | "disabled")) {
        return Err(members.rule("truncation", "must be 'auto' or 'disabled'"));
    }
    if let Some(options) = members.get("stream_options") {
        standing::read(options, "stream_options", standing::RESPONSES)?;
    }
    for include in members.list("include")? {
        // The others are about items that a response of this service doesn't have.
        if include == "message.output_text.logprobs" {
            return Err(members.unsupported("include", "Log probabilities aren't available."));
        }
    }
    check_metadata(members)
}

fn check_metadata(members: &Members<'_>) -> Result<(), ApiError> {
    let Some(metadata) = members.get("metadata") else { return Ok(()) };
    let Value::Object(pairs) = metadata else { return Err(members.rule("metadata", "must be an object")) };
    let is_valid = |(key, value): (&String, &Value)| {
        let value = value.as_str().map(|value| value.chars().count());
        key.chars().count() <= MAX_METADATA_KEY_CHARS
            && value.is_some_and(|chars| chars <= MAX_METADATA_VALUE_CHARS)
    };
    if pairs.len() > MAX_METADATA || !pairs.iter().all(is_valid) {
        let rule = "must hold at most 16 strings of 512 characters, with keys of 64";
        return Err(members.rule("metadata", rule));
    }
    Ok(())
}

/// Reads the parent of the turn. Items of earlier responses in the input must be of the response that it names.
fn parent(
    members: &Members<'_>,
    anchor: Option<ResponseId>,
    has_references: bool,
) -> Result<Parent, ApiError> {
    let previous = members.text("previous_response_id")?;
    let conversation = match members.get("conversation") {
        None => None,
        Some(Value::String(id)) => Some(id.as_str()),
        Some(object) => Some(Members::read(object, "conversation", &["id"])?.required_text("id")?),
    };
    match (previous, conversation) {
        (Some(_), Some(_)) => {
            let rule = "can't be used together with 'conversation'";
            Err(members.rule("previous_response_id", rule))
        }
        (Some(previous), None) => {
            let response =
                ResponseId::parse(previous).ok_or_else(|| ApiError::previous_not_found(previous))?;
            match anchor {
                Some(anchor) if anchor != response => {
                    Err(members.rule("input", "holds items of another response than 'previous_response_id'"))
                }
                _ => Ok(Parent::Response(response)),
            }
        }
        (None, Some(conversation)) => {
            let unknown = || ApiError::conversation_not_found("conversation", conversation);
            let session = id::parse_conversation(conversation).ok_or_else(unknown)?;
            if anchor.is_some() {
                return Err(members.rule("input", "may hold new items alone with 'conversation'"));
            }
            Ok(Parent::Conversation(session))
        }
        // Nothing can be compared with a reference.
        (None, None) => Ok(anchor.filter(|_| has_references).map_or(Parent::None, Parent::Response)),
    }
}
