//! The tools of this client: what reads runs by itself, what changes is asked first.

use std::time::Instant;

use serde_json::{Value, json};

use super::conversation::{items, text};
use super::prompt::{Prompt, Typed};
use super::screen::Screen;
use crate::Failure;
use crate::workspace::{self, Call, Workspace};

/// The API's limit of one result, in characters.
const MOST_RESULT: usize = contracts::request::limits::MAX_RESULT_JSON_CHARS;
const DECLINED: &str = "The user declined this patch.";

/// Who says whether a patch is applied.
#[derive(Clone)]
pub(crate) enum Approval {
    /// The user, each time.
    Ask(Prompt),
    /// Every patch is applied: the user said so.
    Always,
    /// None is: there is nobody to ask.
    Never,
}

/// What runs the calls of a turn.
pub(crate) struct Tools {
    pub(crate) workspace: Option<Workspace>,
    pub(crate) approval: Approval,
}

/// What the calls of a reply came to.
pub(crate) enum Results {
    /// A result for each, in their order.
    All(Vec<Value>),
    /// The user stopped the turn instead.
    Stopped,
}

impl Tools {
    /// Runs every call, one after the other.
    pub(crate) async fn run(&mut self, response: &Value, screen: &mut Screen) -> Result<Results, Failure> {
        let mut results = Vec::new();
        for call in items(response, "/ToolCalls") {
            let begun = Instant::now();
            let (name, arguments) = (text(call, "/Name"), text(call, "/ArgumentsJson"));
            let Some(outcome) = self.call(name, arguments, screen).await? else {
                return Ok(Results::Stopped);
            };
            let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
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
        Ok(Results::All(results))
    }

    /// What a call came to; none when the turn is to be stopped.
    async fn call(
        &mut self,
        name: &str,
        arguments: &str,
        screen: &mut Screen,
    ) -> Result<Option<Result<Value, String>>, Failure> {
        let told = |error: workspace::Error| Ok(Some(Err(error.to_string())));
        let Some(workspace) = &self.workspace else {
            screen.note(&format!("· {name}"));
            return Ok(Some(Err(format!(
                "This client has no tool {name}: it was started without a workspace."
            ))));
        };
        let call = match Call::parse(name, arguments) {
            Ok(call) => call,
            Err(error) => return told(error),
        };
        screen.note(&format!("· {}", what(&call)));
        let Call::Write { path, patch } = &call else {
            return match workspace.read_only(&call) {
                Ok(value) if value.to_string().chars().count() > MOST_RESULT => {
                    Ok(Some(Err(format!("The result is larger than {MOST_RESULT} characters."))))
                }
                Ok(value) => Ok(Some(Ok(value))),
                Err(error) => told(error),
            };
        };
        // A patch that does not fit is refused before anybody is asked.
        let change = match workspace.patched(path, patch) {
            Ok(change) => change,
            Err(error) => return told(error),
        };
        screen.patch(patch);
        let (is_agreed, always) = match &self.approval {
            Approval::Always => (true, false),
            Approval::Never => return Ok(Some(Err(format!("{DECLINED} Nobody could be asked.")))),
            Approval::Ask(prompt) => match agreed(prompt, path).await? {
                Some(Agreed::Yes) => (true, false),
                Some(Agreed::Always) => (true, true),
                Some(Agreed::No) => (false, false),
                None => return Ok(None),
            },
        };
        if !is_agreed {
            return Ok(Some(Err(DECLINED.to_owned())));
        }
        let written = workspace.write(path, &change);
        if always {
            self.approval = Approval::Always;
        }
        match written {
            Ok(()) => Ok(Some(Ok(json!({ "applied": true })))),
            Err(error) => told(error),
        }
    }
}

enum Agreed {
    Yes,
    No,
    Always,
}

/// Asks until the answer is one. None stops the turn.
async fn agreed(prompt: &Prompt, path: &str) -> Result<Option<Agreed>, Failure> {
    loop {
        let question = format!("Change {path}? [y]es, [n]o, [a]lways: ");
        match prompt.answer(&question).await? {
            Typed::Line(line) => match line.trim().to_lowercase().as_str() {
                "y" | "yes" => return Ok(Some(Agreed::Yes)),
                "n" | "no" => return Ok(Some(Agreed::No)),
                "a" | "always" => return Ok(Some(Agreed::Always)),
                _ => {}
            },
            Typed::End => return Ok(Some(Agreed::No)),
            Typed::Interrupted => return Ok(None),
        }
    }
}

/// A call in a few words.
fn what(call: &Call) -> String {
    match call {
        Call::Read { path } => format!("reads {path}"),
        Call::List { path } => format!("lists {}", if path.is_empty() { "." } else { path }),
        Call::Search { pattern, path } if path.is_empty() => format!("searches {pattern:?}"),
        Call::Search { pattern, path } => format!("searches {pattern:?} in {path}"),
        Call::Write { path, .. } => format!("wants to change {path}"),
    }
}
