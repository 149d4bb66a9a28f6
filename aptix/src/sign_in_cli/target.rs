//! The deployment to sign in to, and its identity provider.

use deployment::browser::{REDIRECT_PORT, redirect_url};
use deployment::cognito::UserPool;
use deployment::{Aws, Stack, StackError};

use super::SignInArgs;
use crate::failure::{Failure, InvalidOption};

/// A deployment to sign in to.
pub(super) struct Target {
    pub(super) api_url: String,
    pub(super) stack: Option<String>,
    pub(super) provider: IdentityProvider,
}

/// The issuer of a deployment's tokens.
pub(crate) enum IdentityProvider {
    Pool(UserPool),
    Issuer {
        issuer: String,
        client_id: String,
        /// The audiences that the API accepts; empty if they are not known.
        audiences: Vec<String>,
    },
}

impl Target {
    /// Returns the deployment that the options name. A stack's outputs and parameters name its identity provider.
    pub(super) async fn find(arguments: &SignInArgs) -> Result<Self, Failure> {
        let SignInArgs { stack, api_url, user_pool, issuer, client_id, .. } = arguments;
        if let Some(name) = stack {
            let aws = Aws::load().await?;
            let stack = Stack::describe(&aws, name).await?;
            return Ok(Self {
                api_url: base_url(stack.require("ApiUrl")?),
                stack: Some(name.clone()),
                provider: provider_of(&aws, &stack, client_id.as_deref(), &redirect_url(REDIRECT_PORT))?,
            });
        }
        let client_id = client_id.clone().unwrap_or_default();
        let provider = match (user_pool, issuer) {
            (Some(pool), _) => {
                let endpoint = std::env::var("AWS_ENDPOINT_URL").ok().filter(|url| !url.is_empty());
                let pool =
                    UserPool::new(pool, &client_id, endpoint.as_deref()).map_err(InvalidOption::new)?;
                IdentityProvider::Pool(pool)
            }
            (None, Some(issuer)) => {
                IdentityProvider::Issuer { issuer: issuer.clone(), client_id, audiences: Vec::new() }
            }
            (None, None) => return Err(InvalidOption::new("--api-url needs --user-pool or --issuer.").into()),
        };
        Ok(Self { api_url: base_url(api_url.as_deref().unwrap_or_default()), stack: None, provider })
    }
}

/// Returns the identity provider of a stack. `client_id` overrides its client, which needs this redirect.
pub(crate) fn provider_of(
    aws: &Aws,
    stack: &Stack,
    client_id: Option<&str>,
    redirect: &str,
) -> Result<IdentityProvider, Failure> {
    let audiences = stack.token_audiences();
    if let Some(issuer) = stack.oidc_issuer() {
        let client_id = client_id.ok_or_else(|| {
            InvalidOption::new(format!(
                "This stack's tokens come from {issuer}. Name a public client of it with --client-id, whose redirect is {redirect}."
            ))
        })?;
        return Ok(IdentityProvider::Issuer {
            issuer: issuer.to_owned(),
            client_id: client_id.to_owned(),
            audiences,
        });
    }
    let client = client_id.or(stack.output("UserPoolClientId")).or(audiences.first().map(String::as_str));
    let client =
        client.ok_or_else(|| InvalidOption::new("Name a client of the user pool with --client-id."))?;
    let endpoint = aws.has_custom_endpoint().then(|| aws.endpoint("cognito-idp"));
    let pool = UserPool::new(pool_id(stack)?, client, endpoint.as_deref()).map_err(InvalidOption::new)?;
    Ok(IdentityProvider::Pool(pool))
}

/// Returns the id of a stack's user pool.
pub(super) fn pool_id(stack: &Stack) -> Result<&str, StackError> {
    stack.user_pool().map_or_else(|| stack.require("UserPoolId"), Ok)
}

fn base_url(url: &str) -> String {
    url.trim_end_matches('/').to_owned()
}
