//! `aptix admin`: operations of operators. Those on an org's sessions go over the API of any deployment, with its access
//! control and its audit lines. Those on the deployment as a whole use AWS credentials, or a local cloud's folder.

mod effects;
mod providers;
mod queues;
mod show;
mod usage_keys;

use clap::{Args, Subcommand};
use client::Request;
use contracts::id::{SessionId, TurnId};
use contracts::paths::{self, SessionPath, TurnPath};
use deployment::{Aws, Stack, page_token_key};
use serde_json::Value;

use crate::api_args::AccessArgs;
use crate::approvals_cli::{List, list};
use crate::documents_cli::{Single, run_single};
use crate::escape::escape_line;
use crate::failure::Failure;
use crate::output::print;
use crate::store_args::{QueueArgs, StoreArgs};
use crate::switch_cli::{SubjectArgs, switch};
use effects::Effects;
use providers::Providers;
use queues::DeadLetters;
use show::Show;
use usage_keys::UsageKeys;

#[derive(Debug, Subcommand)]
pub(crate) enum Admin {
    /// Show the stored state of a turn: phase, attempts, lease, items and objects
    Show(Show),
    /// End an open turn as abandoned, whether or not its work still runs
    Abandon(TurnArgs),
    /// Settle an overdue turn at once, in place of the sweep
    Settle(TurnArgs),
    /// Refuse new turns of your org, or of users, agents and models in it; running turns may finish
    Disable(SubjectArgs),
    /// Accept new turns again
    Enable(SubjectArgs),
    /// The same as `aptix org-settings`
    OrgSettings {
        #[command(subcommand)]
        command: Single,
    },
    /// Close a session to turns, tool results and changes, and cancel its open turn
    Quarantine(SessionArgs),
    /// Release a session from its quarantine
    Release(SessionArgs),
    /// List the calls of tools with an unknown outcome, and resolve them
    Effects {
        #[command(subcommand)]
        command: Effects,
    },
    /// List the calls of tools of your org that wait for an approval
    Approvals {
        #[command(flatten)]
        access: AccessArgs,
    },
    /// Show the depths of the queues and of their dead letters
    Queue(QueueArgs),
    /// List the messages in the dead-letter queues, and redrive or drop them
    DeadLetters {
        #[command(subcommand)]
        command: DeadLetters,
    },
    /// Rotate the key that encrypts page tokens of a stack; earlier tokens stay valid
    RotateKey(RotateKey),
    /// Read or replace the additional model providers in the table
    Providers {
        #[command(subcommand)]
        command: Providers,
    },
    /// Manage the API keys that requests of orgs and users count against
    UsageKeys {
        #[command(subcommand)]
        command: UsageKeys,
    },
    /// Compare every session and turn of a table with the objects of its bucket
    Verify(StoreArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TurnArgs {
    /// Id of the session
    session: SessionId,
    /// Id of the turn
    turn: TurnId,
    #[command(flatten)]
    access: AccessArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// Id of the session
    session: SessionId,
    #[command(flatten)]
    access: AccessArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RotateKey {
    /// Stack whose key is rotated, with your AWS credentials
    #[arg(long, value_name = "NAME")]
    stack: String,
}

/// Runs the command and returns its output.
pub(crate) async fn run(command: Admin) -> Result<String, Failure> {
    match command {
        Admin::Show(arguments) => show::run(arguments).await,
        Admin::Abandon(arguments) => end(arguments, paths::ABANDON).await,
        Admin::Settle(arguments) => end(arguments, paths::SETTLE).await,
        Admin::Disable(arguments) => switch(arguments, true).await,
        Admin::Enable(arguments) => switch(arguments, false).await,
        Admin::OrgSettings { command } => run_single(paths::ORG_SETTINGS, command).await,
        Admin::Quarantine(arguments) => change(arguments, paths::QUARANTINE).await,
        Admin::Release(arguments) => change(arguments, paths::RELEASE).await,
        Admin::Effects { command } => effects::run(command).await,
        Admin::Approvals { access } => list(List { all: true, access }).await,
        Admin::Queue(arguments) => queues::report(arguments).await,
        Admin::DeadLetters { command } => queues::run(command).await,
        Admin::RotateKey(arguments) => rotate_key(arguments).await,
        Admin::Providers { command } => providers::run(command).await,
        Admin::UsageKeys { command } => usage_keys::run(command).await,
        Admin::Verify(arguments) => verify(arguments).await,
    }
}

async fn end(TurnArgs { session, turn, access }: TurnArgs, path: TurnPath) -> Result<String, Failure> {
    let summary = access.connect().await?.call(&Request::post_empty(path.fill(&session, &turn))).await?;
    let text =
        |pointer: &str| escape_line(summary.pointer(pointer).and_then(Value::as_str).unwrap_or_default());
    Ok(format!("{turn} is {} ({}).\n", text("/Status/Id"), text("/StatusReason")))
}

async fn change(SessionArgs { session, access }: SessionArgs, path: SessionPath) -> Result<String, Failure> {
    let summary = access.connect().await?.call(&Request::post_empty(path.fill(&session))).await?;
    Ok(match summary.get("QuarantinedDate").and_then(Value::as_str) {
        Some(since) => format!("{session} is quarantined since {}.\n", escape_line(since)),
        None => format!("{session} is not quarantined.\n"),
    })
}

async fn rotate_key(RotateKey { stack }: RotateKey) -> Result<String, Failure> {
    let aws = Aws::load().await?;
    let stack = Stack::describe(&aws, &stack).await?;
    page_token_key::rotate(&aws, &stack).await?;
    Ok(format!(
        "The stack {name} has a new key for page tokens. Deploy it, with a new value of Revision:\n\
         sam deploy --stack-name {name} --parameter-overrides Revision=VALUE\n\
         Tokens under the previous key stay valid until the next rotation.\n",
        name = stack.name
    ))
}

async fn verify(stores: StoreArgs) -> Result<String, Failure> {
    let stores = stores.open().await?;
    let report = local::verify::run(&stores, |fault| {
        let _ = print(&format!("{fault}\n"));
    })
    .await?;
    let local::verify::Report { sessions, purged, turns, objects, bytes, faults } = report;
    let text = format!(
        "Verified {sessions} sessions with {turns} turns, and {objects} objects of {bytes} bytes. Purged sessions: {purged}."
    );
    match faults {
        0 => Ok(format!("{text} No faults.\n")),
        _ => {
            print(&format!("{text}\n"))?;
            Err(format!("faults found: {faults}").into())
        }
    }
}
