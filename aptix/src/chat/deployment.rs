//! Selects the deployment to talk to: a named one, the local cloud that runs on the data folder, or one that is
//! started for the chat.

use std::path::{Path, PathBuf};

use clap::Args;
use client::Api;
use local::token::Identity;
use local::{Cloud, Data, Model, Options};

use crate::api_args::{ApiAccess, ApiArgs, Target, local_token};
use crate::failure::{Failure, InvalidOption};
use crate::folder_args::FolderArgs;
use crate::model_args::ModelArgs;
use crate::serve;

/// Options for the deployment and the caller.
#[derive(Debug, Args)]
pub(crate) struct DeploymentArgs {
    #[command(flatten)]
    api: ApiArgs,
    /// Org of the user, for a local cloud
    #[arg(long, default_value = "acme")]
    org: String,
    /// User id, for a local cloud
    #[arg(long, default_value = "ada")]
    user: String,
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    model: ModelArgs,
}

/// A connected deployment.
pub(crate) struct Deployment {
    pub(crate) api: Api,
    /// A client that may list the modes, if the caller's own may not: an operator's, of a local cloud.
    pub(crate) operator_api: Option<Api>,
    /// Name of the deployment in the first line of the chat.
    pub(crate) name: String,
    pub(crate) started_cloud: StartedCloud,
}

/// The local cloud that was started for the chat, if any.
pub(crate) struct StartedCloud(Option<Cloud>);

impl Deployment {
    pub(crate) async fn open(arguments: DeploymentArgs) -> Result<Self, Failure> {
        let DeploymentArgs { api, org, user, folder, model } = arguments;
        let target = match api.resolve()? {
            Target::Local(target) => target,
            Target::Deployment(ApiAccess { url, token }) => {
                let api = Api::new(&url, token.into_client()).map_err(InvalidOption::new)?;
                let name = api.base().to_owned();
                return Ok(Self { api, operator_api: None, name, started_cloud: StartedCloud(None) });
            }
        };
        let identity = Identity::user(org, user);
        let operator = Identity { operator: true, ..identity.clone() };
        if target.has_token_or_cloud() || folder.has_running()? {
            let found = target.or_find(&folder)?;
            let (url, data) = (found.cloud.api_url.clone(), found.cloud.data.clone());
            let (_, token) = found.access(identity)?;
            let api = Api::new(&url, token)?;
            let operator_api = Some(Api::new(&url, local_token(&data, operator)?)?);
            let name = format!("the local cloud at {url} on {}", data.display());
            return Ok(Self { api, operator_api, name, started_cloud: StartedCloud(None) });
        }
        let data = folder.folder();
        let cloud = serve::start(cloud_options(&data, model.resolve_in(&data).await?)).await?;
        let api = Api::new(cloud.url(), local_token(&data, identity)?)?;
        let operator_api = Some(Api::new(cloud.url(), local_token(&data, operator)?)?);
        let name = format!("a local cloud on {}, which stops with this chat", full_path(&data).display());
        Ok(Self { api, operator_api, name, started_cloud: StartedCloud(Some(cloud)) })
    }

    /// Tells that the chat has started a cloud of its own, which a user in another folder doesn't expect.
    pub(crate) fn started_note(&self) -> Option<String> {
        self.started_cloud.0.as_ref().map(|_| format!("No local cloud was running. This is {}.", self.name))
    }
}

fn full_path(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

impl StartedCloud {
    pub(crate) async fn shutdown(self) {
        if let Some(cloud) = self.0 {
            cloud.shutdown().await;
        }
    }
}

fn cloud_options(data: &Path, model: Model) -> Options {
    let sweep = Some(std::time::Duration::from_secs(60));
    Options {
        data: Data::Folder(PathBuf::from(data)),
        model,
        sweep,
        provider_messages: true,
        ..Options::default()
    }
}
