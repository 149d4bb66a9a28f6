//! Reads and writes agents, conversation contexts and modes over the API of any deployment.

use std::path::Path;

use client::{Api, Request};
use contracts::paths::{self, ContextPaths};
use serde_json::Value;

use crate::api_args::{ApiAccess, ApiArgs};
use crate::escape::escape_line;
use crate::failure::{Failure, InvalidOption};

/// Returns the client of a deployment.
pub(crate) fn open(api: ApiArgs) -> Result<Api, Failure> {
    let ApiAccess { url, token } = api.require()?;
    Ok(Api::new(&url, token.into_client()).map_err(InvalidOption::new)?)
}

/// Lists all contexts, one line each.
pub(crate) async fn list(api: &Api, paths: ContextPaths) -> Result<String, Failure> {
    Ok(all(api, paths.list).await?.iter().map(list_line).collect())
}

/// Lists the versions of a context, one line each.
pub(crate) async fn versions(api: &Api, paths: ContextPaths, id: &str) -> Result<String, Failure> {
    Ok(all(api, &paths.versions(id)).await?.iter().map(version_line).collect())
}

/// Returns the difference between two versions of a context. Without the second, the first is compared with the live one.
pub(crate) async fn diff(
    api: &Api,
    paths: ContextPaths,
    id: &str,
    from: u32,
    to: Option<u32>,
) -> Result<String, Failure> {
    let old = content(api, paths, id, Some(from)).await?;
    let new = content(api, paths, id, to).await?;
    Ok(diffy::create_patch(&old, &new).to_string())
}

/// Deletes a context.
pub(crate) async fn delete(
    api: &Api,
    paths: ContextPaths,
    id: &str,
    if_match: Option<&str>,
) -> Result<(), Failure> {
    send(api, with_condition(Request::delete(paths.context(id)), if_match)).await.map(|_| ())
}

/// Restores a version of a context.
pub(crate) async fn roll_back(
    api: &Api,
    paths: ContextPaths,
    id: &str,
    version: u32,
    if_match: Option<&str>,
) -> Result<String, Failure> {
    let request = Request::post(paths.rollback(id), &serde_json::json!({ "Version": version }));
    let written = send(api, with_condition(request, if_match)).await?;
    Ok(format!("{id} is live with the content of version {version}, as {}.\n", tag(&written)))
}

/// Writes each context of a file. `kind` applies to contexts without `Kind`.
pub(crate) async fn put(
    api: &Api,
    file: &Path,
    if_match: Option<&str>,
    kind: Option<&str>,
) -> Result<String, Failure> {
    let contexts = match local::json_file::read(file)? {
        Value::Array(contexts) => contexts,
        context => vec![context],
    };
    if if_match.is_some() && contexts.len() != 1 {
        return Err(InvalidOption::new("--if-match needs a file with one context.").into());
    }
    let targets = contexts.iter().enumerate().map(|(number, context)| target(number, context, kind));
    // Checked before anything is written.
    let mut targets = targets.collect::<Result<Vec<_>, _>>()?;
    // The others may name the modes.
    targets.sort_by_key(|target| !target.is_mode);
    let mut written = String::new();
    for Target { path, id, content, .. } in targets {
        let request = Request::put(path, content.to_string());
        let result = send(api, with_condition(request, if_match)).await;
        let result = result.map_err(|error| format!("{written}{id} was not written.\n{error}"))?;
        written += &format!("Saved {id} as {}.\n", tag(&result));
    }
    Ok(written)
}

/// A context of a file, and the path that it is written to.
struct Target<'a> {
    path: String,
    id: &'a str,
    is_mode: bool,
    content: &'a Value,
}

fn target<'a>(number: usize, content: &'a Value, kind: Option<&'a str>) -> Result<Target<'a>, String> {
    let member = |name: &str| content.get(name).and_then(Value::as_str);
    let (paths, id, is_mode) = match member("Kind").or(kind) {
        Some("agent") => (paths::AGENTS, "Id", false),
        Some("conversation") => (paths::CONVERSATION_CONTEXTS, "Id", false),
        Some("mode") => (paths::MODES, "Key", true),
        _ => {
            return Err(format!(
                "contexts[{number}]: must be an object whose Kind is \"agent\", \"conversation\" or \"mode\""
            ));
        }
    };
    let id = member(id).ok_or_else(|| format!("contexts[{number}]: needs a member {id}"))?;
    Ok(Target { path: paths.context(id), id, is_mode, content })
}

fn with_condition(request: Request, if_match: Option<&str>) -> Request {
    match if_match {
        Some(tag) => request.if_match(tag),
        None => request,
    }
}

/// Sends a request. An error has a line for each problem.
pub(crate) async fn send(api: &Api, request: Request) -> Result<Value, Failure> {
    api.call(&request).await.map_err(|error| match error {
        client::Error::Api(error) => {
            let lines =
                std::iter::once(error.to_string()).chain(error.others.iter().map(ToString::to_string));
            lines.collect::<Vec<_>>().join("\n").into()
        }
        error => error.into(),
    })
}

/// Returns the items of all pages of a list.
async fn all(api: &Api, path: &str) -> Result<Vec<Value>, Failure> {
    let (mut items, mut page) = (Vec::new(), path.to_owned());
    loop {
        let mut found = send(api, Request::get(page)).await?;
        if let Some(Value::Array(more)) = found.get_mut("Items").map(Value::take) {
            items.extend(more);
        }
        match found.get("ContinuationToken").and_then(Value::as_str) {
            Some(token) => page = format!("{path}?continuationToken={token}"),
            None => return Ok(items),
        }
    }
}

/// Returns the content of a version, or else of the live one, as indented JSON.
pub(crate) async fn content(
    api: &Api,
    paths: ContextPaths,
    id: &str,
    version: Option<u32>,
) -> Result<String, Failure> {
    let path = version.map_or_else(|| paths.context(id), |version| paths.version(id, version));
    let found = send(api, Request::get(path)).await?;
    let content = found.get("Content").ok_or_else(|| format!("This version deleted {id}."))?;
    Ok(format!("{content:#}\n"))
}

fn list_line(context: &Value) -> String {
    let is_built_in = context.get("IsBuiltIn") == Some(&Value::Bool(true));
    let tag = if is_built_in { "built-in".to_owned() } else { tag(context) };
    let note = if context.get("Deprecated").is_some() { " (deprecated)" } else { "" };
    format!("{:<24}  {tag:<24}  {}{note}\n", text(context, "Id"), text(context, "Name"))
}

fn version_line(version: &Value) -> String {
    let number = version.get("Version").and_then(Value::as_u64).unwrap_or_default();
    let by = version.get("CreatedBy").map(|by| text(by, "Id")).unwrap_or_default();
    let note = match (version.get("IsDeletion"), version.get("RestoredVersion")) {
        (Some(Value::Bool(true)), _) => "deleted".to_owned(),
        (_, Some(restored)) => format!("restores {restored}"),
        _ => String::new(),
    };
    let line = format!("{number:>4}  {}  {by:<24}  {note}", text(version, "CreationDate"));
    format!("{}\n", line.trim_end())
}

fn tag(context: &Value) -> String {
    text(context, "ETag")
}

fn text(value: &Value, member: &str) -> String {
    escape_line(value.get(member).and_then(Value::as_str).unwrap_or_default())
}
