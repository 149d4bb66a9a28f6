//! `aptix admin disable` and `enable`: what the settings of an org disable.

use clap::Args;
use client::{Error, Request};
use contracts::id::OrgId;
use contracts::paths;
use serde_json::{Value, json};

use crate::api_args::{ApiArgs, connect};
use crate::escape::escape_line;
use crate::failure::{Failure, InvalidOption};
use crate::folder_args::FolderArgs;

/// The most tries of a change while others change the settings.
const MAX_TRIES: usize = 5;

/// The subject to disable or enable: the org, unless options name parts of it.
#[derive(Debug, Args)]
pub(crate) struct SubjectArgs {
    /// Id of the org, which must be yours
    org: OrgId,
    /// Id of a user of the org
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Id of an agent of the org; `default` names the built-in one
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Id of a model
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    #[command(flatten)]
    api: ApiArgs,
    #[command(flatten)]
    folder: FolderArgs,
}

/// Disables or enables the org or parts of it, and returns what changed.
pub(crate) async fn switch(arguments: SubjectArgs, disable: bool) -> Result<String, Failure> {
    let SubjectArgs { org, user, agent, model, api, folder } = arguments;
    let api = connect(api, &folder, &org).await?;
    let subjects = [("Users", "user", user), ("Agents", "agent", agent), ("Models", "model", model)];
    let subjects = subjects.into_iter().filter_map(|(list, kind, id)| Some((list, kind, id?)));
    let subjects: Vec<(&str, &str, String)> = subjects.collect();
    for _ in 0..MAX_TRIES {
        let mut settings = api.call(&Request::get(paths::ORG_SETTINGS)).await?;
        let own = settings.get("Org").and_then(Value::as_str).unwrap_or_default();
        if own != org.as_str() {
            let own = escape_line(own);
            let rule = format!("You are an operator of {own}, not of {org}. Sign in to {org}.");
            return Err(InvalidOption::new(rule).into());
        }
        change(&mut settings, &subjects, disable);
        // The entity tag in the settings excludes a change in between.
        match api.call(&Request::put(paths::ORG_SETTINGS, settings.to_string())).await {
            Ok(_) => return Ok(report(&org, &subjects, disable)),
            Err(error @ Error::Api(_)) if error.code() == Some("PreconditionFailed") => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err("Others keep changing the settings. Nothing was changed; try again.".into())
}

/// Changes the subjects in the settings, or the whole org if there are none.
fn change(settings: &mut Value, subjects: &[(&str, &str, String)], disable: bool) {
    let Some(settings) = settings.as_object_mut() else { return };
    let disabled = settings.entry("Disabled").or_insert_with(|| json!({}));
    let Some(disabled) = disabled.as_object_mut() else { return };
    if subjects.is_empty() {
        disabled.insert("Org".to_owned(), disable.into());
    }
    for (list, _, id) in subjects {
        let list = disabled.entry(*list).or_insert_with(|| json!([]));
        let Some(ids) = list.as_array_mut() else { continue };
        ids.retain(|other| other != id);
        if disable {
            ids.push(id.as_str().into());
        }
    }
}

fn report(org: &OrgId, subjects: &[(&str, &str, String)], disable: bool) -> String {
    let state = if disable { "disabled" } else { "enabled" };
    let effect = if disable { "New turns are refused" } else { "New turns are accepted" };
    let names: Vec<String> =
        subjects.iter().map(|(_, kind, id)| format!("{kind} {}", escape_line(id))).collect();
    let subject = if names.is_empty() { format!("org {org}") } else { names.join(", ") };
    format!("{subject}: {state}. {effect} within a minute.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_added_once_and_removed() {
        let mut settings = json!({"Org": "acme", "Disabled": {"Org": false, "Users": ["ada"]}});
        let eve = [("Users", "user", "eve".to_owned()), ("Models", "model", "m".to_owned())];
        change(&mut settings, &eve, true);
        change(&mut settings, &eve, true);
        let disabled = json!({"Org": false, "Users": ["ada", "eve"], "Models": ["m"]});
        assert_eq!(settings["Disabled"], disabled);
        change(&mut settings, &[], true);
        assert_eq!(settings["Disabled"]["Org"], true);
        change(&mut settings, &eve, false);
        assert_eq!(settings["Disabled"], json!({"Org": true, "Users": ["ada"], "Models": []}));
    }
}
