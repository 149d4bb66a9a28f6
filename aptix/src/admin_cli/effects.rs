//! `aptix admin effects`: the calls of tools whose outcome is unknown.

use std::fmt::Write;

use clap::{Args, Subcommand, ValueEnum};
use client::Request;
use contracts::id::{SessionId, TurnId};
use contracts::paths;
use contracts::read::{ListResponse, UnknownEffect};
use serde_json::{Value, json};

use crate::api_args::AccessArgs;
use crate::escape::escape_line;
use crate::failure::Failure;

/// The most calls on a page of the API.
const PAGE_SIZE: &str = "100";

#[derive(Debug, Subcommand)]
pub(crate) enum Effects {
    /// List the calls that were sent and have no result, oldest first
    List {
        #[command(flatten)]
        access: AccessArgs,
    },
    /// Record what a look at the target has shown; an equal call of the session may be sent from then on
    Resolve(Resolve),
}

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// Id of the session
    session: SessionId,
    /// Id of the turn
    turn: TurnId,
    /// Id of the call, as the list has it
    effect: String,
    /// What the target has done
    #[arg(value_enum)]
    outcome: Finding,
    /// Line for the audit log, such as the number of a ticket
    #[arg(long)]
    note: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Finding {
    /// The target performed the call
    Performed,
    /// The target did not perform the call
    NotPerformed,
}

/// Runs the command and returns its output.
pub(crate) async fn run(command: Effects) -> Result<String, Failure> {
    match command {
        Effects::List { access } => list(access).await,
        Effects::Resolve(resolve) => resolve.run().await,
    }
}

async fn list(access: AccessArgs) -> Result<String, Failure> {
    let (api, mut text, mut token) = (access.connect().await?, String::new(), None::<String>);
    loop {
        let mut query = vec![("pageSize", PAGE_SIZE)];
        query.extend(token.as_deref().map(|token| ("continuationToken", token)));
        let page = api.call(&Request::get(paths::EFFECTS).with_query(&query)).await?;
        let page: ListResponse<UnknownEffect> = serde_json::from_value(page)?;
        for effect in page.items {
            writeln!(
                text,
                "{}  {}\n  {} {} {}\n  key {}",
                escape_line(&effect.creation_date),
                escape_line(&effect.tool),
                effect.session_id,
                effect.turn_id,
                escape_line(&effect.effect_id),
                escape_line(&effect.key),
            )?;
        }
        token = page.continuation_token;
        if token.is_none() {
            break;
        }
    }
    Ok(if text.is_empty() { "No call has an unknown outcome.\n".to_owned() } else { text })
}

impl Resolve {
    async fn run(self) -> Result<String, Failure> {
        let Self { session, turn, effect, outcome, note, access } = self;
        let outcome = match outcome {
            Finding::Performed => "performed",
            Finding::NotPerformed => "not_performed",
        };
        let mut body = json!({ "EffectId": effect, "Outcome": outcome });
        if let (Value::Object(body), Some(note)) = (&mut body, note) {
            body.insert("Note".to_owned(), note.into());
        }
        let request = Request::post(paths::RESOLVE_EFFECT.fill(&session, &turn), &body);
        let resolved: UnknownEffect = serde_json::from_value(access.connect().await?.call(&request).await?)?;
        let tool = escape_line(&resolved.tool);
        Ok(format!("The call of {tool} is resolved. {session} may make an equal one.\n"))
    }
}
