//! `agent_list_modes`: lists the modes and marks the active one.

use futures::{FutureExt, future::BoxFuture};
use serde_json::{Value, json};

use crate::tool::{Definition, ExecutedBy, ServerTool, ToolError, ToolInput, ToolSuccess, TurnFacts};

const DESCRIPTION: &str =
    "List the modes of this assistant: key, name and when to use each, and which one is active now.";

const USAGE: &str = "\
Call this when the user asks what modes there are, or before `agent_change_mode` if you are not sure of a key.
It takes no arguments and changes nothing. Show people a mode's `display_name`, not its `key`.";

/// The tool.
pub(super) struct ListModes {
    definition: Definition,
}

impl ListModes {
    pub(super) fn new() -> Self {
        let definition = Definition {
            name: "agent_list_modes".to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {},
                "required": [],
                "additionalProperties": false,
            }),
            usage: Some(USAGE.to_owned()),
            executed_by: ExecutedBy::Server,
            strict: true,
        };
        Self { definition }
    }
}

impl ServerTool for ListModes {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, call: ToolInput<'a>) -> BoxFuture<'a, Result<ToolSuccess, ToolError>> {
        std::future::ready(Ok(list(call.facts).into())).boxed()
    }
}

fn list(facts: &TurnFacts) -> Value {
    let mode = |mode: &crate::tool::AvailableMode| {
        json!({
            "key": mode.key,
            "display_name": mode.display_name,
            "when_to_use": mode.when_to_use,
            "active": mode.key == facts.mode,
        })
    };
    json!({ "modes": facts.modes.iter().map(mode).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::run, *};

    #[test]
    fn modes_are_listed_in_catalog_order_with_the_active_one_marked() {
        let produced = run(&ListModes::new(), &json!({})).unwrap();
        let expected = json!({ "modes": [
            { "key": "general", "display_name": "General", "when_to_use": "Anything.", "active": true },
            {
                "key": "ddr_authoring",
                "display_name": "DDR Authoring",
                "when_to_use": "Writing a DDR.",
                "active": false,
            },
        ] });
        assert_eq!(produced, expected.into());
    }
}
