//! `aptix init`: writes a project with an agent and its tools: in code with a test, or those of a server that the service calls.

mod client_files;
mod template;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::{Failure, InvalidOption};
use template::{Language, Names, Project, Template};

/// The longest name of an agent, in characters.
const MAX_NAME_CHARS: usize = 64;
/// The longest id of a connection, in characters.
const MAX_CONNECTION_CHARS: usize = 32;
/// Names of built-in contexts, which an org's own context can't have or would hide.
const RESERVED_NAMES: [&str; 3] = ["default", "last", "workspace"];

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Folder of the project, which is created if it doesn't exist
    pub(crate) folder: PathBuf,
    /// Name of the agent [default: the folder's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What the project has
    #[arg(long, value_name = "TEMPLATE", default_value = "client")]
    pub(crate) template: Project,
    /// Language of a client
    #[arg(long, value_name = "LANGUAGE", default_value = "python")]
    pub(crate) language: Language,
    /// URL of the HTTP API or the MCP server
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

/// Writes the project, and returns the text that names its files and the next command.
///
/// # Errors
/// Fails if the name is invalid, or if one of the files exists already. Nothing is written then.
pub(crate) fn run(arguments: &Init) -> Result<String, Failure> {
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => folder_name(&arguments.folder)?,
    };
    check_name(&name)?;
    let is_client = arguments.template == Project::Client;
    if is_client && arguments.url.is_some() {
        return Err(InvalidOption::new("--url needs --template http-tool or mcp-tool.").into());
    }
    let url = arguments.url.as_deref().unwrap_or(arguments.template.example_url());
    // It becomes a JSON string. The API checks the rest.
    if !url.starts_with("http") || url.contains(['"', '\\']) || url.chars().any(char::is_control) {
        return Err(InvalidOption::new(format!("Invalid URL {url:?}: expected http:// or https://.")).into());
    }
    let names = Names { agent: &name, connection: &connection_name(&name), url };
    let templates = template::of(arguments.template, arguments.language);
    for Template { path, .. } in templates {
        let file = arguments.folder.join(path);
        if file.symlink_metadata().is_ok() {
            return Err(InvalidOption::new(format!(
                "{} exists already. Choose another folder.",
                file.display()
            ))
            .into());
        }
    }
    fs::create_dir_all(&arguments.folder)
        .map_err(|error| format!("can't create {}: {error}", arguments.folder.display()))?;
    let mut text = format!("Created the agent {name} in {}:\n\n", arguments.folder.display());
    for template in templates {
        let file = arguments.folder.join(template.path);
        fs::write(&file, template.render(&names))
            .map_err(|error| format!("can't write {}: {error}", file.display()))?;
        text.push_str(&format!("  {:<16} {}\n", template.path, template.description));
    }
    if is_client {
        client_files::write(&arguments.folder, arguments.language)
            .map_err(|error| format!("can't write the client to {}: {error}", arguments.folder.display()))?;
        text.push_str(&format!(
            "  {:<16} {}\n",
            "vendor", "client for the API, in the version of this program"
        ));
    }
    text.push_str("\nREADME.md has the next steps.\n");
    Ok(text)
}

/// Returns the name of a folder, as the name of an agent.
fn folder_name(folder: &Path) -> Result<String, Failure> {
    // `.` and `..` have a name only as full paths.
    let full = std::path::absolute(folder)?;
    let full = full.canonicalize().unwrap_or(full);
    let name = full.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    Ok(name.replace([' ', '.'], "-"))
}

/// Returns the id of an agent's connection, which has fewer characters: lowercase letters, digits and hyphens, a letter first.
fn connection_name(agent: &str) -> String {
    let plain = agent.replace('_', "-");
    let start = plain.trim_start_matches(|letter: char| !letter.is_ascii_lowercase());
    let id: String = start.chars().take(MAX_CONNECTION_CHARS - "-api".len()).collect();
    if id.is_empty() { "api".to_owned() } else { format!("{}-api", id.trim_end_matches('-')) }
}

/// Checks that a name is a valid id of a context.
fn check_name(name: &str) -> Result<(), InvalidOption> {
    let is_valid =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(is_valid) {
        return Err(InvalidOption::new(format!(
            "Invalid agent name {name:?}: expected up to {MAX_NAME_CHARS} lowercase letters, digits, - and _. Pass --name."
        )));
    }
    if RESERVED_NAMES.contains(&name) {
        return Err(InvalidOption::new(format!("The agent name {name:?} is reserved. Pass another --name.")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
