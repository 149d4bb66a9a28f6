//! `aptix sessions`: lists, searches, exports, imports and deletes sessions over the API of any deployment or of the running
//! local cloud.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use client::{Api, Request};
use contracts::id::SessionId;
use contracts::paths;
use serde_json::Value;

use crate::api_args::AccessArgs;
use crate::escape::escape_line;
use crate::failure::{Failure, InvalidOption};
use crate::output::{aligned, counted, print};

/// Most characters of a name in a list.
const MAX_NAME_CHARS: usize = 60;

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List sessions, newest activity first
    List(List),
    /// Print a session as Markdown: its instructions and answers
    Show {
        /// Id of the session
        id: SessionId,
        #[command(flatten)]
        access: AccessArgs,
    },
    /// Print a session as JSON, or all sessions of your org as JSON Lines, in the format of `import`
    Export {
        /// Id of the session [default: every session of your org, as an operator]
        id: Option<SessionId>,
        #[command(flatten)]
        access: AccessArgs,
    },
    /// Restore the sessions of an export in your org, as an operator
    Import {
        /// File of `export`
        file: PathBuf,
        /// Give the sessions new ids
        #[arg(long)]
        new_ids: bool,
        #[command(flatten)]
        access: AccessArgs,
    },
    /// Delete a session; `restore` undoes it until its retention ends
    Delete {
        /// Id of the session
        id: SessionId,
        #[command(flatten)]
        access: AccessArgs,
    },
    /// Restore a deleted session
    Restore {
        /// Id of the session
        id: SessionId,
        #[command(flatten)]
        access: AccessArgs,
    },
}

/// Conditions on the listed sessions.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Words that the sessions contain
    #[arg(long, value_name = "WORDS")]
    search: Option<String>,
    /// Id of an owner or participant
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Status of the last turn: pending, completed or failed
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Most sessions to list
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=100))]
    limit: u8,
    #[command(flatten)]
    access: AccessArgs,
}

pub(crate) async fn run(command: Sessions) -> Result<(), Failure> {
    let text = match command {
        Sessions::List(options) => list(options).await?,
        Sessions::Show { id, access } => show(&access.connect().await?, &id).await?,
        Sessions::Export { id: Some(id), access } => export_one(&access.connect().await?, &id).await?,
        Sessions::Export { id: None, access } => return export_all(&access.connect().await?).await,
        Sessions::Import { file, new_ids, access } => import(file, new_ids, access).await?,
        Sessions::Delete { id, access } => {
            access.connect().await?.call(&Request::delete(paths::SESSION.fill(&id))).await?;
            format!("Deleted {id}. Restore it with `aptix sessions restore {id}`.\n")
        }
        Sessions::Restore { id, access } => {
            let path = format!("{}/restore", paths::SESSION.fill(&id));
            access.connect().await?.call(&Request::post_empty(path)).await?;
            format!("Restored {id}.\n")
        }
    };
    Ok(print(&text)?)
}

async fn list(options: List) -> Result<String, Failure> {
    let List { search, user, status, limit, access } = options;
    let path = if search.is_some() { paths::SEARCH } else { paths::SESSIONS };
    let page_size = limit.to_string();
    let parameters = [("q", search), ("userId", user), ("status", status), ("pageSize", Some(page_size))];
    let parameters: Vec<_> =
        parameters.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
    let page = access.connect().await?.call(&Request::get(path).with_query(&parameters)).await?;
    let items = page.get("Items").and_then(Value::as_array).cloned().unwrap_or_default();
    if items.is_empty() {
        return Ok("No sessions match.\n".to_owned());
    }
    // A search result holds the session beside its matches.
    let rows: Vec<_> = items.iter().map(|item| row(item.get("Session").unwrap_or(item))).collect();
    let more = if page.get("HasMore") == Some(&Value::Bool(true)) { "More with --limit.\n" } else { "" };
    Ok(aligned(&rows, 5) + more)
}

fn row(session: &Value) -> [String; 5] {
    let text = |member: &str| escape_line(session.get(member).and_then(Value::as_str).unwrap_or_default());
    let turns = session.get("TurnCount").and_then(Value::as_u64).unwrap_or_default();
    let date: String = text("LastUpdatedDate").chars().take(16).collect();
    let name: String = text("Name").chars().take(MAX_NAME_CHARS).collect();
    [text("Id"), date.replace('T', " "), counted(turns, "turn"), text("LastTurnStatus"), name]
}

/// Returns the export of a session, which has no envelope.
async fn export_one(api: &Api, id: &SessionId) -> Result<String, Failure> {
    Ok(api.fetch_text(&Request::get(paths::SESSION_EXPORT.fill(id)), "application/json").await?)
}

/// Returns a session as Markdown.
async fn show(api: &Api, id: &SessionId) -> Result<String, Failure> {
    let export: Value = serde_json::from_str(&export_one(api, id).await?)?;
    let text = |value: &Value, path: &str| {
        value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut lines = vec![format!("# {}", escape_line(&text(&export, "/Session/Name")))];
    for turn in export.get("Turns").and_then(Value::as_array).into_iter().flatten() {
        lines.extend(text(turn, "/Turn/InstructionSummary").lines().map(|line| format!("> {line}")));
        lines.push(String::new());
        let payloads = turn.get("Payloads").and_then(Value::as_array);
        let full = payloads.into_iter().flatten().find(|payload| text(payload, "/Kind") == "answer");
        let answers =
            [full.map(|payload| text(payload, "/Text")), Some(text(turn, "/Turn/PartialAnswerSummary"))];
        let answer = answers.into_iter().flatten().find(|answer| !answer.is_empty());
        lines.push(answer.unwrap_or_else(|| format!("*{}*", text(turn, "/Turn/Status/Text"))));
        lines.push(String::new());
    }
    Ok(crate::escape::escape_text(&lines.join("\n")))
}

/// Prints every session of the org, a page at a time.
async fn export_all(api: &Api) -> Result<(), Failure> {
    let mut token = String::new();
    loop {
        let parameters: &[(&str, &str)] =
            if token.is_empty() { &[] } else { &[("continuationToken", &token)] };
        let request = Request::get(paths::EXPORT).with_query(parameters);
        let page = api.fetch_text(&request, "application/x-ndjson").await?;
        let (sessions, end) = page.trim_end().rsplit_once('\n').unwrap_or(("", page.trim_end()));
        let end: Value = serde_json::from_str(end)?;
        if end.get("SessionCount").is_none() {
            return Err("The export was cut off. Run the command again.".into());
        }
        if !sessions.is_empty() {
            print(&format!("{sessions}\n"))?;
        }
        match end.get("ContinuationToken").and_then(Value::as_str) {
            Some(next) => next.clone_into(&mut token),
            None => return Ok(()),
        }
    }
}

/// Sends the sessions of a file one by one, since each request has a size limit.
async fn import(file: PathBuf, new_ids: bool, access: AccessArgs) -> Result<String, Failure> {
    let invalid = |error: &dyn std::fmt::Display| InvalidOption::new(format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(&file).map_err(|error| invalid(&error))?;
    let sessions = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let sessions: Vec<Value> = sessions.collect::<Result<_, _>>().map_err(|error| invalid(&error))?;
    let sessions: Vec<Value> =
        sessions.into_iter().filter(|line| line.get("SessionCount").is_none()).collect();
    let api = access.connect().await?;
    let (mut turns, total) = (0, sessions.len());
    for (number, session) in sessions.into_iter().enumerate() {
        let path = if new_ids { format!("{}?ids=new", paths::IMPORT) } else { paths::IMPORT.to_owned() };
        let result = api.call(&Request::post(path, &session)).await;
        let result =
            result.map_err(|error| format!("{number} of {total} sessions were imported.\n{error}"))?;
        let imported = result.pointer("/Sessions/0/TurnCount").and_then(Value::as_u64);
        turns += imported.unwrap_or_default();
    }
    Ok(format!("Imported {}, {}.\n", counted(total as u64, "session"), counted(turns, "turn")))
}
