//! What has to hold for a catalog beyond its shape (ruling: a mode).

use std::collections::HashSet;

use super::{
    Mode, Status,
    wording::{line, passage, snake_case},
};
use crate::{fault::Found, tool::declared};

/// How many modes a catalog may hold; with the limits below it bounds the catalog block (I13).
pub(super) const MAX_MODES: usize = 32;
/// The longest `Key`.
pub(super) const MAX_KEY_CHARS: usize = 64;
/// The longest `DisplayName`.
pub(super) const MAX_DISPLAY_NAME_CHARS: usize = 80;
/// The longest `WhenToUse`.
pub(super) const MAX_WHEN_TO_USE_CHARS: usize = 400;
const MAX_VERSION_CHARS: usize = 32;
const MAX_DESCRIPTION_CHARS: usize = 2_000;
const MAX_LIST_ITEMS: usize = 64;
const MAX_ITEM_CHARS: usize = 2_000;
const MAX_INSTRUCTION_CHARS: usize = 16_000;

/// The rules between modes.
pub(super) fn catalog(modes: &[(String, Mode)], known_tools: &[&str], found: &mut Found) {
    found.unless(modes.len() <= MAX_MODES, "modes", format_args!("must hold at most {MAX_MODES} modes"));
    let (mut ids, mut keys) = (HashSet::new(), HashSet::new());
    let mut default: Option<&str> = None;
    for (at, mode) in modes {
        one(mode, known_tools, at, found);
        let Mode { id, key, .. } = mode;
        found.unless(ids.insert(id), format!("{at}.Id"), format_args!("another mode has the id {id} too"));
        found.unless(
            keys.insert(key),
            format!("{at}.Key"),
            format_args!("another mode has the key {key:?} too"),
        );
        if mode.is_default {
            if let Some(first) = default {
                let what = format_args!("{first:?} is the default mode already; there is exactly one");
                found.add(format!("{at}.IsDefault"), what);
            }
            default = default.or(Some(key));
            found.unless(
                mode.status == Status::Active,
                format!("{at}.Status"),
                "the default mode must be active",
            );
        }
    }
}

/// The rules within a mode.
fn one(mode: &Mode, known_tools: &[&str], at: &str, found: &mut Found) {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let id_fits = mode.id.len() == 32 && mode.id.bytes().all(hex);
    found.unless(id_fits, format!("{at}.Id"), "must be 32 lowercase hex digits");
    snake_case(&mode.key, MAX_KEY_CHARS, &format!("{at}.Key"), found);
    line(&mode.display_name, MAX_DISPLAY_NAME_CHARS, &format!("{at}.DisplayName"), found);
    passage(&mode.description, MAX_DESCRIPTION_CHARS, &format!("{at}.Description"), found);
    line(&mode.when_to_use, MAX_WHEN_TO_USE_CHARS, &format!("{at}.WhenToUse"), found);
    line(&mode.version, MAX_VERSION_CHARS, &format!("{at}.Version"), found);
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
        list(items, &format!("{at}.{name}"), found);
    }
    found.unless(
        mode.rag_scope_hints.len() <= MAX_LIST_ITEMS,
        format!("{at}.RagScopeHints"),
        format_args!("must hold at most {MAX_LIST_ITEMS} items"),
    );
    let told = [&mode.mode_instructions, &mode.behavior_hints, &mode.human_role_hints];
    let told_chars: usize = told.into_iter().flatten().map(|item| item.chars().count()).sum();
    found.unless(
        told_chars <= MAX_INSTRUCTION_CHARS,
        at,
        format_args!("instructions and hints must have at most {MAX_INSTRUCTION_CHARS} characters together"),
    );
    tools(&mode.associated_tool_ids, known_tools, &format!("{at}.AssociatedToolIds"), found);
    declared::of_mode(&mode.client_tools, known_tools, at, found);
}

fn list(items: &[String], at: &str, found: &mut Found) {
    found.unless(items.len() <= MAX_LIST_ITEMS, at, format_args!("must hold at most {MAX_LIST_ITEMS} items"));
    for (n, item) in items.iter().enumerate() {
        passage(item, MAX_ITEM_CHARS, &format!("{at}[{n}]"), found);
    }
}

fn tools(ids: &[String], known: &[&str], at: &str, found: &mut Found) {
    let mut seen = HashSet::new();
    for (n, id) in ids.iter().enumerate() {
        let at = format!("{at}[{n}]");
        found.unless(
            known.contains(&id.as_str()),
            at.as_str(),
            format_args!("no server tool is called {id:?}"),
        );
        found.unless(seen.insert(id), at, format_args!("{id:?} is listed twice"));
    }
}
