//! `find_tools`: definitions of tools that the model knows by name alone.
//!
//! The tool returns the search as an effect: the turn has the tools.

use futures::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tool::{Definition, Effect, ExecutedBy, ServerTool, ToolError, ToolInput, ToolSuccess};

/// The tool's name.
pub const FIND_TOOLS: &str = "find_tools";

const MAX_QUERY_CHARS: usize = 400;

/// The tool.
pub(super) struct FindTools {
    definition: Definition,
}

#[derive(Deserialize)]
struct Arguments {
    query: String,
}

impl FindTools {
    pub(super) fn new() -> Self {
        let definition = Definition {
            name: FIND_TOOLS.to_owned(),
            description: "Find tools by name or by what they do. The tools that are found can be called in your next reply."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "query": { "type": "string", "description": "Words, or names of tools." } },
                "required": ["query"],
                "additionalProperties": false,
            }),
            usage: None,
            executed_by: ExecutedBy::Server,
            strict: false,
        };
        Self { definition }
    }
}

impl ServerTool for FindTools {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, call: ToolInput<'a>) -> BoxFuture<'a, Result<ToolSuccess, ToolError>> {
        let search = call.read::<Arguments>().and_then(|Arguments { query }| {
            if query.trim().is_empty() || query.chars().count() > MAX_QUERY_CHARS {
                return Err(ToolError::Refused(format!(
                    "`query` must have 1 to {MAX_QUERY_CHARS} characters."
                )));
            }
            Ok(ToolSuccess { result: Value::Null, effects: vec![Effect::FindTools(query)] })
        });
        std::future::ready(search).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{refusal, run},
        *,
    };

    #[test]
    fn query_becomes_an_effect_and_is_bounded() {
        let tool = FindTools::new();
        let found = run(&tool, &json!({ "query": "file a ticket" })).unwrap();
        assert_eq!(found.effects, [Effect::FindTools("file a ticket".to_owned())]);
        assert_eq!(refusal(&tool, &json!({ "query": " " })), "`query` must have 1 to 400 characters.");
    }
}
