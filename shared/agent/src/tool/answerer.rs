//! Who answers a reply's calls: the client what it can, this service everything else.
//!
//! A call that no client could answer never reaches one: it would suspend a turn for results that can't
//! come, or have the client run what its schema does not allow. It is answered as failed instead, so that
//! the model can call again (AGN-033 §3.3 rules the set that is emitted, not what goes into it).

use contracts::request::limits::MAX_TOOL_CALL_ID_CHARS;

use super::{
    Definition, ExecutedBy, Limits,
    arguments::{self, Unfit},
    schema::Schema,
};
use crate::model::FunctionCall;

/// Who answers each call, by the turn's stored tools; in the model's order.
#[must_use]
pub fn answerers(offered: &[Definition], calls: &[FunctionCall], limits: &Limits) -> Vec<ExecutedBy> {
    let mut clients: usize = 0;
    let mut answerer = |call: &FunctionCall| {
        let tool = offered.iter().find(|tool| tool.name == call.name);
        let is_clients = tool.is_some_and(|tool| tool.executed_by == ExecutedBy::Client)
            && clients < limits.calls
            && unanswerable(offered, call, limits).is_none();
        clients = clients.saturating_add(usize::from(is_clients));
        if is_clients { ExecutedBy::Client } else { ExecutedBy::Server }
    };
    calls.iter().map(&mut answerer).collect()
}

/// Why a call of a client's tool does not go to the client.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unanswerable {
    #[error("The call has no id that a result could name. Make it again.")]
    NoId,
    #[error(transparent)]
    Unfit(#[from] Unfit),
}

/// Why the client can't answer this call; none when it can, or when the tool is not the client's.
pub(super) fn unanswerable(
    offered: &[Definition],
    call: &FunctionCall,
    limits: &Limits,
) -> Option<Unanswerable> {
    let is_clients = |tool: &&Definition| tool.executed_by == ExecutedBy::Client && tool.name == call.name;
    let tool = offered.iter().find(is_clients)?;
    let id = &call.call_id;
    // What the contract takes as a `ToolCallId`.
    if id.trim().is_empty() || id.chars().count() > MAX_TOOL_CALL_ID_CHARS || id.chars().any(char::is_control)
    {
        return Some(Unanswerable::NoId);
    }
    // A schema was checked when its context was written; one that is broken all the same judges nothing.
    let schema = Schema::compile(&tool.parameters).ok()?;
    arguments::read(&call.arguments, &schema, limits.argument_bytes).err().map(Unanswerable::Unfit)
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
    fn the_client_answers_what_it_can_and_the_server_the_rest() {
        let offered = [tool("read", Client), tool("hash", Server)];
        let calls = [
            call("1", "read", PATH),
            call("2", "hash", "{}"),
            call("3", "nobody", "{}"),
            call("4", "read", "{}"),
            call("5", "read", "{"),
            call("", "read", PATH),
            call("7\n", "read", PATH),
            call(&"8".repeat(257), "read", PATH),
            call("9", "read", PATH),
        ];
        let by = answerers(&offered, &calls, &Limits::default());
        assert_eq!(by, [Client, Server, Server, Server, Server, Server, Server, Server, Client]);
        let why = |at: usize| unanswerable(&offered, &calls[at], &Limits::default());
        assert_eq!((why(0), why(1), why(5)), (None, None, Some(Unanswerable::NoId)));
        assert!(why(3).is_some_and(|why| why.to_string().contains("\"path\" is a required property")));
    }

    #[test]
    fn the_client_gets_as_many_calls_as_it_can_answer() {
        let limits = Limits { calls: 2, ..Limits::default() };
        let calls = [
            call("1", "read", PATH),
            call("2", "read", "{"),
            call("3", "read", PATH),
            call("4", "read", PATH),
        ];
        assert_eq!(answerers(&[tool("read", Client)], &calls, &limits), [Client, Server, Client, Server]);
    }

    #[test]
    fn a_broken_schema_judges_nothing() {
        let broken = Definition { parameters: json!({ "type": "objekt" }), ..tool("read", Client) };
        assert_eq!(answerers(&[broken], &[call("1", "read", "x")], &Limits::default()), [Client]);
    }
}
