//! `aptix connections`: the editor of documents, the secret of a connection, a call of one of its tools, and the
//! comparison with its server.

use std::{
    io::{self, IsTerminal, Read},
    path::PathBuf,
};

use clap::Subcommand;
use client::{Api, Request};
use contracts::paths;
use serde_json::{Value, json};

use super::{CONNECTIONS, Documents, Target, run, send, tag, text};
use crate::{
    escape::escape_line,
    failure::{Failure, InvalidOption},
};

/// The longest secret that is read, in bytes.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// Commands on connections.
#[derive(Debug, Subcommand)]
pub(crate) enum Connections {
    #[command(flatten)]
    Document(Documents),
    /// Set the secret of a connection, from standard input or from a prompt without echo
    Secret {
        /// Id of the connection
        id: String,
        #[command(flatten)]
        target: Target,
    },
    /// Call a tool once and print what came back; the call takes effect
    Try {
        /// Tool, such as `tickets.create_ticket`
        tool: String,
        /// Arguments as a JSON object
        #[arg(default_value = "{}")]
        arguments: String,
        #[command(flatten)]
        target: Target,
    },
    /// Compare the tools with those that the server offers, and accept changes
    Refresh {
        /// Id of the connection
        id: String,
        /// Tool whose change is accepted, as the comparison names it; `*` accepts all, the option can be repeated
        #[arg(long, value_name = "TOOL")]
        accept: Vec<String>,
        /// Accept without asking
        #[arg(long, requires = "accept")]
        yes: bool,
        /// OpenAPI document as a JSON file [default: the one at the connection's `DocumentUrl`]
        #[arg(long, value_name = "FILE")]
        document: Option<PathBuf>,
        #[command(flatten)]
        target: Target,
    },
}

/// Prints what the connection's server offers, and accepts changes.
async fn refresh(
    api: &Api,
    id: &str,
    accept: Vec<String>,
    yes: bool,
    file: Option<PathBuf>,
) -> Result<String, Failure> {
    let mut body = json!({});
    if let (Some(file), Value::Object(members)) = (file, &mut body) {
        let document: Value = local::json_file::read(&file)?;
        members.insert("Document".to_owned(), document.to_string().into());
    }
    let compared = send(api, Request::post(paths::connection_refresh(id), &body)).await?;
    if text(&compared, "Outcome") == "unavailable" {
        return Err(text(&compared, "Message").into());
    }
    let shown = differences(&compared);
    if accept.is_empty() {
        let next = format!(
            "Nothing was written. Accept changes with `aptix connections refresh {id} --accept TOOL`.\n"
        );
        return Ok(shown + &next);
    }
    if !yes && io::stdin().is_terminal() {
        eprint!("{shown}Accept {}? [y/N] ", accept.join(", "));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Err("Nothing was written.".into());
        }
    } else if !yes {
        return Err(InvalidOption::new("--accept needs a terminal to ask, or --yes.").into());
    }
    if let Value::Object(members) = &mut body {
        members.insert("Accept".to_owned(), accept.into());
        members.insert("Hash".to_owned(), text(&compared, "Hash").into());
    }
    let request = Request::post(paths::connection_refresh(id), &body).if_match(&tag(&compared));
    let accepted = send(api, request).await?;
    let tools = items(&accepted, "Tools").filter(|tool| tool.get("IsAccepted") == Some(&Value::Bool(true)));
    let names: Vec<String> = tools.map(|tool| text(tool, "Name")).collect();
    Ok(format!("{shown}Accepted {}. Saved {id} as {}.\n", names.join(", "), tag(&accepted)))
}

fn items<'a>(value: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> {
    value.get(member).and_then(Value::as_array).into_iter().flatten()
}

/// Returns a line for each tool, with the difference of a changed one.
fn differences(compared: &Value) -> String {
    let mut shown = String::new();
    for tool in items(compared, "Tools") {
        let hints: Vec<&str> = items(tool, "Hints").filter_map(Value::as_str).collect();
        let hints =
            if hints.is_empty() { String::new() } else { format!(", the server says {}", hints.join(", ")) };
        let (name, change) = (text(tool, "Name"), text(tool, "Change"));
        shown += &format!("{change:<9}  {name}  (class {}{hints})\n", text(tool, "Class"));
        let said = |description: &str, parameters: &str| {
            let lines = tool.get(description).and_then(Value::as_str).unwrap_or_default();
            let schema = tool.get(parameters).map(|schema| format!("{schema:#}")).unwrap_or_default();
            format!("{lines}\n{schema}\n")
        };
        let (new, old) =
            (said("Description", "Parameters"), said("AcceptedDescription", "AcceptedParameters"));
        match change.as_str() {
            "new" => shown += &indented(&new),
            "changed" => shown += &indented(&diffy::create_patch(&old, &new).to_string()),
            _ => {}
        }
    }
    for tool in items(compared, "Excluded") {
        shown += &format!("excluded   {}: {}\n", text(tool, "Name"), text(tool, "Reason"));
    }
    shown
}

/// Returns lines of a server, each behind a margin so that none looks like one of ours.
fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("    {}\n", escape_line(line))).collect()
}

/// Runs a command on connections, and returns its output.
pub(crate) async fn run_connections(command: Connections) -> Result<String, Failure> {
    match command {
        Connections::Document(command) => run(CONNECTIONS, command).await,
        Connections::Secret { id, target } => {
            let (api, _) = target.open(CONNECTIONS).await?;
            let body = json!({ "Value": read_secret(&id)? });
            let stored = send(&api, Request::put(paths::connection_secret(&id), body.to_string())).await?;
            Ok(format!("The secret of {id} is stored. It is sent to {} only.\n", text(&stored, "Host")))
        }
        Connections::Try { tool, arguments, target } => {
            let (id, name) = tool.split_once('.').ok_or_else(|| {
                InvalidOption::new("Name a tool with its connection, such as tickets.create_ticket.")
            })?;
            let (api, _) = target.open(CONNECTIONS).await?;
            let body = json!({ "Tool": name, "ArgumentsJson": arguments });
            let trial = send(&api, Request::post(paths::tool_trial(id), &body)).await?;
            outcome(&trial)
        }
        Connections::Refresh { id, accept, yes, document, target } => {
            let (api, _) = target.open(CONNECTIONS).await?;
            refresh(&api, &id, accept, yes, document).await
        }
    }
}

/// Returns the output of a call. One that wasn't performed, or may not have been, is a failure.
fn outcome(trial: &Value) -> Result<String, Failure> {
    let milliseconds = trial.get("DurationMilliseconds").and_then(Value::as_u64).unwrap_or_default();
    let outcome = text(trial, "Outcome");
    match trial.get("Result") {
        Some(result) if outcome == "done" => Ok(format!("{result:#}\n(done in {milliseconds} ms)\n")),
        _ => Err(format!("{} ({outcome} after {milliseconds} ms)", text(trial, "Message")).into()),
    }
}

fn read_secret(id: &str) -> io::Result<String> {
    if io::stdin().is_terminal() {
        return rpassword::prompt_password(format!("Secret of {id}: "));
    }
    let mut secret = String::new();
    io::stdin().lock().take(MAX_SECRET_BYTES).read_to_string(&mut secret)?;
    Ok(secret.trim_end_matches(['\r', '\n']).to_owned())
}
