//! `aptix connections`: the editor of documents, the secret of a connection, and a call of one of its tools.

use std::io::{self, IsTerminal, Read};

use clap::Subcommand;
use client::Request;
use contracts::paths;
use serde_json::{Value, json};

use super::{CONNECTIONS, Documents, Target, run, send, text};
use crate::failure::{Failure, InvalidOption};

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
