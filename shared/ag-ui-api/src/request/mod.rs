//! Requests for runs: the input of both versions of the protocol.
//!
//! Members that the protocol doesn't know are ignored, as it demands. `forwardedProps` is for agents with a program of their
//! own, and has no effect.

mod content;
mod messages;

use agent::context::check_options;
use contracts::{
    ErrorCode,
    request::{FunctionTool, TurnOptions},
};
use fronts::MemberError;
use serde_json::{Value, json};

use crate::error::ApiError;
pub use messages::InputMessage;

type Members<'a> = fronts::Members<'a, ApiError>;

/// The longest id, in characters.
const MAX_ID_CHARS: usize = 256;
/// The largest `state`, in bytes of its JSON text.
const MAX_STATE_BYTES: usize = 32 * 1024;
/// The most items of `context`.
const MAX_CONTEXT_ITEMS: usize = 100;
/// The member of a turn's options that holds its run.
const STORED: &str = "ag_ui";

/// The version of the protocol that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Before 1.0: clients of 0.0.59 refuse members that they don't know.
    V0,
    /// 1.0 and later: the client named its version.
    V1,
}

/// A run as its client sends it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunInput {
    /// The thread.
    pub thread: String,
    /// The run.
    pub run: String,
    /// The run that started this one.
    pub parent_run: Option<String>,
    /// The version of the protocol.
    pub version: Version,
    /// The agent that the path names.
    pub agent: Option<String>,
    /// The system texts before the first other message, the context and the state.
    pub instructions: String,
    /// The settings of the turn.
    pub options: TurnOptions,
    /// The messages after the instructions, oldest first.
    pub messages: Vec<InputMessage>,
}

/// The members of a run that its turn stores.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredRun {
    /// The thread. Absent if the turn was started over another API.
    pub thread: Option<String>,
    /// The ids of the user's messages that are the turn's input.
    pub messages: Vec<String>,
    /// The state of the application.
    pub state: Option<Value>,
}

impl StoredRun {
    /// Reads what a turn stores of its run.
    #[must_use]
    pub fn of(options: Option<&TurnOptions>) -> Self {
        let Some(stored) = options.and_then(|options| options.repeated.get(STORED)) else {
            return Self::default();
        };
        let ids = stored.get("messageIds").and_then(Value::as_array).into_iter().flatten();
        Self {
            thread: stored.get("threadId").and_then(Value::as_str).map(str::to_owned),
            messages: ids.filter_map(Value::as_str).map(str::to_owned).collect(),
            state: stored.get("state").cloned(),
        }
    }
}

impl RunInput {
    /// Reads the body of a run. `agent` is the one that the path names.
    ///
    /// # Errors
    /// If a member breaks its rule.
    pub fn parse(body: &[u8], agent: Option<&str>) -> Result<Self, ApiError> {
        let value: Value = serde_json::from_slice(body)
            .map_err(|_| ApiError::new(ErrorCode::BodyNotJson, "The body must be a JSON object."))?;
        let members = Members::read(&value, "")?;
        let thread = id(&members, "threadId")?;
        let run = id(&members, "runId")?;
        let parent_run = members.get("parentRunId").map(|_| id(&members, "parentRunId")).transpose()?;
        let version = version(&members)?;
        refuse_resume(&members)?;
        let messages::Messages { mut instructions, messages } = messages::read(&members)?;
        instructions.extend(context(&members)?);
        let state = state(&members)?;
        instructions.extend(state.map(|state| format!("[APPLICATION_STATE]\n\n{state}")));
        let mut stored = json!({"threadId": thread, "runId": run});
        if let (Some(state), Value::Object(stored)) = (state, &mut stored) {
            stored.insert("state".to_owned(), state.clone());
        }
        let tools = members.list("tools")?.iter().enumerate();
        let tools =
            tools.map(|(n, tool)| self::tool(tool, &format!("tools.{n}"))).collect::<Result<_, _>>()?;
        let options = TurnOptions { tools, repeated: json!({STORED: stored}), ..TurnOptions::default() };
        check_options(&options).map_err(|faults| match faults.as_slice().first() {
            Some(fault) => ApiError::member(&fault.path.replace('[', ".").replace(']', ""), &fault.message),
            None => ApiError::member("tools", "are invalid"),
        })?;
        let (agent, instructions) = (agent.map(str::to_owned), instructions.join("\n\n"));
        Ok(Self { thread, run, parent_run, version, agent, instructions, options, messages })
    }

    /// Returns the settings of a turn whose input these messages of the user are.
    #[must_use]
    pub(crate) fn options_for(&self, messages: &[&InputMessage]) -> TurnOptions {
        let mut options = self.options.clone();
        let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
        if let Some(Value::Object(stored)) = options.repeated.get_mut(STORED) {
            stored.insert("messageIds".to_owned(), json!(ids));
        }
        options
    }
}

/// Reads an id that must be there.
fn id(members: &Members<'_>, name: &str) -> Result<String, ApiError> {
    let id = members.required_text(name)?;
    let is_valid = !id.trim().is_empty() && id.chars().nth(MAX_ID_CHARS).is_none();
    is_valid.then(|| id.to_owned()).ok_or_else(|| members.rule(name, "must have 1 to 256 characters"))
}

fn version(members: &Members<'_>) -> Result<Version, ApiError> {
    let Some(version) = members.text("protocolVersion")? else { return Ok(Version::V0) };
    match version.split('.').next().map(str::parse::<u32>) {
        Some(Ok(0)) => Ok(Version::V0),
        Some(Ok(_)) => Ok(Version::V1),
        _ => Err(members.rule("protocolVersion", "must be a version, such as \"1.0\"")),
    }
}

/// Refuses answers to interrupts, since no run ends with one.
fn refuse_resume(members: &Members<'_>) -> Result<(), ApiError> {
    if members.list("resume")?.is_empty() {
        return Ok(());
    }
    let rule = "this thread has no interrupt. Answer tool calls with messages of role 'tool'";
    Err(members.rule("resume", rule))
}

/// Reads the context as a text for the model.
fn context(members: &Members<'_>) -> Result<Option<String>, ApiError> {
    let items = members.list("context")?;
    if items.len() > MAX_CONTEXT_ITEMS {
        return Err(members.rule("context", "List should have at most 100 items"));
    }
    let mut text = String::new();
    for (n, item) in items.iter().enumerate() {
        let item = Members::read(item, &format!("context.{n}"))?;
        let (description, value) = (item.required_text("description")?, item.required_text("value")?);
        text.push_str(&format!("\n\n{description}:\n{value}"));
    }
    Ok((!text.is_empty()).then(|| format!("[APPLICATION_CONTEXT]{text}")))
}

/// Reads the state, unless it is empty.
fn state<'a>(members: &Members<'a>) -> Result<Option<&'a Value>, ApiError> {
    let is_empty = |state: &Value| match state {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    let state = members.get("state").filter(|state| !is_empty(state));
    if state.is_some_and(|state| state.to_string().len() > MAX_STATE_BYTES) {
        return Err(members.rule("state", "must have at most 32 KiB"));
    }
    Ok(state)
}

/// Reads a tool that the client runs.
fn tool(value: &Value, path: &str) -> Result<FunctionTool, ApiError> {
    let tool = Members::read(value, path)?;
    let name = tool.required_text("name")?.to_owned();
    let description = tool.text("description")?.filter(|text| !text.trim().is_empty());
    let empty = || json!({"type": "object", "properties": {}});
    let parameters = tool
        .object("parameters")?
        .map_or_else(empty, |_| tool.get("parameters").cloned().unwrap_or_else(empty));
    Ok(FunctionTool {
        // A model can't choose a tool without a description.
        description: description.unwrap_or(&name).to_owned(),
        parameters: with_type(parameters),
        strict: false,
        name,
        format: None,
    })
}

/// Returns a schema of arguments with its type, which some clients leave out of an empty one.
fn with_type(mut schema: Value) -> Value {
    if let Value::Object(members) = &mut schema
        && members.is_empty()
    {
        members.insert("type".to_owned(), json!("object"));
    }
    schema
}
