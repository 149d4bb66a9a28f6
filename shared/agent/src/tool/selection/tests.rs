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

fn selected(declared: &[Definition], mode_tools: &[&str]) -> ToolSelection {
    select_tools(&Registry::new(built_in()).unwrap(), declared, mode_tools.iter().copied(), 0)
}

fn names(selected: &ToolSelection) -> Vec<&str> {
    selected.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn client_tools_come_first_then_the_modes_then_the_mode_change() {
    let selected =
        selected(&[client("b"), client("a")], &["publish_file", AGENT_CHANGE_MODE, "agent_list_modes"]);
    assert_eq!(names(&selected), ["b", "a", "publish_file", "agent_list_modes", AGENT_CHANGE_MODE]);
    assert_eq!(selected.dropped, []);
}

#[test]
fn mode_change_is_always_offered() {
    assert_eq!(names(&selected(&[], &[])), [AGENT_CHANGE_MODE]);
}

#[test]
fn client_tool_hides_mode_tool_of_same_name() {
    let selected = selected(&[client("publish_file")], &["publish_file"]);
    assert_eq!(names(&selected), ["publish_file", AGENT_CHANGE_MODE]);
    assert_eq!(selected.tools[0].executed_by, ExecutedBy::Client);
    assert_eq!(selected.dropped, [DroppedTool::HiddenByClient("publish_file".to_owned())]);
}

#[test]
fn client_tool_cannot_replace_the_mode_change() {
    let selected = selected(&[client(AGENT_CHANGE_MODE)], &[]);
    assert_eq!(selected.tools.len(), 1);
    assert_eq!(selected.tools[0].executed_by, ExecutedBy::Server);
    assert_eq!(selected.dropped, [DroppedTool::ReservedName]);
}

#[test]
fn first_declaration_wins_and_unknown_names_are_dropped() {
    let second = Definition { description: "Second.".to_owned(), ..client("a") };
    let selected = selected(&[client("a"), second], &["none", "publish_file", "publish_file"]);
    assert_eq!(names(&selected), ["a", "publish_file", AGENT_CHANGE_MODE]);
    assert_eq!(selected.tools[0].description, "Of the client.");
    assert_eq!(
        selected.dropped,
        [DroppedTool::Duplicate("a".to_owned()), DroppedTool::Unknown("none".to_owned())]
    );
}

#[test]
fn server_declaration_refers_to_the_registry() {
    let declared_as_server = Definition { executed_by: ExecutedBy::Server, ..client("publish_file") };
    let selected = selected(&[declared_as_server], &["publish_file"]);
    assert_eq!(names(&selected), ["publish_file", AGENT_CHANGE_MODE]);
    assert_ne!(selected.tools[0].description, "Of the client.");
}

#[test]
fn selection_is_limited_and_includes_the_mode_change() {
    let clients: Vec<Definition> = (0..130).map(|n| client(&format!("t{n}"))).collect();
    let selected = selected(&clients, &["publish_file"]);
    assert_eq!(selected.tools.len(), MAX_TOOLS);
    assert_eq!(selected.tools.last().unwrap().name, AGENT_CHANGE_MODE);
    let excess = ["t127", "t128", "t129", "publish_file"].map(|name| DroppedTool::TooMany(name.to_owned()));
    assert_eq!(selected.dropped, excess);
}

#[test]
fn client_tool_usage_is_appended_to_its_description() {
    let usage =
        |executed_by| Definition { usage: Some("Use it well.".to_owned()), executed_by, ..client("a") };
    let description = |tool: Definition| to_model_tools(&[tool]).remove(0).description;
    assert_eq!(description(usage(ExecutedBy::Client)), "Of the client.\n\nUse it well.");
    assert_eq!(
        description(usage(ExecutedBy::Server)),
        "Of the client.",
        "the system message has the server's"
    );
    assert_eq!(description(client("a")), "Of the client.");
}

#[test]
fn usage_texts_are_delimited() {
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
