//! The AWS clients.

use settings::Env;

use crate::{Objects, Prewarmed, Queue, Secrets, Table, http, prewarm, sdk_config};

/// Resource names and addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The DynamoDB table.
    pub table: String,
    /// The S3 bucket.
    pub bucket: String,
    /// The SQS queue that triggers `turn-finalizer`.
    pub queue_url: String,
    /// Set if objects are addressed as `/bucket/key`, as S3-compatible servers require.
    pub path_style: bool,
    /// Set if the session list of each org is spread over shards.
    pub shards_lists: bool,
}

impl Settings {
    /// Reads the resources from the environment. `env` reports invalid values when it finishes.
    pub fn read(env: &mut Env) -> Self {
        Self {
            table: env.read(&settings::TABLE_NAME),
            bucket: env.read(&settings::PAYLOAD_BUCKET),
            queue_url: env.read(&settings::FINALIZE_QUEUE_URL),
            path_style: env.read(&settings::PAYLOAD_PATH_STYLE),
            shards_lists: env.read(&settings::SHARDED_SESSION_LISTS),
        }
    }
}

/// The adapters, over one shared configuration.
#[derive(Debug, Clone)]
pub struct Clients {
    /// Sessions and turns.
    pub table: Table,
    /// Payloads.
    pub objects: Objects,
    /// The finalize queue.
    pub queue: Queue,
    /// Secrets.
    pub secrets: Secrets,
}

/// Builds the adapter of a table, without the other clients.
pub async fn load_table(name: &str) -> Table {
    Table::new(aws_sdk_dynamodb::Client::new(&sdk_config::load(http::pool()).await), name.to_owned())
}

impl Clients {
    /// Builds the clients. Opens no connection if the environment has region and credentials, as on Lambda.
    ///
    /// Each client parses the endpoint rules of all regions, about half a million instructions. The clients that
    /// every request needs are built in the background of the function's start, the others on first use.
    pub async fn load(settings: &Settings) -> Self {
        tls::preload_roots();
        let pool = http::pool();
        let config = sdk_config::load(pool.clone()).await;
        let table = Prewarmed::new({
            let config = config.clone();
            move || aws_sdk_dynamodb::Client::new(&config)
        });
        let s3 = aws_sdk_s3::config::Builder::from(&config).force_path_style(settings.path_style);
        let objects = Prewarmed::new(move || aws_sdk_s3::Client::from_conf(s3.build()));
        let credentials = config.credentials_provider();
        let secrets = Prewarmed::new({
            let config = config.clone();
            move || aws_sdk_secretsmanager::Client::new(&config)
        });
        let queue = Prewarmed::new(move || aws_sdk_sqs::Client::new(&config));
        let clients = Self {
            table: Table::new(table, settings.table.clone()).with_sharded_lists(settings.shards_lists),
            objects: Objects::new(objects, settings.bucket.clone()),
            secrets: Secrets::new(secrets).with_credentials(credentials),
            queue: Queue::new(queue, settings.queue_url.clone()),
        };
        let (table, objects) = (clients.table.client.clone(), clients.objects.client.clone());
        prewarm::spawn(move || {
            table.warm();
            pool.warm();
            objects.warm();
        });
        clients
    }
}
