//! The page of the settings: docs/settings.md.

use std::fmt::Write as _;

use crate::{
    list::{ALL, FUNCTIONS},
    setting::{Described, Given},
};

/// The page, as Markdown.
pub fn page() -> String {
    let mut page = "\
# Settings

The environment variables that the functions read, each once, at start-up. `template.yaml` sets those that it is said to
set; to set another one, add it to the function's variables there. A wrong value stops the function: its log has one line
`a setting is wrong` for each. Blank is the same as absent. What is for a developer's machine is refused on AWS.

This page is made from `shared/settings/src/list.rs` by `cargo run -p aptix -- settings > docs/settings.md`, and a test
(`shared/settings/src/tests.rs`) compares the two.
"
    .to_owned();
    for (heading, settings) in ALL {
        let _ = write!(
            page,
            "\n## {heading}\n\n| setting | decides | must be | when absent | read by | set by |\n|---|---|---|---|---|---|\n"
        );
        for setting in *settings {
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} | {} | {} |",
                setting.name(),
                setting.meaning(),
                setting.rule(),
                setting.absent(),
                readers(*setting),
                given(*setting),
            );
        }
    }
    page
}

fn readers(setting: &dyn Described) -> String {
    let readers = setting.readers();
    if readers == FUNCTIONS {
        return "all".to_owned();
    }
    let names: Vec<String> = readers.iter().map(|reader| format!("`{reader}`")).collect();
    names.join(", ")
}

fn given(setting: &dyn Described) -> &'static str {
    match setting.given() {
        Given::Template => "`template.yaml`",
        Given::Anyone => "whoever wants another value",
        Given::Developer => "a developer, on a machine of theirs",
        Given::Lambda => "Lambda",
    }
}
