//! `aptix agents`: reads, writes and rolls back agents and conversation contexts over the API of any deployment.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use client::{Api, Request};
use contracts::{
    id::SessionId,
    paths::{self, ContextPaths},
};

use crate::api_args::ApiArgs;
use crate::context_calls as calls;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// List the agents of your org
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Print an agent, in the format of `put`
    Show {
        /// Id of the agent; `default` names the built-in one
        id: String,
        /// Number of a version [default: the live one]
        #[arg(long, value_name = "NUMBER")]
        version: Option<u32>,
        #[command(flatten)]
        target: Target,
    },
    /// Validate and write the agents, conversation contexts and modes of a JSON file; turns see them within a minute
    Put {
        /// JSON file with one context or a list of contexts, each with its `Kind`
        file: PathBuf,
        /// Entity tag that the context must have; `list` prints it
        #[arg(long, value_name = "TAG")]
        if_match: Option<String>,
        #[command(flatten)]
        api: ApiArgs,
    },
    /// Delete an agent; its versions stay, and `rollback` restores it
    Delete {
        /// Id of the agent
        id: String,
        /// Entity tag that the agent must have; `list` prints it
        #[arg(long, value_name = "TAG")]
        if_match: Option<String>,
        #[command(flatten)]
        target: Target,
    },
    /// List the versions of an agent, newest first
    Versions {
        /// Id of the agent
        id: String,
        #[command(flatten)]
        target: Target,
    },
    /// Print the difference between two versions of an agent
    Diff {
        /// Id of the agent
        id: String,
        /// Number of the older version
        from: u32,
        /// Number of the newer version [default: the live one]
        to: Option<u32>,
        #[command(flatten)]
        target: Target,
    },
    /// Restore an earlier version of an agent, as a new version
    Rollback {
        /// Id of the agent
        id: String,
        /// Number of the version to restore
        version: u32,
        /// Entity tag that the agent must have; `list` prints it
        #[arg(long, value_name = "TAG")]
        if_match: Option<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Roll out a version to a percentage of sessions
    Rollout {
        /// Id of the agent
        id: String,
        /// Number of the version
        version: u32,
        /// Percentage of the sessions; 0 ends the rollout
        #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
        percent: u8,
        #[command(flatten)]
        target: Target,
    },
    /// Pin a session to a version of its agent; its turns use that version until it is moved
    Pin {
        /// Id of the session
        session: SessionId,
        /// Number of the version; 0 removes the pin
        version: u32,
        #[command(flatten)]
        target: Target,
    },
}

/// The contexts to work on.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Work on conversation contexts in place of agents
    #[arg(long)]
    conversation: bool,
    #[command(flatten)]
    api: ApiArgs,
}

impl Target {
    fn open(self) -> Result<(Api, ContextPaths), Failure> {
        let paths = if self.conversation { paths::CONVERSATION_CONTEXTS } else { paths::AGENTS };
        Ok((calls::open(self.api)?, paths))
    }
}

/// Runs the command and returns its output.
pub(crate) async fn run(command: Agents) -> Result<String, Failure> {
    match command {
        Agents::List { target } => {
            let (api, paths) = target.open()?;
            calls::list(&api, paths).await
        }
        Agents::Show { id, version, target } => {
            let (api, paths) = target.open()?;
            calls::content(&api, paths, &id, version).await
        }
        Agents::Put { file, if_match, api } => {
            calls::put(&calls::open(api)?, &file, if_match.as_deref(), None).await
        }
        Agents::Delete { id, if_match, target } => {
            let (api, paths) = target.open()?;
            calls::delete(&api, paths, &id, if_match.as_deref()).await?;
            Ok(format!("Deleted {id}. Restore it with `aptix agents rollback`.\n"))
        }
        Agents::Versions { id, target } => {
            let (api, paths) = target.open()?;
            calls::versions(&api, paths, &id).await
        }
        Agents::Diff { id, from, to, target } => {
            let (api, paths) = target.open()?;
            calls::diff(&api, paths, &id, from, to).await
        }
        Agents::Rollout { id, version, percent, target } => {
            let (api, paths) = target.open()?;
            let path = paths.rollout(&id).ok_or("These contexts have no rollouts.")?;
            let body = serde_json::json!({ "Version": version, "Percent": percent });
            calls::send(&api, Request::put(path, body.to_string())).await?;
            Ok(format!("Version {version} of {id} is used by {percent} % of the sessions.\n"))
        }
        Agents::Pin { session, version, target } => pin(target, &session, version).await,
        Agents::Rollback { id, version, if_match, target } => {
            let (api, paths) = target.open()?;
            calls::roll_back(&api, paths, &id, version, if_match.as_deref()).await
        }
    }
}

/// Pins a session to a version.
async fn pin(target: Target, session: &SessionId, version: u32) -> Result<String, Failure> {
    let member = if target.conversation { "ConversationContextVersion" } else { "AgentContextVersion" };
    let (api, _) = target.open()?;
    let body = serde_json::json!({ (member): version });
    calls::send(&api, Request::patch(paths::SESSION.fill(session), &body)).await?;
    Ok(match version {
        0 => format!("{session} follows the live version.\n"),
        _ => format!("{session} is pinned to version {version}.\n"),
    })
}
