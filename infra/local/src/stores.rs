//! The table and the bucket that commands work on, of a running local cloud or of a deployment on AWS.

use std::path::Path;

use agent::model::providers::DeclaredProvider;
use service::providers::IN_TABLE;
use storage::{Clients, Objects, Settings, Table};
use turns::ports::Unavailable;

use crate::discovery::{self, NotRunning};
use crate::services::provision::{BUCKET, TABLE};

/// Variables that replace the endpoint of S3, as for an emulator.
const S3_ENDPOINT_VARIABLES: [&str; 2] = ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"];

/// The table and the bucket of one deployment.
#[derive(Debug, Clone)]
pub struct Stores {
    pub(crate) table: Table,
    pub(crate) objects: Objects,
    /// The setting with the model providers that contexts may name.
    model_providers: String,
    /// True for a local cloud, whose providers may have keys in the environment.
    pub(crate) is_local: bool,
    /// The deployment in error messages.
    pub(crate) place: String,
}

/// A deployment whose table doesn't respond.
#[derive(Debug, thiserror::Error)]
#[error("Can't reach {place}")]
pub struct Unreachable {
    place: String,
    #[source]
    source: Unavailable,
}

/// The resources of a deployment on AWS.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// Name of the table.
    pub table: String,
    /// Name of the bucket; empty if it is not used.
    pub bucket: String,
    /// The setting `MODEL_PROVIDERS`, if the deployment has one.
    pub model_providers: String,
}

/// True if the environment names another endpoint of S3, which may not know buckets by their domain.
pub(crate) fn is_s3_replaced() -> bool {
    S3_ENDPOINT_VARIABLES.iter().any(|name| std::env::var_os(name).is_some())
}

impl Stores {
    /// Names the deployment in the error of its table.
    pub(crate) fn unreachable(&self, source: Unavailable) -> Unreachable {
        Unreachable { place: self.place.clone(), source }
    }

    /// Connects to the local cloud on a data folder.
    ///
    /// # Errors
    /// Fails if none is running.
    pub fn of_local_cloud(folder: &Path) -> Result<Self, NotRunning> {
        let clients = discovery::clients(folder)?;
        Ok(Self {
            table: Table::new(clients.dynamodb, TABLE.to_owned()),
            objects: Objects::new(clients.s3, BUCKET.to_owned()),
            model_providers: discovery::model_providers(folder),
            is_local: true,
            place: format!("the local cloud on the data folder {} (is it running?)", folder.display()),
        })
    }

    /// Connects to a deployment with the AWS credentials of the environment or of a profile.
    pub async fn of_deployment(resources: Resources) -> Self {
        let Resources { table, bucket, model_providers } = resources;
        let place = match bucket.as_str() {
            "" => format!("the table {table}"),
            _ => format!("the table {table} and the bucket {bucket}"),
        };
        let path_style = is_s3_replaced();
        let settings = Settings { table, bucket, queue_url: String::new(), path_style, shards_lists: false };
        let Clients { table, objects, .. } = Clients::load(&settings).await;
        Self { table, objects, model_providers, is_local: false, place }
    }

    /// Returns the model providers that contexts may name.
    pub(crate) async fn providers(&self) -> Result<Vec<DeclaredProvider>, Unavailable> {
        if self.model_providers.trim() == IN_TABLE {
            let stored = self.table.model_providers().await?;
            return Ok(discovery::declared_providers(&stored.unwrap_or_default()));
        }
        Ok(discovery::declared_providers(&self.model_providers))
    }
}
