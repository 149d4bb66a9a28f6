//! `aptix create-user`: an administrator adds a user to the user pool of a stack.

use clap::Args;
use deployment::cognito::Answers;
use deployment::{Aws, NewUser, Stack};

use super::target::pool_id;
use super::terminal::Terminal;
use crate::failure::Failure;
use crate::output::print;

#[derive(Debug, Args)]
pub(crate) struct CreateUser {
    /// Email address, with which the user signs in
    email: String,
    /// Stack whose user pool gets the user; uses your AWS credentials
    #[arg(long, value_name = "NAME")]
    stack: String,
    /// Org of the user
    #[arg(long)]
    org: String,
    /// Display name of the user
    #[arg(long)]
    name: Option<String>,
    /// Make the user an operator
    #[arg(long)]
    operator: bool,
    /// Make the user an agent editor
    #[arg(long)]
    agent_editor: bool,
    /// Ask for the user's password, instead of having Cognito email a temporary one
    #[arg(long)]
    password: bool,
}

/// Creates the user.
pub(crate) async fn create_user(arguments: CreateUser) -> Result<(), Failure> {
    let CreateUser { email, stack, org, name, operator, agent_editor, password } = arguments;
    let aws = Aws::load().await?;
    let stack = Stack::describe(&aws, &stack).await?;
    let pool = pool_id(&stack)?;
    let claim = |parameter: &str, default: &str| stack.parameter(parameter).unwrap_or(default).to_owned();
    let org_claim = claim("OrgClaim", "custom:org");
    let operator_claim = claim("OperatorClaim", "custom:operator");
    let agent_editor_claim = claim("AgentEditorClaim", "custom:agent_editor");
    let mut attributes = vec![(org_claim.as_str(), org.as_str())];
    attributes.extend(name.as_deref().map(|name| ("name", name)));
    attributes.extend(operator.then_some((operator_claim.as_str(), "true")));
    attributes.extend(agent_editor.then_some((agent_editor_claim.as_str(), "true")));
    let user = NewUser { email: &email, attributes: &attributes };
    if password {
        let password = Terminal::new().password()?;
        user.create_with_password(&aws, pool, &password).await?;
        Ok(print(&format!("{email} can sign in to {}.\n", stack.name))?)
    } else {
        user.invite(&aws, pool).await?;
        Ok(print(&format!("{email} gets a temporary password by email.\n"))?)
    }
}
