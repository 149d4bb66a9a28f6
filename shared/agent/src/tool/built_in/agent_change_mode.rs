//! `agent_change_mode`: the model switches the session to another mode.

use std::borrow::Cow;

use futures::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::json;

use crate::tool::{
    Definition, Effect, ExecutedBy, ServerTool, StageMode, ToolError, ToolInput, ToolSuccess, TurnFacts,
};

/// The name of the mode change tool. It is reserved, and every turn offers the tool.
pub const AGENT_CHANGE_MODE: &str = "agent_change_mode";

/// The maximum length of a reason, in characters: it is stored in the session's history.
const MAX_REASON_CHARS: usize = 2_000;

const DESCRIPTION: &str = "Switch this session to another mode. The change applies from the rest of this \
    turn on; the new mode's tools become available with the user's next message.";

const USAGE: &str = "\
Call this when the user's intent belongs to another mode than the current one, or when the user asks for it.
- `mode`: the key of a mode from the mode catalog, exactly as written there. `agent_list_modes` lists them.
- `branch`: true only if this work should go on apart from the present conversation; otherwise false.
- `reason`: one sentence, for the history, on why the mode changes.
Do not call it for the mode that is already active. When it fails, the mode is unchanged.
After a change, keep to the new mode's instructions; do not call its tools before the next user message.";

/// The tool.
pub(super) struct ChangeMode {
    definition: Definition,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    mode: Cow<'a, str>,
    branch: bool,
    #[serde(borrow)]
    reason: Cow<'a, str>,
}

impl ChangeMode {
    pub(super) fn new() -> Self {
        // The tool checks for empty strings itself, since not every provider accepts length limits in a strict
        // schema.
        let parameters = json!({
            "type": "object",
            "properties": {
                "mode": { "type": "string", "description": "The key of the mode to switch to." },
                "branch": {
                    "type": "boolean",
                    "description": "True to suggest that the work goes on in a new branch.",
                },
                "reason": { "type": "string", "description": "Why the mode changes; one sentence." },
            },
            "required": ["mode", "branch", "reason"],
            "additionalProperties": false,
        });
        let definition = Definition {
            name: AGENT_CHANGE_MODE.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters,
            usage: Some(USAGE.to_owned()),
            executed_by: ExecutedBy::Server,
            strict: true,
        };
        Self { definition }
    }
}

impl ServerTool for ChangeMode {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, call: ToolInput<'a>) -> BoxFuture<'a, Result<ToolSuccess, ToolError>> {
        std::future::ready(change(&call)).boxed()
    }
}

fn change(call: &ToolInput<'_>) -> Result<ToolSuccess, ToolError> {
    let Arguments { mode, branch, reason } = call.read()?;
    for (name, value) in [("mode", &mode), ("reason", &reason)] {
        if value.trim().is_empty() {
            return Err(ToolError::Refused(format!("`{name}` must not be empty. The mode is unchanged.")));
        }
    }
    if reason.chars().nth(MAX_REASON_CHARS).is_some() {
        let message =
            format!("`reason` must have at most {MAX_REASON_CHARS} characters. The mode is unchanged.");
        return Err(ToolError::Refused(message));
    }
    if !call.facts.modes.iter().any(|available| available.key == mode) {
        return Err(ToolError::Refused(unknown_mode(call.facts)));
    }
    let result = json!({ "success": true, "mode": mode, "branch": branch, "reason": reason });
    let change = StageMode { mode: mode.into_owned(), branch, reason: reason.into_owned() };
    Ok(ToolSuccess { result, effects: vec![Effect::StageMode(change)] })
}

fn unknown_mode(facts: &TurnFacts) -> String {
    let keys: Vec<&str> = facts.modes.iter().map(|mode| mode.key.as_str()).collect();
    format!("There is no such mode. The mode is unchanged. There are: {}.", keys.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{refusal, run},
        *,
    };

    #[test]
    fn change_is_staged_and_returned() {
        let arguments = json!({ "mode": "ddr_authoring", "branch": true, "reason": "A DDR is wanted." });
        let produced = run(&ChangeMode::new(), &arguments).unwrap();
        assert_eq!(
            produced.result.to_string(),
            json!({ "success": true, "mode": "ddr_authoring", "branch": true, "reason": "A DDR is wanted." })
                .to_string()
        );
        let change = StageMode {
            mode: "ddr_authoring".to_owned(),
            branch: true,
            reason: "A DDR is wanted.".to_owned(),
        };
        assert_eq!(produced.effects, [Effect::StageMode(change)]);
    }

    #[test]
    fn unknown_mode_or_empty_argument_is_refused() {
        let tool = ChangeMode::new();
        let message = |mode: &str, reason: &str| {
            refusal(&tool, &json!({ "mode": mode, "branch": false, "reason": reason }))
        };
        assert!(message("General", "x").contains("There are: general, ddr_authoring."));
        assert!(message(" ", "x").starts_with("`mode` must not be empty"));
        assert!(message("general", "\n").starts_with("`reason` must not be empty"));
        assert!(message("general", &"x".repeat(2_001)).contains("at most 2000 characters"));
    }

    #[test]
    fn schema_has_no_session_org_or_user() {
        let tool = ChangeMode::new();
        let mut names: Vec<&String> =
            tool.definition.parameters["properties"].as_object().unwrap().keys().collect();
        names.sort();
        assert_eq!(names, ["branch", "mode", "reason"]);
        assert_eq!(tool.definition.parameters["additionalProperties"], false);
    }
}
