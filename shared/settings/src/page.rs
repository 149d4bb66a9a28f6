//! Generates docs/reference/settings.md.

use std::fmt::Write as _;

use crate::{
    list::{ALL, FUNCTIONS},
    setting::{SetBy, SettingInfo},
};

/// Returns the settings reference as Markdown.
pub fn page() -> String {
    let mut page = "\
# Settings

Environment variables that the functions read at startup. `template.yaml` sets some of them. To set another one, add it to
the function's variables there. An invalid value stops the function, and its log has one line `invalid setting` for each
fault. A blank value counts as absent. Settings for developers are refused on AWS.

This page is generated from `shared/settings/src/list.rs` by `cargo run -p aptix -- settings > docs/reference/settings.md`. A
test (`shared/settings/src/tests.rs`) compares the two.
"
    .to_owned();
    for (heading, settings) in ALL {
        let _ = write!(
            page,
            "\n## {heading}\n\n| Setting | Description | Value | Default | Read by | Set by |\n|---|---|---|---|---|---|\n"
        );
        for setting in *settings {
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} | {} | {} |",
                setting.name(),
                setting.description(),
                setting.rule(),
                setting.when_absent(),
                readers(*setting),
                set_by(*setting),
            );
        }
    }
    page
}

fn readers(setting: &dyn SettingInfo) -> String {
    let readers = setting.readers();
    if readers == FUNCTIONS {
        return "all".to_owned();
    }
    let names: Vec<String> = readers.iter().map(|reader| format!("`{reader}`")).collect();
    names.join(", ")
}

fn set_by(setting: &dyn SettingInfo) -> &'static str {
    match setting.set_by() {
        SetBy::Template => "`template.yaml`",
        SetBy::Anyone => "operators, to override the default",
        SetBy::Developer => "developers, on a local machine",
        SetBy::Lambda => "Lambda",
    }
}
