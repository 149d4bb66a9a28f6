//! The services that the functions use, as servers on this machine that speak the real wire protocols.
//!
//! The functions use the regular AWS SDK and Qdrant client, and can't tell the difference.

mod checksum;
mod dynamodb;
mod error;
mod model_provider;
pub(crate) mod provision;
pub(crate) mod qdrant;
mod s3;
mod secrets_manager;
mod signature;
mod sqs;

use std::path::Path;

use crate::data_folder::DataFolder;
use crate::endpoints::Endpoints;
use crate::options::Options;
use crate::service_keys::ServiceKeys;
use dynamodb::DynamoDb;
pub(crate) use error::Error;
use model_provider::ModelProvider;
use provision::{
    DEAD_LETTERS, KNOWLEDGE_DEAD_LETTERS, KNOWLEDGE_QUEUE, QUEUE, TURN_DEAD_LETTERS, TURN_QUEUE,
    WEBHOOK_QUEUE,
};
use qdrant::Qdrant;
use s3::S3;
use secrets_manager::SecretsManager;
use sqs::Sqs;

/// The running services of a cloud. Dropping them stops them.
#[derive(Debug)]
pub(crate) struct Services {
    pub(crate) dynamodb: DynamoDb,
    pub(crate) s3: S3,
    pub(crate) sqs: Sqs,
    pub(crate) secrets: SecretsManager,
    pub(crate) model: ModelProvider,
    pub(crate) qdrant: Qdrant,
}

impl Services {
    /// Starts every service.
    ///
    /// # Errors
    /// Fails if a port, the database or the object store is not available.
    pub(crate) async fn start(
        options: &Options,
        folder: &DataFolder,
        keys: &ServiceKeys,
        executable: &Path,
    ) -> Result<Self, Error> {
        let at = options.service_addresses();
        Ok(Self {
            dynamodb: DynamoDb::start(at.dynamodb, folder.database()?.as_deref(), keys).await?,
            s3: S3::start(at.s3, &folder.objects()?, keys).await?,
            sqs: Sqs::start(at.sqs, keys).await?,
            secrets: SecretsManager::start(at.secrets, folder.root(), keys).await?,
            model: ModelProvider::start(at.model, options).await?,
            qdrant: Qdrant::start(at.qdrant, &options.vectors, folder.vectors(), executable).await?,
        })
    }

    /// Returns the URLs of the services and of an API in front of them.
    pub(crate) fn endpoints(&self, api: String) -> Endpoints {
        let sqs = self.sqs.url();
        Endpoints {
            api,
            dynamodb: self.dynamodb.url().to_owned(),
            s3: self.s3.url().to_owned(),
            sqs: sqs.to_owned(),
            secrets: self.secrets.url().to_owned(),
            finalize_queue: provision::queue_url(sqs, QUEUE),
            dead_letter_queue: provision::queue_url(sqs, DEAD_LETTERS),
            knowledge_queue: provision::queue_url(sqs, KNOWLEDGE_QUEUE),
            knowledge_dead_letter_queue: provision::queue_url(sqs, KNOWLEDGE_DEAD_LETTERS),
            turn_queue: provision::queue_url(sqs, TURN_QUEUE),
            turn_dead_letter_queue: provision::queue_url(sqs, TURN_DEAD_LETTERS),
            webhook_queue: provision::queue_url(sqs, WEBHOOK_QUEUE),
            model: self.model.base_url().to_owned(),
            qdrant: self.qdrant.url().to_owned(),
        }
    }
}
