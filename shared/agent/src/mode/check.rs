//! Checks of modes beyond the rules of their members.

use std::{collections::HashSet, sync::Arc};

use super::{Mode, Status};
use crate::{fault::FaultCollector, members::Members, tool::client_tool_check};

/// The maximum number of modes in a catalog. With the limits below it bounds the catalog block (I13).
pub const MAX_MODES: usize = 32;
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
    mode.check_members(at, faults);
    faults.require(
        mode.deprecated.is_none() || mode.status == Status::Deprecated,
        format!("{at}.Deprecated"),
        "needs the Status deprecated",
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
