//! `aptix token`: prints an API token.

use clap::Args;
use local::token::Identity;

use crate::api_args::{self, Target};
use crate::failure::Failure;
use crate::folder_args::FolderArgs;
use crate::output::print;

#[derive(Debug, Args)]
pub(crate) struct Token {
    /// Org of the user
    #[arg(long, default_value = "acme")]
    org: String,
    /// User id
    #[arg(long, default_value = "ada")]
    user: String,
    /// Set the operator claim
    #[arg(long)]
    operator: bool,
    /// Set the agent editor claim
    #[arg(long)]
    agent_editor: bool,
    /// Stack that you are signed in to
    #[arg(long, value_name = "NAME", conflicts_with_all = ["org", "user", "operator", "agent_editor", "data"])]
    stack: Option<String>,
    /// URL of an API that you are signed in to
    #[arg(long, value_name = "URL", conflicts_with_all = ["org", "user", "operator", "agent_editor", "data", "stack"])]
    api_url: Option<String>,
    #[command(flatten)]
    folder: FolderArgs,
}

pub(crate) async fn run(arguments: Token) -> Result<(), Failure> {
    let Token { org, user, operator, agent_editor, stack, api_url, folder } = arguments;
    let data = match api_args::resolve(api_url, stack, None)? {
        Target::Deployment(access) => return Ok(print(&format!("{}\n", access.token.fetch().await?))?),
        Target::Local(target) => target.data_folder(&folder),
    };
    let tokens = local::data_folder::tokens(&data)?;
    let identity = Identity::user(org, user);
    Ok(print(&format!("{}\n", tokens.sign(&Identity { operator, agent_editor, ..identity })?))?)
}
