//! Which deployment is talked to: one that is named, the local cloud that runs on the data folder, or one that is started
//! for the talk.

use std::path::{Path, PathBuf};

use clap::Args;
use client::{Api, Token};
use local::token::Identity;
use local::{Cloud, Data, Model, Options};

use crate::Failure;
use crate::folder::Folder;
use crate::model_args::ModelArgs;

/// The deployment, and who calls it.
#[derive(Debug, Args)]
pub(crate) struct Reach {
    /// The API's URL, as the stack's output `ApiUrl` says it. Without it: the local cloud on the data folder.
    #[arg(long, env = "APTIX_URL", value_name = "URL", requires = "token")]
    api_url: Option<String>,
    /// A token of a user. Others can see a command line: better only from the environment.
    #[arg(long, env = "APTIX_TOKEN", value_name = "TOKEN", hide_env_values = true, requires = "api_url")]
    token: Option<String>,
    /// The org, in a local cloud.
    #[arg(long, default_value = "acme")]
    org: String,
    /// The user, in a local cloud.
    #[arg(long, default_value = "ada")]
    user: String,
    #[command(flatten)]
    folder: Folder,
    #[command(flatten)]
    model: ModelArgs,
}

/// A deployment that answers.
pub(crate) struct Deployment {
    pub(crate) api: Api,
    /// How it is called in the first line.
    pub(crate) name: String,
    pub(crate) running: Running,
}

/// The cloud that was started for the talk, if any.
pub(crate) struct Running(Option<Cloud>);

impl Deployment {
    pub(crate) async fn open(reach: Reach) -> Result<Self, Failure> {
        let Reach { api_url, token, org, user, folder: Folder { data }, model } = reach;
        if let (Some(url), Some(token)) = (api_url, token) {
            let api = Api::new(&url, Token::Given(token))?;
            return Ok(Self { name: api.base().to_owned(), api, running: Running(None) });
        }
        let identity = Identity::user(org, user);
        if let Some(url) = running(&data).await {
            let api = Api::new(&url, token_of(&data, identity)?)?;
            return Ok(Self { api, name: format!("the local cloud at {url}"), running: Running(None) });
        }
        let cloud = Cloud::start(of_its_own(&data, model.tried().await?)).await?;
        let api = Api::new(cloud.url(), token_of(&data, identity)?)?;
        let name = format!("a local cloud on {}, for as long as this runs", data.display());
        Ok(Self { api, name, running: Running(Some(cloud)) })
    }
}

impl Running {
    pub(crate) async fn end(self) {
        if let Some(cloud) = self.0 {
            cloud.shutdown().await;
        }
    }
}

fn of_its_own(data: &Path, model: Model) -> Options {
    let sweep = Some(std::time::Duration::from_secs(60));
    Options { data: Data::Folder(PathBuf::from(data)), model, sweep, ..Options::default() }
}

/// The API of the local cloud on a folder, if one runs there.
async fn running(folder: &Path) -> Option<String> {
    let url = local::api_url(folder)?;
    let address = url.strip_prefix("http://")?.to_owned();
    tokio::net::TcpStream::connect(address).await.ok().map(|_| url)
}

fn token_of(folder: &Path, identity: Identity) -> Result<Token, Failure> {
    let tokens = local::data_folder::tokens(folder)?;
    tokens.sign(&identity)?;
    // Signing what was signed before does not fail.
    Ok(Token::Made(Box::new(move || tokens.sign(&identity).unwrap_or_default())))
}
