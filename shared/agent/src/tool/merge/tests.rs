use serde_json::json;

use super::*;
use crate::tool::built_in;

fn client(name: &str) -> Definition {
    Definition {
        name: name.to_owned(),
        description: "Of the client.".to_owned(),
        parameters: json!({ "type": "object" }),
        usage: None,
        executed_by: ExecutedBy::Client,
        strict: false,
    }
}

fn merged(declared: &[Definition], mode_tools: &[&str]) -> Merged {
    merge(&Registry::new(built_in()).unwrap(), declared, mode_tools.iter().copied(), 0)
}

fn names(merged: &Merged) -> Vec<&str> {
    merged.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn client_tools_come_first_then_the_modes_then_the_mode_change() {
    let merged =
        merged(&[client("b"), client("a")], &["publish_file", AGENT_CHANGE_MODE, "agent_list_modes"]);
    assert_eq!(names(&merged), ["b", "a", "publish_file", "agent_list_modes", AGENT_CHANGE_MODE]);
    assert_eq!(merged.dropped, []);
}

#[test]
fn the_mode_change_is_offered_whatever_the_mode_says() {
    assert_eq!(names(&merged(&[], &[])), [AGENT_CHANGE_MODE]);
}

#[test]
fn a_mode_never_removes_a_client_tool() {
    let merged = merged(&[client("publish_file")], &["publish_file"]);
    assert_eq!(names(&merged), ["publish_file", AGENT_CHANGE_MODE]);
    assert_eq!(merged.tools[0].executed_by, ExecutedBy::Client);
    assert_eq!(merged.dropped, [Dropped::HiddenByClient("publish_file".to_owned())]);
}

#[test]
fn a_client_tool_never_replaces_the_mode_change() {
    let merged = merged(&[client(AGENT_CHANGE_MODE)], &[]);
    assert_eq!(merged.tools.len(), 1);
    assert_eq!(merged.tools[0].executed_by, ExecutedBy::Server);
    assert_eq!(merged.dropped, [Dropped::Reserved]);
}

#[test]
fn the_first_of_two_declarations_counts_and_unknown_names_are_left_out() {
    let second = Definition { description: "Second.".to_owned(), ..client("a") };
    let merged = merged(&[client("a"), second], &["none", "publish_file", "publish_file"]);
    assert_eq!(names(&merged), ["a", "publish_file", AGENT_CHANGE_MODE]);
    assert_eq!(merged.tools[0].description, "Of the client.");
    assert_eq!(merged.dropped, [Dropped::Doubled("a".to_owned()), Dropped::Unknown("none".to_owned())]);
}

#[test]
fn a_declaration_that_the_server_runs_stands_for_the_registrys_tool() {
    let claimed = Definition { executed_by: ExecutedBy::Server, ..client("publish_file") };
    let merged = merged(&[claimed], &["publish_file"]);
    assert_eq!(names(&merged), ["publish_file", AGENT_CHANGE_MODE]);
    assert_ne!(merged.tools[0].description, "Of the client.");
}

#[test]
fn no_request_offers_more_tools_than_providers_take_and_the_mode_change_is_among_them() {
    let clients: Vec<Definition> = (0..130).map(|n| client(&format!("t{n}"))).collect();
    let merged = merged(&clients, &["publish_file"]);
    assert_eq!(merged.tools.len(), MOST_TOOLS);
    assert_eq!(merged.tools.last().unwrap().name, AGENT_CHANGE_MODE);
    let no_room = ["t127", "t128", "t129", "publish_file"].map(|name| Dropped::NoRoom(name.to_owned()));
    assert_eq!(merged.dropped, no_room);
}

#[test]
fn a_client_tools_usage_reaches_the_model_with_its_description() {
    let usage =
        |executed_by| Definition { usage: Some("Use it well.".to_owned()), executed_by, ..client("a") };
    let told = |tool: Definition| to_model(&[tool]).remove(0).description;
    assert_eq!(told(usage(ExecutedBy::Client)), "Of the client.\n\nUse it well.");
    assert_eq!(told(usage(ExecutedBy::Server)), "Of the client.", "the system message tells the server's");
    assert_eq!(told(client("a")), "Of the client.");
}

#[test]
fn usage_stands_between_the_documents_delimiters() {
    let with = |name: &str, usage: Option<&str>, executed_by| Definition {
        usage: usage.map(str::to_owned),
        executed_by,
        ..client(name)
    };
    let tools = [
        with("of_client", Some("Not the server's."), ExecutedBy::Client),
        with("one", Some("Use it.\nWell.\n"), ExecutedBy::Server),
        with("silent", None, ExecutedBy::Server),
        with("two", Some("Use this."), ExecutedBy::Server),
    ];
    let expected = "<<<APTIX_SERVER_TOOL_USAGE_METADATA_BEGIN>>>
<<<APTIX_TOOL_USAGE_BEGIN name='one'>>>
Use it.
Well.
<<<APTIX_TOOL_USAGE_END name='one'>>>
<<<APTIX_TOOL_USAGE_BEGIN name='two'>>>
Use this.
<<<APTIX_TOOL_USAGE_END name='two'>>>
<<<APTIX_SERVER_TOOL_USAGE_METADATA_END>>>";
    assert_eq!(usage_metadata_block(&tools).as_deref(), Some(expected));
    assert_eq!(usage_metadata_block(&[client("a")]), None);
}
