//! The prompt text about modes: the catalog, and the instructions of one mode.
//!
//! The current mode itself is in each user message as `[MODE: …]`.

use super::{Mode, Status};

const CATALOG: &str = "[MODE_CATALOG]\n\
A mode shapes how you work and which tools you have. `[MODE: key]` in the user's message names the \
current one. When the request clearly calls for another mode, call `agent_change_mode` with its key and \
the reason; otherwise stay. The new mode's instructions hold at once, its tools come with the next turn.\n";

/// Renders the modes that can be chosen, one line each.
pub(super) fn catalog_block<'a>(modes: impl Iterator<Item = &'a Mode>) -> String {
    let mut block = CATALOG.to_owned();
    for mode in modes.filter(|mode| mode.is_offered()) {
        let note = match (mode.is_default, mode.status) {
            (true, _) => " (default)",
            (false, Status::Experimental) => " (experimental)",
            (false, Status::Active | Status::Deprecated) => "",
        };
        let Mode { key, display_name, when_to_use, .. } = mode;
        block += &format!("\n- `{key}`: {display_name}{note}. {when_to_use}");
    }
    block
}

/// Renders one mode's instructions. The text revokes the instructions of other modes, since the provider still has them on a
/// chained request.
pub(super) fn instructions(mode: &Mode) -> String {
    let mut part = format!(
        "[MODE_INSTRUCTIONS: {}]\nThe current mode is {}. Instructions of other modes no longer apply.",
        mode.key, mode.display_name
    );
    for (heading, items) in [
        ("Instructions:", &mode.mode_instructions),
        ("How to behave:", &mode.behavior_hints),
        ("The people you work with:", &mode.human_role_hints),
    ] {
        if items.is_empty() {
            continue;
        }
        part += &format!("\n\n{heading}");
        for item in items {
            // Indent an item's further lines so that they stay part of it.
            part += &format!("\n- {}", item.trim().replace('\n', "\n  "));
        }
    }
    part
}
