//! The client's tools. Reads run without approval; changes need it.

use std::time::Instant;

use serde_json::{Value, json};

use super::line_editor::{Input, LineEditor};
use super::response::{items, text};
use super::screen::Screen;
use crate::Failure;
use crate::workspace::{self, Call, Workspace};

/// The API's limit for one result, in characters.
const MAX_RESULT_CHARS: usize = contracts::request::limits::MAX_RESULT_JSON_CHARS;
const DECLINED: &str = "The user declined this patch.";

/// Approval policy for patches.
#[derive(Clone)]
pub(crate) enum Approval {
    /// Ask the user each time.
    Ask(LineEditor),
    /// Apply every patch, as the user requested.
    Always,
    /// Apply no patch, since there is nobody to ask.
    Never,
}

/// Runs the tool calls of a turn.
pub(crate) struct Tools {
    pub(crate) workspace: Option<Workspace>,
    pub(crate) approval: Approval,
}

/// Result of running the calls of a reply.
pub(crate) enum ToolRun {
    /// A result for each call, in order.
    Results(Vec<Value>),
    /// The user stopped the turn instead.
    Stopped,
}

impl Tools {
    /// Runs every call in order.
    pub(crate) async fn run(&mut self, response: &Value, screen: &mut Screen) -> Result<ToolRun, Failure> {
        let mut results = Vec::new();
        for call in items(response, "/ToolCalls") {
            let started = Instant::now();
            let (name, arguments) = (text(call, "/Name"), text(call, "/ArgumentsJson"));
            let Some(outcome) = self.call(name, arguments, screen).await? else {
                return Ok(ToolRun::Stopped);
            };
            let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            let id = text(call, "/ToolCallId");
            results.push(match outcome {
                Ok(value) => {
                    json!({ "ToolCallId": id, "ExecutionMs": took, "ResultJson": value.to_string() })
                }
                Err(why) => {
                    screen.note(&format!("  {why}"));
                    json!({ "ToolCallId": id, "ExecutionMs": took, "ErrorMessage": why })
                }
            });
        }
        Ok(ToolRun::Results(results))
    }

    /// Runs one call. Returns none if the user stops the turn.
    async fn call(
        &mut self,
        name: &str,
        arguments: &str,
        screen: &mut Screen,
    ) -> Result<Option<Result<Value, String>>, Failure> {
        let tool_error = |error: workspace::Error| Ok(Some(Err(error.to_string())));
        let Some(workspace) = &self.workspace else {
            screen.note(&format!("· {name}"));
            return Ok(Some(Err(format!(
                "This client has no tool {name}: it was started without --workspace."
            ))));
        };
        let call = match Call::parse(name, arguments) {
            Ok(call) => call,
            Err(error) => return tool_error(error),
        };
        screen.note(&format!("· {}", describe(&call)));
        let Call::Write { path, patch } = &call else {
            return match workspace.read_only(&call) {
                Ok(value) if value.to_string().chars().count() > MAX_RESULT_CHARS => {
                    Ok(Some(Err(format!("The result is larger than {MAX_RESULT_CHARS} characters."))))
                }
                Ok(value) => Ok(Some(Ok(value))),
                Err(error) => tool_error(error),
            };
        };
        // A patch that does not apply is refused before the user is asked.
        let change = match workspace.prepare_change(path, patch) {
            Ok(change) => change,
            Err(error) => return tool_error(error),
        };
        screen.patch(patch);
        let (is_approved, always) = match &self.approval {
            Approval::Always => (true, false),
            Approval::Never => {
                return Ok(Some(Err(format!("{DECLINED} This client can't ask for approval."))));
            }
            Approval::Ask(editor) => match confirm_change(editor, path).await? {
                Some(Confirmation::Yes) => (true, false),
                Some(Confirmation::Always) => (true, true),
                Some(Confirmation::No) => (false, false),
                None => return Ok(None),
            },
        };
        if !is_approved {
            return Ok(Some(Err(DECLINED.to_owned())));
        }
        let written = workspace.write(path, &change);
        if always {
            self.approval = Approval::Always;
        }
        match written {
            Ok(()) => Ok(Some(Ok(json!({ "applied": true })))),
            Err(error) => tool_error(error),
        }
    }
}

enum Confirmation {
    Yes,
    No,
    Always,
}

/// Asks until the answer is valid. None stops the turn.
async fn confirm_change(editor: &LineEditor, path: &str) -> Result<Option<Confirmation>, Failure> {
    loop {
        let question = format!("Change {path}? [y]es, [n]o, [a]lways: ");
        match editor.read_answer(&question).await? {
            Input::Line(line) => match line.trim().to_lowercase().as_str() {
                "y" | "yes" => return Ok(Some(Confirmation::Yes)),
                "n" | "no" => return Ok(Some(Confirmation::No)),
                "a" | "always" => return Ok(Some(Confirmation::Always)),
                _ => {}
            },
            Input::End => return Ok(Some(Confirmation::No)),
            Input::Interrupted => return Ok(None),
        }
    }
}

/// Describes a call in a few words.
fn describe(call: &Call) -> String {
    match call {
        Call::Read { path } => format!("reads {path}"),
        Call::List { path } => format!("lists {}", if path.is_empty() { "." } else { path }),
        Call::Search { pattern, path } if path.is_empty() => format!("searches {pattern:?}"),
        Call::Search { pattern, path } => format!("searches {pattern:?} in {path}"),
        Call::Write { path, .. } => format!("wants to change {path}"),
    }
}
