//! The client's tools. Reads run without approval; changes need it.

use std::time::Instant;

use serde_json::{Value, json};

use super::approval::{Approval, Decision};
use super::response::{items, text};
use super::screen::Screen;
use crate::escape::{escape_line, escape_path};
use crate::failure::Failure;
use crate::workspace::{self, Call, Workspace};

/// The API's limit for one result, in characters.
const MAX_RESULT_CHARS: usize = contracts::request::limits::MAX_RESULT_JSON_CHARS;
const DECLINED: &str = "The user declined this patch.";
const READ_DECLINED: &str = "The user declined to share this file.";
const UNATTENDED: &str = "This client can't ask for approval.";

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
                    screen.note(&format!("  {}", escape_line(&why)));
                    json!({ "ToolCallId": id, "ExecutionMs": took, "ErrorMessage": why })
                }
            });
        }
        Ok(ToolRun::Results(results))
    }

    /// Runs one call. Returns `None` if the user stops the turn.
    async fn call(
        &mut self,
        name: &str,
        arguments: &str,
        screen: &mut Screen,
    ) -> Result<Option<Result<Value, String>>, Failure> {
        let tool_error = |error: workspace::Error| Ok(Some(Err(error.to_string())));
        let Some(workspace) = &self.workspace else {
            screen.note(&format!("· {}", escape_path(name)));
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
            if let Call::Read { path } = &call
                && let Ok(Some(protection)) = workspace.protection(path)
                && protection.covers_reads()
            {
                match self.approval.of_read(path, protection).await? {
                    Decision::Approved => {}
                    Decision::Declined => return Ok(Some(Err(READ_DECLINED.to_owned()))),
                    Decision::Unattended => return Ok(Some(Err(format!("{READ_DECLINED} {UNATTENDED}")))),
                    Decision::Stopped => return Ok(None),
                }
            }
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
        match self.approval.of_change(path, &change, screen).await? {
            Decision::Approved => {}
            Decision::Declined => return Ok(Some(Err(DECLINED.to_owned()))),
            Decision::Unattended => return Ok(Some(Err(format!("{DECLINED} {UNATTENDED}")))),
            Decision::Stopped => return Ok(None),
        }
        match workspace.write(&change) {
            Ok(()) => Ok(Some(Ok(json!({ "applied": true })))),
            Err(error) => tool_error(error),
        }
    }
}

/// Describes a call in a few words, on one line.
fn describe(call: &Call) -> String {
    let shown = escape_path;
    match call {
        Call::Read { path } => format!("reads {}", shown(path)),
        Call::List { path } => {
            format!("lists {}", if path.is_empty() { ".".to_owned() } else { shown(path) })
        }
        Call::Search { pattern, path } if path.is_empty() => format!("searches {}", shown(pattern)),
        Call::Search { pattern, path } => format!("searches {} in {}", shown(pattern), shown(path)),
        Call::Write { path, .. } => format!("wants to change {}", shown(path)),
    }
}
