//! `aptix agents apply` and `pull`: agents, conversations and modes as files of a folder, for people who keep them in git.

use std::path::{Path, PathBuf};

use client::Api;
use serde_json::Value;

use super::{
    AGENTS, CONNECTIONS, CONVERSATIONS, Condition, Kind, MODES, NewDocument, WEBHOOKS, all, content, put,
    read, text,
};
use crate::confirmation::is_confirmed;
use crate::failure::{Failure, InvalidOption};
use crate::output::{counted, print};

/// Writes what differs from the files of a folder, after the user has seen the difference.
pub(super) async fn apply(api: &Api, folder: &Path, yes: bool, dry_run: bool) -> Result<String, Failure> {
    let mut changed = Vec::new();
    for file in files(folder)? {
        for document in read(&file, AGENTS, &Condition { if_match: None })? {
            let old = live(api, &document).await?;
            let new = plain(document.kind, &document.content);
            if old == new {
                continue;
            }
            let patch = diffy::create_patch(&old, &new);
            print(&format!("{} {} ({})\n{patch}", document.kind.name, document.id, file.display()))?;
            changed.push(document);
        }
    }
    if changed.is_empty() {
        return Ok("Nothing to change.\n".to_owned());
    }
    let count = counted(changed.len() as u64, "change");
    if dry_run {
        return Ok(format!("{count}, not applied.\n"));
    }
    if !yes && !is_confirmed(&format!("Apply {count}?"), "Pass --yes to apply, or --dry-run.")? {
        return Ok("Nothing was changed.\n".to_owned());
    }
    changed.sort_by_key(|document| document.kind.names_others());
    put(api, changed, &Condition { if_match: None }).await
}

/// Writes the documents of the org into files of a folder.
pub(super) async fn pull(api: &Api, folder: &Path) -> Result<String, Failure> {
    std::fs::create_dir_all(folder)?;
    let mut written = String::new();
    for kind in [AGENTS, CONVERSATIONS, MODES, CONNECTIONS, WEBHOOKS] {
        for document in all(api, kind.paths.list).await? {
            if document.get("IsBuiltIn") == Some(&Value::Bool(true)) {
                continue;
            }
            let id = text(&document, "Id");
            let mut content: Value = serde_json::from_str(&content(api, kind, &id, None).await?)?;
            if let Some(members) = content.as_object_mut() {
                members.insert("Kind".to_owned(), kind.name.into());
            }
            let safe = id.replace(|char: char| !char.is_ascii_alphanumeric() && !"._-".contains(char), "_");
            let path = folder.join(format!("{safe}.{}.json", kind.name));
            std::fs::write(&path, format!("{content:#}\n"))?;
            written += &format!("{}\n", path.display());
        }
    }
    Ok(if written.is_empty() { "Your org has no documents of its own.\n".to_owned() } else { written })
}

/// Returns the JSON files of a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable =
        |error| InvalidOption::new(format!("Can't read the folder {}: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let mut found = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    found.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    found.sort();
    if found.is_empty() {
        return Err(InvalidOption::new(format!("The folder {} has no .json files.", folder.display())).into());
    }
    Ok(found)
}

/// Returns the content of the deployment, or nothing if there is none.
async fn live(api: &Api, document: &NewDocument) -> Result<String, Failure> {
    let Kind { paths, .. } = document.kind;
    match api.call(&client::Request::get(paths.context(&document.id))).await {
        Ok(found) if found.get("IsBuiltIn") == Some(&Value::Bool(true)) => Ok(String::new()),
        Ok(found) => Ok(plain(document.kind, found.get("Content").unwrap_or(&Value::Null))),
        Err(client::Error::Api(error)) if error.code.ends_with("NotFound") => Ok(String::new()),
        Err(error) => Err(error.into()),
    }
}

/// Formats a content with its defaults and without its kind, so that equal contents are equal texts.
fn plain(kind: Kind, content: &Value) -> String {
    let mut content = content.clone();
    if let Some(members) = content.as_object_mut() {
        members.remove("Kind");
    }
    // An invalid content is shown as it is. The API says what is wrong with it.
    let content = local::contexts::with_defaults(kind.name, &content).unwrap_or(content);
    format!("{content:#}\n")
}
