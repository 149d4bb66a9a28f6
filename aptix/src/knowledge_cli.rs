//! `aptix knowledge`: gives documents to the agents of an org, over the API of any deployment or of the running local cloud.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use clap::{Args, Subcommand};
use client::{Api, Request};
use contracts::{
    id::AgentContextId,
    paths::KNOWLEDGE,
    request::limits::{MAX_KNOWLEDGE_BYTES, MAX_KNOWLEDGE_DOCUMENTS},
};
use indexing::walk::walk;
use serde_json::{Value, json};

use crate::api_args::AccessArgs;
use crate::escape::escape_line;
use crate::failure::{Failure, InvalidOption};
use crate::output::{aligned, counted, print};

/// The time between reads of the status of documents.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Statuses that change without another request.
const TRANSIENT: [&str; 3] = ["pending", "indexing", "deleting"];

#[derive(Debug, Subcommand)]
pub(crate) enum Knowledge {
    /// Upload files and folders, and wait until they are indexed; a document of the same name is replaced
    Add(Add),
    /// List the documents with their status
    List {
        /// Print the documents as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        access: AccessArgs,
    },
    /// Print a document's status, attributes and agents as JSON
    Show {
        /// Id or name of the document
        document: String,
        #[command(flatten)]
        access: AccessArgs,
    },
    /// Delete documents, and wait until that is done
    Remove {
        /// Ids or names of the documents
        #[arg(required = true)]
        documents: Vec<String>,
        #[command(flatten)]
        access: AccessArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Files, and folders whose files are uploaded under their paths in the folder
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Attribute that conditions of a `RagScope` may name; may be repeated, also for several values of a key
    #[arg(long = "attribute", value_name = "KEY=VALUE", value_parser = parse_attribute)]
    attributes: Vec<(String, Value)>,
    /// Agents whose turns may have the documents, separated by commas [default: every agent of your org]
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    agents: Vec<AgentContextId>,
    #[command(flatten)]
    access: AccessArgs,
}

/// A file to upload.
struct File {
    name: String,
    location: PathBuf,
}

pub(crate) async fn run(command: Knowledge) -> Result<(), Failure> {
    match command {
        Knowledge::Add(add) => return upload(add).await,
        Knowledge::List { json, access } => {
            let documents = all(&access.connect().await?).await?;
            match json {
                true => print(&format!("{:#}\n", Value::from(documents)))?,
                false => print(&table(&documents))?,
            }
        }
        Knowledge::Show { document, access } => {
            let api = access.connect().await?;
            print(&format!("{:#}\n", find(&api, &document).await?))?;
        }
        Knowledge::Remove { documents, access } => {
            let api = access.connect().await?;
            let mut removed = Vec::with_capacity(documents.len());
            for document in documents {
                let found = find(&api, &document).await?;
                removed.push(api.call(&Request::delete(path(&found))).await?);
            }
            wait(&api, removed).await?;
        }
    }
    Ok(())
}

/// Uploads the files one by one, waits for all of them, and fails if one can't be indexed.
async fn upload(add: Add) -> Result<(), Failure> {
    let Add { paths, attributes, agents, access } = add;
    let files = files(&paths)?;
    let api = access.connect().await?;
    let (mut uploaded, mut failed) = (Vec::with_capacity(files.len()), 0_u64);
    for File { name, location } in files {
        match upload_one(&api, &name, &location, &attributes, &agents).await {
            Ok(document) => uploaded.push(document),
            // The others are uploaded all the same. A failure of the connection ends the command.
            Err(Refused::File(reason)) => {
                failed += 1;
                print(&format!("{}  failed  {reason}\n", escape_line(&name)))?;
            }
            Err(Refused::All(failure)) => return Err(failure),
        }
    }
    failed += wait(&api, uploaded).await?;
    match failed {
        0 => Ok(()),
        failed => Err(format!("{} failed.", counted(failed, "document")).into()),
    }
}

/// The reason that a file was not uploaded.
enum Refused {
    /// It concerns the file.
    File(String),
    /// It concerns every file.
    All(Failure),
}

async fn upload_one(
    api: &Api,
    name: &str,
    location: &Path,
    attributes: &[(String, Value)],
    agents: &[AgentContextId],
) -> Result<Value, Refused> {
    let content =
        std::fs::read(location).map_err(|error| Refused::File(format!("can't be read: {error}")))?;
    if content.len() > MAX_KNOWLEDGE_BYTES {
        return Err(Refused::File(format!(
            "has {} bytes, at most {MAX_KNOWLEDGE_BYTES} are allowed",
            content.len()
        )));
    }
    let body = json!({
        "Name": name,
        "ContentBase64": BASE64_STANDARD.encode(&content),
        "Attributes": grouped(attributes),
        "AgentContextIds": agents,
    });
    match api.call(&Request::post(KNOWLEDGE, &body)).await {
        Ok(document) => Ok(document),
        Err(client::Error::Api(error)) if error.code.starts_with("Member") => {
            Err(Refused::File(error.message))
        }
        Err(error) => Err(Refused::All(error.into())),
    }
}

/// Returns the attributes as the API has them: the values of each key together.
fn grouped(attributes: &[(String, Value)]) -> Vec<Value> {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in attributes {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let values = |key: &str| {
        let of_key = attributes.iter().filter(|(other, _)| other == key);
        of_key.map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    keys.into_iter().map(|key| json!({ "Key": key, "Values": values(key) })).collect()
}

/// Waits until no document changes any more, and prints each one's end. Returns the number of those that failed.
async fn wait(api: &Api, mut documents: Vec<Value>) -> Result<u64, Failure> {
    let mut failed = 0;
    loop {
        let mut waiting = Vec::new();
        for document in documents {
            if TRANSIENT.contains(&text(&document, "Status")) {
                waiting.push(document);
                continue;
            }
            failed += u64::from(text(&document, "Status") == "failed");
            print(&line(&document))?;
        }
        if waiting.is_empty() {
            return Ok(failed);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
        documents = Vec::with_capacity(waiting.len());
        for document in waiting {
            match api.call(&Request::get(path(&document))).await {
                Ok(current) => documents.push(current),
                Err(client::Error::Api(error)) if error.code == "KnowledgeNotFound" => {
                    print(&format!("{}  deleted\n", escape_line(text(&document, "Name"))))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Returns the files to upload. Files of a folder are named by their paths in it, others by their own names.
fn files(paths: &[PathBuf]) -> Result<Vec<File>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let found = walk(path).map_err(|error| {
                InvalidOption::new(format!("Can't read the folder {}: {error}", path.display()))
            })?;
            files.extend(
                found.files.into_iter().map(|file| File { name: file.path, location: file.location }),
            );
        } else if path.is_file() {
            let name = path.file_name().and_then(|name| name.to_str());
            let name =
                name.ok_or_else(|| InvalidOption::new(format!("{} has no UTF-8 name", path.display())))?;
            files.push(File { name: name.to_owned(), location: path.clone() });
        } else {
            return Err(InvalidOption::new(format!("{} is no file and no folder", path.display())).into());
        }
    }
    if files.len() > MAX_KNOWLEDGE_DOCUMENTS {
        let message =
            format!("{} files are too many, an org may have {MAX_KNOWLEDGE_DOCUMENTS}", files.len());
        return Err(InvalidOption::new(message).into());
    }
    Ok(files)
}

/// Returns a document by its id or name.
async fn find(api: &Api, document: &str) -> Result<Value, Failure> {
    let documents = all(api).await?;
    let is_named = |found: &&Value| [text(found, "Id"), text(found, "Name")].contains(&document);
    let found = documents.iter().find(is_named).cloned();
    found.ok_or_else(|| InvalidOption::new(format!("There is no document {document}.")).into())
}

/// Returns all documents.
async fn all(api: &Api) -> Result<Vec<Value>, Failure> {
    let (mut documents, mut token) = (Vec::new(), None::<String>);
    loop {
        let query: Vec<_> =
            [Some(("pageSize", "100")), token.as_deref().map(|token| ("continuationToken", token))]
                .into_iter()
                .flatten()
                .collect();
        let page = api.call(&Request::get(KNOWLEDGE).with_query(&query)).await?;
        documents.extend(page.get("Items").and_then(Value::as_array).cloned().unwrap_or_default());
        token = page.get("ContinuationToken").and_then(Value::as_str).map(str::to_owned);
        if token.is_none() {
            return Ok(documents);
        }
    }
}

fn table(documents: &[Value]) -> String {
    if documents.is_empty() {
        return "Your org has no documents. Add some with `aptix knowledge add`.\n".to_owned();
    }
    let rows: Vec<[String; 5]> = documents.iter().map(row).collect();
    aligned(&rows, 5)
}

fn row(document: &Value) -> [String; 5] {
    let chunks = document.get("Chunks").map(Value::to_string).unwrap_or_default();
    let [id, status, name, reason] =
        ["Id", "Status", "Name", "StatusReason"].map(|member| escape_line(text(document, member)));
    [id, status, chunks, name, reason]
}

/// Returns the line of a document that doesn't change any more.
fn line(document: &Value) -> String {
    let name = escape_line(text(document, "Name"));
    let end = match document.get("Chunks") {
        Some(chunks) => format!("{chunks} chunks"),
        None => escape_line(text(document, "StatusReason")),
    };
    format!("{name}  {}  {end}\n", text(document, "Status"))
}

fn path(document: &Value) -> String {
    format!("{KNOWLEDGE}/{}", text(document, "Id"))
}

fn text<'a>(document: &'a Value, name: &str) -> &'a str {
    document.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Parses `KEY=VALUE`. A value is a whole number, `true` or `false` if it looks like one, and else a text.
fn parse_attribute(argument: &str) -> Result<(String, Value), String> {
    let (key, value) = argument.split_once('=').ok_or("must have the form KEY=VALUE")?;
    let parsed = serde_json::from_str::<Value>(value).ok();
    let parsed = parsed.filter(|parsed| parsed.is_i64() || parsed.is_boolean());
    Ok((key.to_owned(), parsed.unwrap_or_else(|| value.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_typed_and_grouped_by_key() {
        let attributes = ["Team=legal", "Year=2025", "Year=2026", "Public=true", "Ratio=1.5"]
            .map(|argument| parse_attribute(argument).unwrap());
        let expected = json!([
            {"Key": "Team", "Values": ["legal"]}, {"Key": "Year", "Values": [2025, 2026]},
            {"Key": "Public", "Values": [true]}, {"Key": "Ratio", "Values": ["1.5"]},
        ]);
        assert_eq!(Value::from(grouped(&attributes)), expected);
        assert!(parse_attribute("Team").is_err());
    }
}
