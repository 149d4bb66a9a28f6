//! `search_context`: a search of the indexed sources that the model asks for.
//!
//! The tool doesn't reach the sources itself: it returns the search as an effect, whose result becomes the call's
//! result. So the tenant and the scope are the turn's, whatever the model writes.

use futures::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tool::{Definition, Effect, ExecutedBy, ServerTool, ToolError, ToolInput, ToolSuccess};

/// The tool's name.
pub const SEARCH_CONTEXT: &str = "search_context";

const MAX_QUERY_CHARS: usize = 4_000;

const DESCRIPTION: &str = "Search the indexed sources of the user's organisation, its code and documents, for the \
    chunks that are nearest to a question. What is under `[CONTEXT]` was found in the same way for the user's own words.";

const USAGE: &str = "\
Call this when the material at hand does not answer the question: to find where something is defined, decided or used.
- `query`: what the wanted text says or is called. Names of functions, types and files help; so does a whole sentence.
Chunks are found by similarity. They can be outdated or irrelevant: use those that help, and name path and lines.
An empty list means that nothing was found: ask in other words once, then go on without.";

/// The tool.
pub(super) struct SearchContext {
    definition: Definition,
}

#[derive(Deserialize)]
struct Arguments {
    query: String,
}

impl SearchContext {
    pub(super) fn new() -> Self {
        let definition = Definition {
            name: SEARCH_CONTEXT.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "query": { "type": "string", "description": "What to look for, in words." } },
                "required": ["query"],
                "additionalProperties": false,
            }),
            usage: Some(USAGE.to_owned()),
            executed_by: ExecutedBy::Server,
            strict: true,
        };
        Self { definition }
    }
}

impl ServerTool for SearchContext {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, call: ToolInput<'a>) -> BoxFuture<'a, Result<ToolSuccess, ToolError>> {
        let search = call.read::<Arguments>().and_then(|Arguments { query }| {
            let query = query.trim();
            if query.is_empty() || query.chars().count() > MAX_QUERY_CHARS {
                return Err(ToolError::Refused(format!(
                    "`query` must have 1 to {MAX_QUERY_CHARS} characters."
                )));
            }
            Ok(ToolSuccess { result: Value::Null, effects: vec![Effect::SearchSources(query.to_owned())] })
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
    fn query_becomes_a_search_effect_and_is_bounded() {
        let tool = SearchContext::new();
        let search = run(&tool, &json!({ "query": " keep_lease ", "org": "other" })).unwrap();
        assert_eq!(search.effects, [Effect::SearchSources("keep_lease".to_owned())]);
        let expected = "`query` must have 1 to 4000 characters.";
        for query in [" ".to_owned(), "x".repeat(4_001)] {
            assert_eq!(refusal(&tool, &json!({ "query": query })), expected);
        }
    }
}
