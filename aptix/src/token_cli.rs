//! `aptix token`: prints an API token.

use clap::Args;
use local::token::Identity;

use crate::api_args;
use crate::failure::Failure;
use crate::folder_args::FolderArgs;
use crate::output::print;

#[derive(Debug, Args)]
pub(crate) struct Token {
    /// Org of the user
    #[arg(long, required_unless_present_any = ["stack", "api_url"])]
    org: Option<String>,
    /// User id
    #[arg(long, required_unless_present_any = ["stack", "api_url"])]
    user: Option<String>,
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
    if let Some(access) = api_args::resolve(api_url, stack, None)? {
        return Ok(print(&format!("{}\n", access.token.fetch().await?))?);
    }
    let tokens = local::data_folder::tokens(&folder.data)?;
    let identity = Identity::user(org.unwrap_or_default(), user.unwrap_or_default());
    Ok(print(&format!("{}\n", tokens.sign(&Identity { operator, agent_editor, ..identity })?))?)
}
