//! Options that select the API of a deployment, and the caller's token for it.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use client::Api;
use contracts::id::OrgId;
use deployment::{SignIn, Store, TokenSource};
use local::NotRunning;
use local::token::Identity;

use crate::failure::{Failure, InvalidOption, with_sources};
use crate::folder_args::FolderArgs;

/// User of the requests to a local cloud that need no user of their own.
const LOCAL_USER: &str = "ada";

/// Options for the API of a deployment.
#[derive(Debug, Args)]
pub(crate) struct ApiArgs {
    /// URL of the API, from the stack output `ApiUrl`
    #[arg(long, env = "APTIX_URL", value_name = "URL")]
    api_url: Option<String>,
    /// Stack that you are signed in to; takes precedence over the URL
    #[arg(long, value_name = "NAME")]
    stack: Option<String>,
    /// User token [default: the token of `aptix sign-in`]; prefer the environment variable, since others can see the command
    /// line
    #[arg(long, env = "APTIX_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
}

/// Options for the API of a deployment, or else of the running local cloud, as an operator.
#[derive(Debug, Args)]
pub(crate) struct AccessArgs {
    #[command(flatten)]
    api: ApiArgs,
    #[command(flatten)]
    folder: FolderArgs,
    /// Org to work in, for a local cloud
    #[arg(long, default_value = "acme")]
    org: OrgId,
}

impl AccessArgs {
    /// Returns a client of the API.
    pub(crate) async fn connect(self) -> Result<Api, Failure> {
        connect(self.api, &self.folder, &self.org).await
    }
}

/// Returns a client of the named deployment, or else of the local cloud on a folder as an operator of the org.
pub(crate) async fn connect(api: ApiArgs, folder: &FolderArgs, org: &OrgId) -> Result<Api, Failure> {
    if let Some(ApiAccess { url, token }) = api.resolve()? {
        return Ok(Api::new(&url, token.into_client()).map_err(InvalidOption::new)?);
    }
    let Some(url) = running_api_url(&folder.data).await else {
        let not_running = NotRunning::on(&folder.data);
        return Err(format!("{not_running} For another deployment, use --stack or --api-url.").into());
    };
    let identity = Identity { operator: true, ..Identity::user(org.as_str(), LOCAL_USER) };
    Ok(Api::new(&url, local_token(&folder.data, identity)?)?)
}

/// Returns the API URL of the local cloud on a folder, if it is running.
pub(crate) async fn running_api_url(folder: &Path) -> Option<String> {
    let url = local::api_url(folder)?;
    let address = url.strip_prefix("http://")?.to_owned();
    tokio::net::TcpStream::connect(address).await.ok().map(|_| url)
}

/// Returns tokens of a user of the local cloud on a folder.
pub(crate) fn local_token(folder: &Path, identity: Identity) -> Result<client::Token, Failure> {
    let tokens = local::data_folder::tokens(folder)?;
    tokens.sign(&identity)?;
    // Signing succeeded above, so it succeeds again.
    Ok(client::Token::PerRequest(Box::new(move || tokens.sign(&identity).unwrap_or_default())))
}

/// The API of a deployment, and the caller's token.
pub(crate) struct ApiAccess {
    pub(crate) url: String,
    pub(crate) token: ApiToken,
}

/// The caller's token.
#[derive(Clone)]
pub(crate) enum ApiToken {
    /// A token of the command line or the environment.
    Fixed(String),
    /// The tokens of a sign-in.
    SignedIn(Arc<TokenSource>),
}

impl ApiArgs {
    /// Returns the named deployment. `None` if no option names one.
    pub(crate) fn resolve(self) -> Result<Option<ApiAccess>, Failure> {
        resolve(self.api_url, self.stack, self.token)
    }

    /// Returns the named deployment.
    pub(crate) fn require(self) -> Result<ApiAccess, Failure> {
        let access = self.resolve()?;
        access.ok_or_else(|| InvalidOption::new("Name the deployment with --stack or --api-url.").into())
    }
}

/// Returns the deployment that these options name, if any. Without a token, the user must be signed in to it.
pub(crate) fn resolve(
    api_url: Option<String>,
    stack: Option<String>,
    token: Option<String>,
) -> Result<Option<ApiAccess>, Failure> {
    let non_empty = |value: Option<String>| value.filter(|value| !value.is_empty());
    let (api_url, stack, token) = (non_empty(api_url), non_empty(stack), non_empty(token));
    if api_url.is_none() && stack.is_none() {
        return match token {
            Some(_) => {
                Err(InvalidOption::new("A token needs the deployment that it is for: --api-url or --stack.")
                    .into())
            }
            None => Ok(None),
        };
    }
    let url = api_url.filter(|_| stack.is_none());
    if let (Some(url), Some(token)) = (&url, &token) {
        return Ok(Some(ApiAccess { url: url.clone(), token: ApiToken::Fixed(token.clone()) }));
    }
    let store = Store::open()?;
    let sign_in = find(&store, url.as_deref(), stack.as_deref())?;
    let url = sign_in.api_url.clone();
    let token =
        token.map_or_else(|| ApiToken::SignedIn(Arc::new(TokenSource::new(store, sign_in))), ApiToken::Fixed);
    Ok(Some(ApiAccess { url, token }))
}

/// Returns the sign-in to a deployment.
pub(crate) fn find(store: &Store, api_url: Option<&str>, stack: Option<&str>) -> Result<SignIn, Failure> {
    let (found, option) = match (stack, api_url) {
        (Some(stack), _) => (store.find_stack(stack)?, format!("--stack {stack}")),
        (None, Some(url)) => (store.find(url)?, format!("--api-url {url}")),
        (None, None) => {
            return Err(InvalidOption::new("Name the deployment with --stack or --api-url.").into());
        }
    };
    found.ok_or_else(|| {
        InvalidOption::new(format!(
            "You are not signed in. Run `aptix sign-in {option}`, or set APTIX_TOKEN."
        ))
        .into()
    })
}

impl ApiToken {
    /// Returns a valid token.
    pub(crate) async fn fetch(&self) -> Result<String, Failure> {
        match self {
            Self::Fixed(token) => Ok(token.clone()),
            Self::SignedIn(source) => Ok(source.token().await?),
        }
    }

    /// Returns the token for the API's client.
    pub(crate) fn into_client(self) -> client::Token {
        match self {
            Self::Fixed(token) => client::Token::Static(token),
            Self::SignedIn(source) => {
                let source = ApiToken::SignedIn(source).into_console();
                client::Token::Fetch(Box::new(move || source()))
            }
        }
    }

    /// Returns the token for the console's pages.
    pub(crate) fn into_console(self) -> local::console::TokenSource {
        Arc::new(move || {
            let token = self.clone();
            Box::pin(async move { token.fetch().await.map_err(|error| with_sources(error.as_ref())) })
        })
    }
}
