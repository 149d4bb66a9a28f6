//! `aptix sign-in`, `aptix sign-out` and `aptix create-user`.

mod create_user;
mod target;
mod terminal;

use clap::Args;
use deployment::browser::{Authorization, BrowserError, Options, Provider, REDIRECT_PORT, redirect_url};
use deployment::{SignIn, Store};

use crate::api_args;
use crate::failure::{Failure, InvalidOption, with_sources};
use crate::output::print;
pub(crate) use create_user::{CreateUser, create_user};
use target::Target;
pub(crate) use target::{IdentityProvider, provider_of};
use terminal::Terminal;

/// Scopes that are requested of a user pool. Alone, `openid` yields every claim that the client may read.
pub(crate) const POOL_SCOPE: &str = "openid";
/// Scopes that are requested of other providers: an ID token, and a refresh token.
pub(crate) const ISSUER_SCOPE: &str = "openid offline_access";

#[derive(Debug, Args)]
pub(crate) struct SignInArgs {
    /// Stack to sign in to; its outputs are read with your AWS credentials
    #[arg(long, value_name = "NAME", conflicts_with = "api_url")]
    stack: Option<String>,
    /// URL of the API, from the stack output `ApiUrl`; needs no AWS credentials
    #[arg(long, value_name = "URL", requires = "client_id", required_unless_present = "stack")]
    api_url: Option<String>,
    /// Cognito user pool, from the stack output `UserPoolId`
    #[arg(long, value_name = "ID", conflicts_with = "stack", conflicts_with = "issuer")]
    user_pool: Option<String>,
    /// OpenID Connect issuer, for a deployment with `AuthMode=oidc`
    #[arg(long, value_name = "URL", conflicts_with = "stack")]
    issuer: Option<String>,
    /// Client id, from the stack output `UserPoolClientId` or registered with the issuer
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// User name, usually an email address [default: ask for it]
    #[arg(long, value_name = "NAME", conflicts_with = "browser")]
    user: Option<String>,
    /// Sign in on the identity provider's page in the browser, instead of with a password
    #[arg(long)]
    browser: bool,
    /// Port of this machine to which the browser comes back
    #[arg(long, value_name = "PORT", default_value_t = REDIRECT_PORT)]
    port: u16,
    /// Scopes to request in the browser [default: `openid`, and `offline_access` except of a user pool]
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SignOutArgs {
    /// Stack to sign out of
    #[arg(long, value_name = "NAME", conflicts_with = "api_url")]
    stack: Option<String>,
    /// URL of the API to sign out of
    #[arg(long, value_name = "URL", required_unless_present = "stack")]
    api_url: Option<String>,
}

/// Signs in, and stores the tokens.
pub(crate) async fn sign_in(arguments: SignInArgs) -> Result<(), Failure> {
    let store = Store::open()?;
    let target = Target::find(&arguments).await?;
    let Target { api_url, stack, provider } = target;
    let sign_in = match provider {
        IdentityProvider::Pool(pool) if !arguments.browser => {
            let mut terminal = Terminal::new();
            let user = match arguments.user {
                Some(user) => user,
                None => terminal.ask("User: ")?,
            };
            pool.sign_in(&api_url, &user, &mut terminal).await?
        }
        IdentityProvider::Pool(pool) => {
            let provider = Provider::discover(&pool.discovery_url(), Some(&pool.issuer())).await?;
            let scope = arguments.scope.unwrap_or_else(|| POOL_SCOPE.to_owned());
            let client_id = pool.client_id().to_owned();
            // The API accepts the pool's ID tokens only, whose audience is the client.
            let audiences = vec![client_id.clone()];
            in_browser(provider, Options { api_url, client_id, scope, audiences, port: arguments.port })
                .await?
        }
        IdentityProvider::Issuer { issuer, client_id, audiences } => {
            if arguments.user.is_some() {
                return Err(InvalidOption::new(
                    "--user has no effect: this deployment's users sign in in the browser.",
                )
                .into());
            }
            let provider = Provider::discover(&issuer, Some(&issuer)).await?;
            let scope = arguments.scope.unwrap_or_else(|| ISSUER_SCOPE.to_owned());
            in_browser(provider, Options { api_url, client_id, scope, audiences, port: arguments.port })
                .await?
        }
    };
    let sign_in = SignIn { stack, ..sign_in };
    store.save(&sign_in)?;
    Ok(print(&format!("You are signed in to {} as {}.\n", deployment_name(&sign_in), sign_in.user))?)
}

async fn in_browser(provider: Provider, options: Options) -> Result<SignIn, BrowserError> {
    let redirect = redirect_url(options.port);
    let authorization = Authorization::start(provider, options).await?;
    eprintln!(
        "Open this page in a browser on this machine. It comes back to {redirect}.\n\n{}\n",
        authorization.url()
    );
    terminal::open_browser(authorization.url());
    authorization.finish().await
}

/// Revokes the tokens, and deletes them.
pub(crate) async fn sign_out(arguments: SignOutArgs) -> Result<(), Failure> {
    let store = Store::open()?;
    let SignOutArgs { stack, api_url } = arguments;
    let sign_in = api_args::find(&store, api_url.as_deref(), stack.as_deref())?;
    store.remove(&sign_in.api_url)?;
    if let Err(error) = deployment::revoke(&sign_in).await {
        let error = with_sources(&error);
        eprintln!("warning: the sign-in is deleted here, but not revoked: {error}");
    }
    Ok(print(&format!("You are signed out of {}.\n", deployment_name(&sign_in)))?)
}

fn deployment_name(sign_in: &SignIn) -> &str {
    sign_in.stack.as_deref().unwrap_or(&sign_in.api_url)
}
