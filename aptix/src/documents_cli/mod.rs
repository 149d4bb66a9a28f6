//! `aptix agents`, `conversations`, `modes`, `connections`, `webhooks`, `budgets` and `org-settings`: one editor of an org's documents, over the API of
//! any deployment or of the running local cloud.

mod apply;
mod connections;
mod webhooks;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use client::{Api, Request};
use contracts::{
    id::SessionId,
    paths::{self, ContextPaths},
};
use serde_json::{Value, json};

use crate::api_args::AccessArgs;
use crate::escape::escape_line;
use crate::failure::{Failure, InvalidOption};
pub(crate) use connections::{Connections, run_connections};
pub(crate) use webhooks::{Webhooks, run_webhooks};

/// A kind of documents with versions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// Value of `Kind` in a document.
    name: &'static str,
    /// Member of a document that has its id.
    id: &'static str,
    command: &'static str,
    paths: ContextPaths,
}

pub(crate) const AGENTS: Kind = Kind { name: "agent", id: "Id", command: "agents", paths: paths::AGENTS };
pub(crate) const CONVERSATIONS: Kind =
    Kind { name: "conversation", id: "Id", command: "conversations", paths: paths::CONVERSATION_CONTEXTS };
pub(crate) const MODES: Kind = Kind { name: "mode", id: "Key", command: "modes", paths: paths::MODES };
pub(crate) const CONNECTIONS: Kind =
    Kind { name: "connection", id: "Id", command: "connections", paths: paths::CONNECTIONS };

pub(crate) const WEBHOOKS: Kind =
    Kind { name: "webhook", id: "Id", command: "webhooks", paths: paths::WEBHOOKS };

impl Kind {
    /// True for documents that name documents of the other kinds, which have to be written first.
    fn names_others(self) -> bool {
        self.name == AGENTS.name || self.name == CONVERSATIONS.name
    }
}

/// Commands on documents with versions.
#[derive(Debug, Subcommand)]
pub(crate) enum Documents {
    /// List id, entity tag and name; the built-in ones that your org has not replaced come last
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Print the content as JSON, in the format of `put`
    #[command(visible_alias = "show")]
    Get {
        /// Id, or key of a mode; `default` names the built-in agent and conversation
        id: String,
        /// Number of a version [default: the live one]
        #[arg(long, value_name = "NUMBER")]
        version: Option<u32>,
        #[command(flatten)]
        target: Target,
    },
    /// Validate and write the contents of a JSON file; turns see them within a minute
    Put {
        /// JSON file with one content or a list; `Kind` (agent, conversation, mode, connection) marks those of another kind
        file: PathBuf,
        #[command(flatten)]
        condition: Condition,
        #[command(flatten)]
        target: Target,
    },
    /// Delete; the versions stay, and `rollback` restores the content
    Delete {
        /// Id, or key of a mode
        id: String,
        #[command(flatten)]
        condition: Condition,
        #[command(flatten)]
        target: Target,
    },
    /// List the versions, newest first
    #[command(visible_alias = "history")]
    Versions {
        /// Id, or key of a mode
        id: String,
        #[command(flatten)]
        target: Target,
    },
    /// Print the difference between two versions
    Diff {
        /// Id, or key of a mode
        id: String,
        /// Number of the older version
        from: u32,
        /// Number of the newer version [default: the live one]
        to: Option<u32>,
        #[command(flatten)]
        target: Target,
    },
    /// Restore an earlier version, as a new version
    Rollback {
        /// Id, or key of a mode
        id: String,
        /// Number of the version to restore
        version: u32,
        #[command(flatten)]
        condition: Condition,
        #[command(flatten)]
        target: Target,
    },
}

/// Commands on agents and conversations.
#[derive(Debug, Subcommand)]
pub(crate) enum Contexts {
    #[command(flatten)]
    Document(Documents),
    /// Roll out a version to a percentage of sessions
    Rollout {
        /// Id
        id: String,
        /// Number of the version
        version: u32,
        /// Percentage of the sessions; 0 ends the rollout
        #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
        percent: u8,
        #[command(flatten)]
        target: Target,
    },
    /// Write the agents, conversations and modes of a folder's JSON files, after showing what changes
    Apply {
        /// Folder with JSON files; `Kind` marks conversations and modes
        folder: PathBuf,
        /// Apply without asking
        #[arg(long, conflicts_with = "dry_run")]
        yes: bool,
        /// Show the changes only
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Write the agents, conversations and modes of your org into JSON files of a folder
    Pull {
        /// Folder of the files
        folder: PathBuf,
        #[command(flatten)]
        target: Target,
    },
    /// Pin a session to a version; its turns use that version until it is moved
    Pin {
        /// Id of the session
        session: SessionId,
        /// Number of the version; 0 removes the pin
        version: u32,
        #[command(flatten)]
        target: Target,
    },
}

/// Commands on a document of which each org has one.
#[derive(Debug, Subcommand)]
pub(crate) enum Single {
    /// Print the document as JSON, in the format of `put`
    #[command(visible_alias = "show")]
    Get {
        #[command(flatten)]
        access: AccessArgs,
    },
    /// Validate the document in a JSON file, and replace your org's document
    Put {
        /// JSON file; an `ETag` in the file must match the stored document
        file: PathBuf,
        #[command(flatten)]
        condition: Condition,
        #[command(flatten)]
        access: AccessArgs,
    },
}

/// The deployment, with the former option for another kind.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The same as `aptix conversations`
    #[arg(long, hide = true)]
    conversation: bool,
    #[command(flatten)]
    access: AccessArgs,
}

/// The state that a document must have.
#[derive(Debug, Args)]
pub(crate) struct Condition {
    /// Entity tag that the document must have, as `list` prints it, or `get` of budgets and settings
    #[arg(long, value_name = "TAG")]
    if_match: Option<String>,
}

impl Condition {
    fn apply(&self, request: Request) -> Request {
        match &self.if_match {
            Some(tag) => request.if_match(tag),
            None => request,
        }
    }
}

impl Target {
    async fn open(self, kind: Kind) -> Result<(Api, Kind), Failure> {
        let kind = match (self.conversation, kind.name) {
            (true, "mode") => return Err(InvalidOption::new("Modes have no --conversation.").into()),
            (true, "connection") => {
                return Err(InvalidOption::new("Connections have no --conversation.").into());
            }
            (true, "webhook") => return Err(InvalidOption::new("Webhooks have no --conversation.").into()),
            (true, _) => CONVERSATIONS,
            (false, _) => kind,
        };
        Ok((self.access.connect().await?, kind))
    }
}

/// Runs a command on agents or conversations, and returns its output.
pub(crate) async fn run_context(kind: Kind, command: Contexts) -> Result<String, Failure> {
    match command {
        Contexts::Document(command) => run(kind, command).await,
        Contexts::Rollout { id, version, percent, target } => {
            let (api, kind) = target.open(kind).await?;
            let path = kind.paths.rollout(&id).ok_or("This kind has no rollouts.")?;
            let body = json!({ "Version": version, "Percent": percent });
            send(&api, Request::put(path, body.to_string())).await?;
            Ok(format!("Version {version} of {id} is used by {percent} % of the sessions.\n"))
        }
        Contexts::Apply { folder, yes, dry_run, target } => {
            apply::apply(&target.open(kind).await?.0, &folder, yes, dry_run).await
        }
        Contexts::Pull { folder, target } => apply::pull(&target.open(kind).await?.0, &folder).await,
        Contexts::Pin { session, version, target } => {
            let (api, kind) = target.open(kind).await?;
            let member =
                if kind.name == AGENTS.name { "AgentContextVersion" } else { "ConversationContextVersion" };
            let body = json!({ (member): version });
            send(&api, Request::patch(paths::SESSION.fill(&session), &body)).await?;
            Ok(match version {
                0 => format!("{session} follows the live version.\n"),
                _ => format!("{session} is pinned to version {version}.\n"),
            })
        }
    }
}

/// Runs a command on documents with versions, and returns its output.
pub(crate) async fn run(kind: Kind, command: Documents) -> Result<String, Failure> {
    match command {
        Documents::List { target } => {
            let (api, kind) = target.open(kind).await?;
            Ok(all(&api, kind.paths.list).await?.iter().map(list_line).collect())
        }
        Documents::Get { id, version, target } => {
            let (api, kind) = target.open(kind).await?;
            content(&api, kind, &id, version).await
        }
        Documents::Put { file, condition, target } => {
            // Read first, so that a wrong file is reported without a deployment.
            let documents = read(&file, kind, &condition)?;
            let (api, _) = target.open(kind).await?;
            put(&api, documents, &condition).await
        }
        Documents::Delete { id, condition, target } => {
            let (api, kind) = target.open(kind).await?;
            send(&api, condition.apply(Request::delete(kind.paths.context(&id)))).await?;
            Ok(format!("Deleted {id}. Restore it with `aptix {} rollback`.\n", kind.command))
        }
        Documents::Versions { id, target } => {
            let (api, kind) = target.open(kind).await?;
            Ok(all(&api, &kind.paths.versions(&id)).await?.iter().map(version_line).collect())
        }
        Documents::Diff { id, from, to, target } => {
            let (api, kind) = target.open(kind).await?;
            let old = content(&api, kind, &id, Some(from)).await?;
            let new = content(&api, kind, &id, to).await?;
            Ok(diffy::create_patch(&old, &new).to_string())
        }
        Documents::Rollback { id, version, condition, target } => {
            let (api, kind) = target.open(kind).await?;
            let request = Request::post(kind.paths.rollback(&id), &json!({ "Version": version }));
            let written = send(&api, condition.apply(request)).await?;
            Ok(format!("{id} is live with the content of version {version}, as {}.\n", tag(&written)))
        }
    }
}

/// Reads or replaces the document at a path, and returns it as text.
pub(crate) async fn run_single(path: &str, command: Single) -> Result<String, Failure> {
    let (request, access) = match command {
        Single::Get { access } => (Request::get(path), access),
        Single::Put { file, condition, access } => {
            let document: Value = local::json_file::read(&file)?;
            (condition.apply(Request::put(path, document.to_string())), access)
        }
    };
    Ok(format!("{:#}\n", send(&access.connect().await?, request).await?))
}

/// A document of a file.
struct NewDocument {
    kind: Kind,
    id: String,
    content: Value,
}

/// Reads the documents of a file. `kind` applies to those without `Kind`.
fn read(file: &Path, kind: Kind, condition: &Condition) -> Result<Vec<NewDocument>, Failure> {
    let contents = match local::json_file::read(file)? {
        Value::Array(contents) => contents,
        content => vec![content],
    };
    if condition.if_match.is_some() && contents.len() != 1 {
        return Err(InvalidOption::new("--if-match needs a file with one document.").into());
    }
    let documents = contents.into_iter().enumerate().map(|(number, content)| {
        let invalid = |rule: &str| Failure::from(format!("{}: [{number}] {rule}", file.display()));
        let is_object = content.is_object();
        let member = |name: &str| content.get(name).and_then(Value::as_str);
        let named = member("Kind").unwrap_or(kind.name);
        let mut kinds = [AGENTS, CONVERSATIONS, MODES, CONNECTIONS, WEBHOOKS].into_iter();
        let kind = kinds.find(|kind| is_object && kind.name == named);
        let kind = kind.ok_or_else(|| {
            invalid(
                "must be an object whose Kind is \"agent\", \"conversation\", \"mode\", \"connection\" or \
                 \"webhook\".",
            )
        })?;
        let id = member(kind.id).ok_or_else(|| invalid(&format!("needs a member {}.", kind.id)))?;
        Ok::<_, Failure>(NewDocument { kind, id: id.to_owned(), content })
    });
    // Checked before anything is written.
    let mut documents = documents.collect::<Result<Vec<_>, _>>()?;
    // Agents and conversations may name modes and connections.
    documents.sort_by_key(|document| document.kind.names_others());
    Ok(documents)
}

async fn put(api: &Api, documents: Vec<NewDocument>, condition: &Condition) -> Result<String, Failure> {
    let mut written = String::new();
    for NewDocument { kind, id, content } in documents {
        let request = condition.apply(Request::put(kind.paths.context(&id), content.to_string()));
        let result = send(api, request).await;
        let result = result.map_err(|error| format!("{written}{id} was not written.\n{error}"))?;
        written += &format!("Saved {id} as {}.\n", tag(&result));
    }
    Ok(written)
}

/// Sends a request. An error has a line for each problem.
async fn send(api: &Api, request: Request) -> Result<Value, Failure> {
    api.call(&request).await.map_err(|error| match error {
        client::Error::Api(error) if !error.others.is_empty() => {
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
async fn content(api: &Api, kind: Kind, id: &str, version: Option<u32>) -> Result<String, Failure> {
    let path = version.map_or_else(|| kind.paths.context(id), |version| kind.paths.version(id, version));
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
