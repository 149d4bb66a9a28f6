//! The clients of all services.

use settings::Env;

use crate::{Ahead, Objects, Queue, Secrets, Table, ahead, environment, http};

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
    /// Builds the clients from what the Lambda service tells in the environment. Connects to nothing.
    ///
    /// Each client parses the rules of all regions' endpoints, some half a million instructions. What every request needs is
    /// made beside the function's start, the rest when it is first used.
    #[must_use]
    pub fn of_environment(settings: &Settings) -> Self {
        tls::read_ahead();
        let pool = http::pool();
        let config = environment::config(pool.clone());
        let table = Ahead::new({
            let config = config.clone();
            move || aws_sdk_dynamodb::Client::new(&config)
        });
        let s3 = aws_sdk_s3::config::Builder::from(&config).force_path_style(settings.path_style);
        let objects = Ahead::new(move || aws_sdk_s3::Client::from_conf(s3.build()));
        let secrets = Ahead::new({
            let config = config.clone();
            move || aws_sdk_secretsmanager::Client::new(&config)
        });
        let queue = Ahead::new(move || aws_sdk_sqs::Client::new(&config));
        let clients = Self {
            table: Table::new(table, settings.table.clone()),
            objects: Objects::new(objects, settings.bucket.clone()),
            secrets: Secrets::new(secrets),
            queue: Queue::new(queue, settings.queue_url.clone()),
        };
        let (table, objects) = (clients.table.client.clone(), clients.objects.client.clone());
        ahead::beside(move || {
            table.make();
            pool.make();
            objects.make();
        });
        clients
    }
}
