//! Tests of the shipped catalog and of the checks.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Catalog, GENERAL, Mode, check, definition, display_name};
use crate::{
    fault::FaultCollector,
    tool::{Registry, built_in},
};

const TOOLS: &[&str] = &["agent_change_mode", "agent_list_modes", "code_hash_normalized", "publish_file"];

fn mode(number: u8, key: &str) -> Value {
    json!({
        "Id": format!("{number:032x}"), "Key": key, "DisplayName": "A mode", "Description": "What it is.",
        "WhenToUse": "When it fits.", "IsDefault": number == 1, "Status": "active", "Version": "1",
    })
}

fn with(mut mode: Value, name: &str, value: impl Into<Value>) -> Value {
    mode[name] = value.into();
    mode
}

fn tool(name: &str) -> Value {
    json!({
        "Name": name, "Description": "Of the client.", "Parameters": { "type": "object", "properties": {} },
        "ExecutedBy": "client",
    })
}

fn parse(modes: &[Value]) -> Result<Catalog, Vec<String>> {
    Catalog::parse(&Value::from(modes).to_string(), TOOLS)
        .map_err(|faults| faults.as_slice().iter().map(ToString::to_string).collect())
}

#[test]
fn unknown_key_is_displayed_as_words() {
    assert_eq!(display_name("general"), "General");
    assert_eq!(display_name("ddr_authoring"), "Ddr Authoring");
}

#[test]
fn seed_is_valid_and_starts_in_general() {
    let catalog = Catalog::seed(TOOLS).unwrap();
    let keys: Vec<&str> = catalog.modes().map(|mode| mode.key.as_str()).collect();
    assert_eq!(keys, ["general", "ddr_authoring", "workflow_authoring"]);
    assert_eq!(catalog.default_mode().key.as_str(), GENERAL);
    assert_eq!(catalog.display_name("ddr_authoring"), "DDR Authoring");
    assert_eq!(catalog.rag_hints("ddr_authoring")[0].key(), "Subtype");
    for mode in catalog.modes() {
        assert!(!mode.mode_instructions.is_empty(), "{}", mode.key);
        assert!(
            catalog.server_tools(mode.key.as_str()).iter().any(|tool| tool == "publish_file"),
            "{}",
            mode.key
        );
    }
}

/// The usage of every tool is told at the start of a chain; a change of mode repeats that of the tools it brings.
#[test]
fn mode_change_has_the_usage_of_new_tools() {
    let registry = Registry::new(built_in()).unwrap();
    let names: Vec<&str> = registry.names().collect();
    let catalog = Catalog::seed(&names).unwrap().with_tools(registry.definitions());
    let change = |before: Option<&str>, key: &str| catalog.mode_change(before, key).unwrap();
    let usage = "<<<APTIX_TOOL_USAGE_BEGIN name='code_hash_normalized'>>>";
    let brought = change(Some("ddr_authoring"), GENERAL);
    assert!(brought.starts_with("[MODE_INSTRUCTIONS: general]") && brought.contains(usage), "{brought}");
    assert_eq!(brought.matches("<<<APTIX_TOOL_USAGE_BEGIN").count(), 1, "{brought}");
    for (before, key) in [(Some(GENERAL), "ddr_authoring"), (None, GENERAL)] {
        assert_eq!(Some(change(before, key)), catalog.instructions(key));
    }
    assert_eq!(catalog.mode_change(Some(GENERAL), "long_gone"), None);
}

#[test]
fn mode_has_client_tools() {
    let catalog = parse(&[with(mode(1, "general"), "ClientTools", json!([tool("a"), tool("b")]))]).unwrap();
    let names: Vec<&str> = catalog.client_tools("general").iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(catalog.client_tools("long_gone").is_empty());
    let diagnostics = Catalog::with_diagnostics(TOOLS).unwrap();
    assert_eq!(diagnostics.client_tools("diagnostics")[0].name, "diagnostics_ask_client");
    assert!(Catalog::seed(TOOLS).unwrap().get("diagnostics").is_none());
}

#[test]
fn seed_needs_its_server_tools() {
    let faults = Catalog::seed(&["agent_list_modes", "publish_file"]).unwrap_err();
    assert_eq!(
        faults.to_string(),
        "modes[0].AssociatedToolIds[1]: no server tool is called \"code_hash_normalized\""
    );
}

#[test]
fn unknown_key_has_only_a_display_name() {
    let catalog = Catalog::seed(TOOLS).unwrap();
    assert!(catalog.get("long_gone").is_none());
    assert_eq!(catalog.display_name("long_gone"), "Long Gone");
    assert!(catalog.server_tools("long_gone").is_empty());
    assert!(catalog.rag_hints("long_gone").is_empty());
    assert_eq!(catalog.instructions("long_gone"), None);
    assert_eq!(catalog.initial_mode(Some("long_gone")).key.as_str(), GENERAL);
    assert_eq!(catalog.initial_mode(Some("ddr_authoring")).key.as_str(), "ddr_authoring");
    assert_eq!(catalog.initial_mode(None).key.as_str(), GENERAL);
}

#[test]
fn all_faults_are_reported_at_once() {
    let faults = parse(&[
        with(with(mode(1, "general"), "Status", "experimental"), "WhenToUse", "Two\nlines."),
        with(mode(1, "general"), "AssociatedToolIds", json!(["publish_file", "publish_file", "rm"])),
        with(with(mode(3, "Third-Mode"), "Id", "ABC"), "DisplayName", " "),
        with(with(mode(4, "fourth"), "Surprise", 1), "Status", "retired"),
        with(mode(5, "fifth"), "RagScopeHints", json!(["Subtype=a", "OrgId=b"])),
        json!({ "Id": "x" }),
        with(mode(7, "seventh"), "BehaviorHints", json!(["", "b"])),
        with(mode(8, "eighth"), "ClientTools", json!([tool("publish_file"), tool("a"), tool("a")])),
    ])
    .unwrap_err();
    let expected = [
        "modes[3].Status: unknown variant `retired`",
        "modes[3].Surprise: unknown field `Surprise`",
        "modes[4].RagScopeHints[1]: must begin with one of ContentType",
        "modes[5]: missing field `Description`",
        "modes[5]: missing field `DisplayName`",
        "modes[5]: missing field `Key`",
        "modes[5]: missing field `Status`",
        "modes[5]: missing field `Version`",
        "modes[5]: missing field `WhenToUse`",
        "modes[0].WhenToUse: must be one line",
        "modes[0].Status: the default mode must be active",
        "modes[1].AssociatedToolIds[1]: \"publish_file\" is listed twice",
        "modes[1].AssociatedToolIds[2]: no server tool is called \"rm\"",
        "modes[1].Id: another mode has the id",
        "modes[1].Key: another mode has the key \"general\" too",
        "modes[1].IsDefault: \"general\" is the default mode already",
        "modes[2].Id: must be 32 lowercase hex digits",
        "modes[2].Key: must be snake_case",
        "modes[2].DisplayName: must not be blank",
        "modes[6].BehaviorHints[0]: must not be blank",
        "modes[7].ClientTools[0].Name: \"publish_file\" is the name of a server tool",
        "modes[7].ClientTools[2].Name: another tool is called \"a\" too",
    ];
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault}\n{expected}");
    }
}

#[test]
fn catalog_has_exactly_one_default() {
    assert_eq!(parse(&[mode(2, "second")]).unwrap_err(), ["modes: one mode must be the default"]);
    assert_eq!(parse(&[]).unwrap_err(), ["modes: one mode must be the default"]);
    assert_eq!(parse(&[mode(1, "general"), with(mode(2, "b"), "IsDefault", true)]).unwrap_err().len(), 1);
}

#[test]
fn invalid_catalog_text_is_rejected() {
    for text in ["", "null", "[1]", "\"modes\"", "[{}", "{}"] {
        assert!(Catalog::parse(text, TOOLS).is_err(), "{text}");
    }
}

#[test]
fn catalog_block_lists_selectable_modes() {
    let block = parse(&[
        mode(1, "general"),
        with(mode(2, "trial"), "Status", "experimental"),
        with(mode(3, "retired"), "Status", "deprecated"),
    ])
    .unwrap()
    .catalog_block();
    assert!(block.starts_with("[MODE_CATALOG]\n") && block.contains("`agent_change_mode`"), "{block}");
    assert!(block.contains("\n- `general`: A mode (default). When it fits."), "{block}");
    assert!(block.contains("\n- `trial`: A mode (experimental). When it fits."), "{block}");
    assert!(!block.contains("retired"), "{block}");
}

#[test]
fn largest_catalog_block_is_bounded() {
    let modes: Vec<Value> = (1..=32)
        .map(|n| {
            let key = format!("m{n:0>width$}", width = definition::MAX_KEY_CHARS - 1);
            let mode = with(mode(n, &key), "DisplayName", "d".repeat(definition::MAX_DISPLAY_NAME_CHARS));
            with(mode, "WhenToUse", "w".repeat(definition::MAX_WHEN_TO_USE_CHARS))
        })
        .collect();
    assert_eq!(modes.len(), check::MAX_MODES);
    assert!(parse(&modes).unwrap().catalog_block().chars().count() <= 20_000);
    let one_more = [modes, vec![mode(33, "one_more")]].concat();
    assert_eq!(parse(&one_more).unwrap_err(), ["modes: must hold at most 32 modes"]);
}

#[test]
fn instructions_name_their_mode_and_end_those_of_others() {
    let catalog = parse(&[
        with(
            with(mode(1, "general"), "ModeInstructions", json!(["First.\nMore.", "Second."])),
            "HumanRoleHints",
            json!(["They decide."]),
        ),
        mode(2, "bare"),
    ])
    .unwrap();
    assert_eq!(
        catalog.instructions("general").unwrap(),
        "[MODE_INSTRUCTIONS: general]\nThe current mode is A mode. Instructions of other modes no longer \
         apply.\n\nInstructions:\n- First.\n  More.\n- Second.\n\nThe people you work with:\n- They decide."
    );
    let bare = catalog.instructions("bare").unwrap();
    assert!(bare.starts_with("[MODE_INSTRUCTIONS: bare]\n") && bare.ends_with("no longer apply."), "{bare}");
}

#[test]
fn own_modes_replace_built_in_ones_in_their_place_and_follow_the_others() {
    let catalog = parse(&[mode(1, "general"), mode(2, "other")]).unwrap();
    let own = |value: Value| Arc::new(serde_json::from_value::<Mode>(value).unwrap());
    let general = own(with(with(mode(7, "general"), "DisplayName", "Ours"), "IsDefault", false));
    let claims_default = own(with(mode(8, "added"), "IsDefault", true));
    let merged = catalog.with_modes(&[claims_default, general]);
    let keys: Vec<&str> = merged.modes().map(|mode| mode.key.as_str()).collect();
    assert_eq!(keys, ["general", "other", "added"]);
    assert_eq!(merged.default_mode().display_name, "Ours");
    assert_eq!(merged.modes().filter(|mode| mode.is_default).count(), 1);
    assert_eq!(merged.facts("added").modes.len(), 3);
    assert_eq!(catalog.display_name("general"), "A mode", "the built-in catalog stays");
    let many: Vec<_> = (10..50).map(|number| own(mode(number, &format!("m{number}")))).collect();
    assert_eq!(catalog.with_modes(&many).modes().count(), check::MAX_MODES);
}

#[test]
fn own_mode_is_checked_beside_the_other_modes() {
    let faults = |others: &Catalog, value: Value| {
        let mode: Mode = serde_json::from_value(value).unwrap();
        let mut faults = FaultCollector::default();
        others.check_mode(&mode.with_default_id(), TOOLS, "m", &mut faults);
        faults.finish().map_or_else(
            |faults| faults.as_slice().iter().map(ToString::to_string).collect(),
            |()| Vec::<String>::new(),
        )
    };
    let others = parse(&[mode(1, "general"), mode(2, "other")]).unwrap();
    let without_id = with(mode(3, "new"), "Id", "");
    assert_eq!(faults(&others, without_id), Vec::<String>::new());
    assert_eq!(faults(&others, mode(2, "other")), Vec::<String>::new(), "it replaces that one");
    assert_eq!(faults(&others, mode(2, "new")), ["m.Id: the mode \"other\" has this id too"]);
    let default = with(mode(3, "new"), "IsDefault", true);
    assert!(faults(&others, default)[0].starts_with("m.IsDefault: \"general\" is the default mode"));
    let withdrawn = with(mode(1, "general"), "Status", "deprecated");
    assert_eq!(faults(&others, withdrawn), ["m.Status: the default mode must be active"]);
    let active = with(mode(3, "new"), "Deprecated", "Use other.");
    assert_eq!(faults(&others, active), ["m.Deprecated: needs the Status deprecated"]);
    let full: Vec<Value> = (1..=32).map(|number| mode(number, &format!("m{number}"))).collect();
    let full = parse(&full).unwrap();
    assert!(faults(&full, mode(40, "new"))[0].starts_with("m: the org has 32 modes already"));
    assert_eq!(faults(&full, mode(5, "m5")), Vec::<String>::new());
}
