//! Options that select the API of a deployment, and the caller's token for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use client::Api;
use contracts::id::OrgId;
use deployment::{SignIn, Store, TokenSource};
use local::registry::{self, RunningCloud};
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
    let identity = Identity { operator: true, ..Identity::user(org.as_str(), LOCAL_USER) };
    let (url, token) = match api.resolve()? {
        Target::Deployment(ApiAccess { url, token }) => (url, token.into_client()),
        Target::Local(found) => found.or_find(folder)?.access(identity)?,
    };
    Ok(Api::new(&url, token).map_err(InvalidOption::new)?)
}

/// The deployment that options name.
pub(crate) enum Target {
    Deployment(ApiAccess),
    Local(LocalTarget),
}

/// A local cloud: the one at the URL that the options name, or the one to find, and the token of the options.
pub(crate) struct LocalTarget {
    cloud: Option<RunningCloud>,
    token: Option<String>,
}

impl LocalTarget {
    /// True if an option names the cloud, or a token that a cloud has to accept.
    pub(crate) fn has_token_or_cloud(&self) -> bool {
        self.token.is_some() || self.cloud.is_some()
    }

    /// Returns the data folder, which needs no running cloud.
    pub(crate) fn data_folder(self, folder: &FolderArgs) -> PathBuf {
        self.cloud.map_or_else(|| folder.folder_or_running(), |cloud| cloud.data)
    }

    /// Returns the target with its cloud, which is found if the options name none.
    pub(crate) fn or_find(self, folder: &FolderArgs) -> Result<FoundCloud, Failure> {
        let found = match self.cloud {
            Some(cloud) => cloud,
            None => folder
                .find()
                .map_err(|error| format!("{error}\nFor a deployment, use --stack or --api-url."))?,
        };
        Ok(FoundCloud { cloud: found, token: self.token })
    }
}

/// A running local cloud, and the token of the options.
pub(crate) struct FoundCloud {
    pub(crate) cloud: RunningCloud,
    token: Option<String>,
}

impl FoundCloud {
    /// Returns the URL, and the token of the options or else one of the default user.
    pub(crate) fn user_token(self) -> Result<(String, String), Failure> {
        let Self { cloud, token } = self;
        let new = || Ok(local::data_folder::tokens(&cloud.data)?.sign(&Identity::user("acme", LOCAL_USER))?);
        let token = token.map_or_else(new, Ok::<String, Failure>)?;
        Ok((cloud.api_url, token))
    }

    /// Returns the URL, and the token of the options or else those of a user.
    pub(crate) fn access(self, identity: Identity) -> Result<(String, client::Token), Failure> {
        let token = match self.token {
            Some(token) => client::Token::Static(token),
            None => local_token(&self.cloud.data, identity)?,
        };
        Ok((self.cloud.api_url, token))
    }
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
    /// Returns the named deployment, or the local cloud if no option names one.
    pub(crate) fn resolve(self) -> Result<Target, Failure> {
        resolve(self.api_url, self.stack, self.token)
    }
}

/// Returns the deployment that these options name, or the local cloud. Without a token, the user must be signed in to a
/// deployment. A local cloud needs no sign-in, also if its URL names it.
pub(crate) fn resolve(
    api_url: Option<String>,
    stack: Option<String>,
    token: Option<String>,
) -> Result<Target, Failure> {
    let non_empty = |value: Option<String>| value.filter(|value| !value.is_empty());
    let (api_url, stack, token) = (non_empty(api_url), non_empty(stack), non_empty(token));
    let url = api_url.filter(|_| stack.is_none());
    match (&url, &token) {
        (None, _) if stack.is_none() => return Ok(Target::Local(LocalTarget { cloud: None, token })),
        (Some(url), Some(token)) => {
            let token = ApiToken::Fixed(token.clone());
            return Ok(Target::Deployment(ApiAccess { url: url.clone(), token }));
        }
        _ => {}
    }
    if let Some(cloud) = url.as_deref().and_then(registry::at_url) {
        return Ok(Target::Local(LocalTarget { cloud: Some(cloud), token: None }));
    }
    let store = Store::open()?;
    let sign_in = find(&store, url.as_deref(), stack.as_deref())?;
    let url = sign_in.api_url.clone();
    let token =
        token.map_or_else(|| ApiToken::SignedIn(Arc::new(TokenSource::new(store, sign_in))), ApiToken::Fixed);
    Ok(Target::Deployment(ApiAccess { url, token }))
}

/// Returns the sign-in to a deployment.
pub(crate) fn find(store: &Store, api_url: Option<&str>, stack: Option<&str>) -> Result<SignIn, Failure> {
    let (found, option) = match (stack, api_url) {
        (Some(stack), _) => (store.find_stack(stack)?, format!("--stack {stack}")),
        (None, Some(url)) => (store.find(url)?, format!("--api-url {url} --client-id ID")),
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
