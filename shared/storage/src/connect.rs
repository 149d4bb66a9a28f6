//! The SDK's clients, with every wait bounded.

use std::time::Duration;

use aws_config::{BehaviorVersion, retry::RetryConfig, timeout::TimeoutConfig};
use settings::Env;

use crate::{Objects, Queue, Secrets, Table};

/// Where things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The DynamoDB table.
    pub table: String,
    /// The S3 bucket.
    pub bucket: String,
    /// The SQS queue that triggers `turn-finalizer`.
    pub queue_url: String,
    /// Whether objects are addressed as `/bucket/key`, as S3-compatible servers want it.
    pub path_style: bool,
}

impl Settings {
    /// Where things are, as the environment says. What is wrong is named when `env` finishes.
    pub fn read(env: &mut Env) -> Self {
        Self {
            table: env.read(&settings::TABLE_NAME),
            bucket: env.read(&settings::PAYLOAD_BUCKET),
            queue_url: env.read(&settings::FINALIZE_QUEUE_URL),
            path_style: env.read(&settings::PAYLOAD_PATH_STYLE),
        }
    }
}

/// The adapters over one loaded configuration.
#[derive(Debug, Clone)]
pub struct Clients {
    /// Sessions and turns.
    pub table: Table,
    /// Payloads.
    pub objects: Objects,
    /// Announcements.
    pub queue: Queue,
    /// Secrets.
    pub secrets: Secrets,
}

impl Clients {
    /// Loads the AWS configuration of the environment and builds the clients. Connects to nothing.
    pub async fn load(settings: &Settings) -> Self {
        // A thawed connection may be dead, and a turn waits behind each of these calls: so a short
        // time per attempt, and another attempt.
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(2))
            .operation_attempt_timeout(Duration::from_secs(5))
            .operation_timeout(Duration::from_secs(12))
            .build();
        let config = aws_config::defaults(BehaviorVersion::latest())
            .timeout_config(timeouts)
            .retry_config(
                RetryConfig::standard().with_max_attempts(3).with_initial_backoff(Duration::from_millis(50)),
            )
            .load()
            .await;
        let s3 = aws_sdk_s3::config::Builder::from(&config).force_path_style(settings.path_style).build();
        Self {
            table: Table::new(aws_sdk_dynamodb::Client::new(&config), settings.table.clone()),
            objects: Objects::new(aws_sdk_s3::Client::from_conf(s3), settings.bucket.clone()),
            secrets: Secrets::new(aws_sdk_secretsmanager::Client::new(&config)),
            queue: Queue::new(aws_sdk_sqs::Client::new(&config), settings.queue_url.clone()),
        }
    }
}
