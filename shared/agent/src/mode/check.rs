//! Checks that go beyond a catalog's JSON shape.

use std::{collections::HashSet, sync::Arc};

use super::{
    Mode, Status,
    definition::ID_DIGITS,
    string_check::{check_deprecated, check_line, check_snake_case, check_text},
};
use crate::{fault::FaultCollector, tool::client_tool_check};

/// The maximum number of modes in a catalog. With the limits below it bounds the catalog block (I13).
pub const MAX_MODES: usize = 32;
/// The maximum length of `Key`.
pub(crate) const MAX_KEY_CHARS: usize = 64;
/// The maximum length of `DisplayName`.
pub(super) const MAX_DISPLAY_NAME_CHARS: usize = 80;
/// The maximum length of `WhenToUse`.
pub(super) const MAX_WHEN_TO_USE_CHARS: usize = 400;
const MAX_VERSION_CHARS: usize = 32;
const MAX_DESCRIPTION_CHARS: usize = 2_000;
const MAX_LIST_ITEMS: usize = 64;
const MAX_ITEM_CHARS: usize = 2_000;
const MAX_INSTRUCTION_CHARS: usize = 16_000;

/// Checks a catalog: each mode, and the rules across modes.
pub(super) fn check_catalog(modes: &[(String, Mode)], known_tools: &[&str], faults: &mut FaultCollector) {
    faults.require(modes.len() <= MAX_MODES, "modes", format_args!("must hold at most {MAX_MODES} modes"));
    let (mut ids, mut keys) = (HashSet::new(), HashSet::new());
    let mut default: Option<&str> = None;
    for (at, mode) in modes {
        check_mode(mode, known_tools, at, faults);
        let Mode { id, key, .. } = mode;
        faults.require(ids.insert(id), format!("{at}.Id"), format_args!("another mode has the id {id} too"));
        faults.require(
            keys.insert(key),
            format!("{at}.Key"),
            format_args!("another mode has the key {:?} too", key.as_str()),
        );
        if mode.is_default {
            if let Some(first) = default {
                let what = format_args!("{first:?} is the default mode already; there is exactly one");
                faults.add(format!("{at}.IsDefault"), what);
            }
            default = default.or(Some(key.as_str()));
            faults.require(
                mode.status == Status::Active,
                format!("{at}.Status"),
                "the default mode must be active",
            );
        }
    }
}

/// Checks a mode of an org beside the other modes: the built-in modes, and the modes of the org. It replaces the one of its
/// key.
pub(super) fn check_own_mode(
    mode: &Mode,
    others: &[Arc<Mode>],
    default: &Mode,
    known_tools: &[&str],
    at: &str,
    faults: &mut FaultCollector,
) {
    check_mode(mode, known_tools, at, faults);
    faults.require(
        others.len() < MAX_MODES || others.iter().any(|other| other.key == mode.key),
        at,
        format_args!("the org has {MAX_MODES} modes already, with the built-in ones. Delete one first"),
    );
    if let Some(other) = others.iter().find(|other| other.key != mode.key && other.id == mode.id) {
        faults.add(format!("{at}.Id"), format_args!("the mode {:?} has this id too", other.key.as_str()));
    }
    let is_default = mode.key == default.key;
    faults.require(
        is_default || !mode.is_default,
        format!("{at}.IsDefault"),
        format_args!(
            "{:?} is the default mode. Name another one in DefaultMode of a conversation context",
            default.key.as_str()
        ),
    );
    faults.require(
        !is_default || mode.status == Status::Active,
        format!("{at}.Status"),
        "the default mode must be active",
    );
}

/// Checks one mode on its own.
fn check_mode(mode: &Mode, known_tools: &[&str], at: &str, faults: &mut FaultCollector) {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let id_fits = mode.id.len() == ID_DIGITS && mode.id.bytes().all(hex);
    faults.require(id_fits, format!("{at}.Id"), "must be 32 lowercase hex digits");
    check_snake_case(mode.key.as_str(), MAX_KEY_CHARS, &format!("{at}.Key"), faults);
    check_line(&mode.display_name, MAX_DISPLAY_NAME_CHARS, &format!("{at}.DisplayName"), faults);
    check_text(&mode.description, MAX_DESCRIPTION_CHARS, &format!("{at}.Description"), faults);
    check_line(&mode.when_to_use, MAX_WHEN_TO_USE_CHARS, &format!("{at}.WhenToUse"), faults);
    check_line(&mode.version, MAX_VERSION_CHARS, &format!("{at}.Version"), faults);
    check_deprecated(mode.deprecated.as_deref(), at, faults);
    faults.require(
        mode.deprecated.is_none() || mode.status == Status::Deprecated,
        format!("{at}.Deprecated"),
        "needs the Status deprecated",
    );
    for (name, items) in [
        ("ModeInstructions", &mode.mode_instructions),
        ("BehaviorHints", &mode.behavior_hints),
        ("HumanRoleHints", &mode.human_role_hints),
        ("ExampleUtterances", &mode.example_utterances),
        ("AssociatedToolIds", &mode.associated_tool_ids),
        ("ToolGroupHints", &mode.tool_group_hints),
        ("StrongSignals", &mode.strong_signals),
        ("WeakSignals", &mode.weak_signals),
    ] {
        check_list(items, &format!("{at}.{name}"), faults);
    }
    faults.require(
        mode.rag_scope_hints.len() <= MAX_LIST_ITEMS,
        format!("{at}.RagScopeHints"),
        format_args!("must hold at most {MAX_LIST_ITEMS} items"),
    );
    let prompt_items = [&mode.mode_instructions, &mode.behavior_hints, &mode.human_role_hints];
    let prompt_chars: usize = prompt_items.into_iter().flatten().map(|item| item.chars().count()).sum();
    faults.require(
        prompt_chars <= MAX_INSTRUCTION_CHARS,
        at,
        format_args!("instructions and hints must have at most {MAX_INSTRUCTION_CHARS} characters together"),
    );
    check_tool_ids(&mode.associated_tool_ids, known_tools, &format!("{at}.AssociatedToolIds"), faults);
    client_tool_check::check_mode_tools(&mode.client_tools, known_tools, at, faults);
}

fn check_list(items: &[String], at: &str, faults: &mut FaultCollector) {
    faults.require(
        items.len() <= MAX_LIST_ITEMS,
        at,
        format_args!("must hold at most {MAX_LIST_ITEMS} items"),
    );
    for (n, item) in items.iter().enumerate() {
        check_text(item, MAX_ITEM_CHARS, &format!("{at}[{n}]"), faults);
    }
}

fn check_tool_ids(ids: &[String], known_tools: &[&str], at: &str, faults: &mut FaultCollector) {
    let mut ids_seen = HashSet::new();
    for (n, id) in ids.iter().enumerate() {
        let at = format!("{at}[{n}]");
        faults.require(
            known_tools.contains(&id.as_str()),
            at.as_str(),
            format_args!("no server tool is called {id:?}"),
        );
        faults.require(ids_seen.insert(id), at, format_args!("{id:?} is listed twice"));
    }
}
