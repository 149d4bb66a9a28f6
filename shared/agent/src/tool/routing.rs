//! Routing of a reply's tool calls: the client runs what it can, this service answers the rest.
//!
//! A call that no client could answer never reaches one: it would suspend a turn for results that can't come, or
//! have the client run arguments that its schema doesn't allow. The service answers it as failed instead, so that
//! the model can call again.

use super::{
    Definition, ExecutedBy, Limits,
    arguments::{self, ArgumentError},
    schema::Schema,
};
use crate::model::FunctionCall;

/// Returns the executor of each call, by the turn's stored tools, in the model's order.
#[must_use]
pub fn route_calls(offered: &[Definition], calls: &[FunctionCall], limits: &Limits) -> Vec<ExecutedBy> {
    let mut client_calls: usize = 0;
    let mut route = |call: &FunctionCall| {
        let tool = offered.iter().find(|tool| tool.name == call.name);
        let to_client = tool.is_some_and(|tool| tool.executed_by == ExecutedBy::Client)
            && client_calls < limits.calls
            && client_call_error(offered, call, limits).is_none();
        client_calls = client_calls.saturating_add(usize::from(to_client));
        if to_client { ExecutedBy::Client } else { ExecutedBy::Server }
    };
    calls.iter().map(&mut route).collect()
}

/// Returns the reason the client can't answer this call. `None` if it can, or if the tool isn't the client's.
pub(super) fn client_call_error(
    offered: &[Definition],
    call: &FunctionCall,
    limits: &Limits,
) -> Option<ArgumentError> {
    let is_client_tool =
        |tool: &&Definition| tool.executed_by == ExecutedBy::Client && tool.name == call.name;
    let tool = offered.iter().find(is_client_tool)?;
    // Schemas are checked when a context is written. One that is invalid all the same rejects nothing.
    let schema = Schema::compile(&tool.parameters).ok()?;
    arguments::parse(&call.arguments, &schema, limits.argument_bytes).err()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ExecutedBy::{Client, Server};

    fn tool(name: &str, executed_by: ExecutedBy) -> Definition {
        Definition {
            name: name.to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({
                "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"],
            }),
            usage: None,
            executed_by,
            strict: false,
        }
    }

    fn call(id: &str, name: &str, arguments: &str) -> FunctionCall {
        FunctionCall { call_id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
    }

    const PATH: &str = r#"{"path":"a"}"#;

    #[test]
    fn client_runs_valid_calls_and_server_answers_the_rest() {
        let offered = [tool("read", Client), tool("hash", Server)];
        let calls = [
            call("1", "read", PATH),
            call("2", "hash", "{}"),
            call("3", "nobody", "{}"),
            call("4", "read", "{}"),
            call("5", "read", "{"),
            call("6", "read", PATH),
        ];
        let executors = route_calls(&offered, &calls, &Limits::default());
        assert_eq!(executors, [Client, Server, Server, Server, Server, Client]);
        let error_of = |at: usize| client_call_error(&offered, &calls[at], &Limits::default());
        assert_eq!((error_of(0), error_of(1)), (None, None));
        assert!(
            error_of(3).is_some_and(|error| error.to_string().contains("\"path\" is a required property"))
        );
    }

    #[test]
    fn client_calls_are_limited() {
        let limits = Limits { calls: 2, ..Limits::default() };
        let calls = [
            call("1", "read", PATH),
            call("2", "read", "{"),
            call("3", "read", PATH),
            call("4", "read", PATH),
        ];
        assert_eq!(route_calls(&[tool("read", Client)], &calls, &limits), [Client, Server, Client, Server]);
    }

    #[test]
    fn invalid_schema_rejects_nothing() {
        let broken = Definition { parameters: json!({ "type": "objekt" }), ..tool("read", Client) };
        assert_eq!(route_calls(&[broken], &[call("1", "read", "x")], &Limits::default()), [Client]);
    }
}
