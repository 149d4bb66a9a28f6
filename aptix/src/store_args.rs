//! Options that select the table, the bucket or the queues that a command works on.

use std::sync::Arc;

use clap::Args;
use deployment::{Aws, Stack, queue_age};
use local::console::QueueSource;
use local::{QueueUrls, Queues, Resources, Stores};

use crate::failure::{Failure, InvalidOption, with_sources};
use crate::folder_args::FolderArgs;

/// Options for the table: a local cloud's, a stack's, or a named table.
#[derive(Debug, Args)]
pub(crate) struct TableArgs {
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
    /// Stack whose table is used, with your AWS credentials
    #[arg(long, value_name = "NAME", conflicts_with_all = ["data", "table"])]
    stack: Option<String>,
    /// DynamoDB table, in place of a stack; the variable `MODEL_PROVIDERS` then names the providers of contexts
    #[arg(long, value_name = "NAME", conflicts_with = "data")]
    table: Option<String>,
}

/// Options for the table and the bucket.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// S3 bucket of the payloads; required with --table
    #[arg(long, value_name = "NAME", requires = "table", conflicts_with = "stack")]
    bucket: Option<String>,
}

impl TableArgs {
    /// Connects to the table.
    pub(crate) async fn open(self) -> Result<Stores, Failure> {
        let Self { folder, stack, table } = self;
        if let Some(table) = table {
            let model_providers = std::env::var(settings::MODEL_PROVIDERS.name).unwrap_or_default();
            let resources = Resources { table, model_providers, ..Resources::default() };
            return Ok(Stores::of_deployment(resources).await);
        }
        match stack {
            Some(stack) => of_stack(&stack).await,
            None => Ok(Stores::of_local_cloud(&folder.find()?.data)?),
        }
    }
}

impl StoreArgs {
    /// True if table and bucket are named one by one, so that they may not belong together.
    pub(crate) fn is_unverified_pair(&self) -> bool {
        self.table.table.is_some()
    }

    /// Connects to the table and the bucket.
    pub(crate) async fn open(self) -> Result<Stores, Failure> {
        let Self { table, bucket } = self;
        match (table.table.clone(), bucket) {
            (Some(table), Some(bucket)) => {
                Ok(Stores::of_deployment(Resources { table, bucket, ..Resources::default() }).await)
            }
            (Some(_), None) => Err(InvalidOption::new("--table needs --bucket.").into()),
            (None, _) => table.open().await,
        }
    }
}

/// Options for the queues and their dead-letter queues.
#[derive(Debug, Args)]
pub(crate) struct QueueArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Stack whose queues are used, with your AWS credentials
    #[arg(long, value_name = "NAME", conflicts_with = "data")]
    stack: Option<String>,
}

/// The queues, with a metric of CloudWatch that SQS doesn't return.
pub(crate) struct OpenQueues {
    pub(crate) queues: Queues,
    /// Age of the oldest message. `None` without recent data, and for a local cloud.
    pub(crate) oldest_message_seconds: Option<u64>,
}

impl QueueArgs {
    /// Connects to the queues.
    pub(crate) async fn open(self) -> Result<OpenQueues, Failure> {
        let Self { folder, stack } = self;
        let Some(name) = stack else {
            let queues = Queues::of_local_cloud(&folder.find()?.data)?;
            return Ok(OpenQueues { queues, oldest_message_seconds: None });
        };
        let aws = Aws::load().await?;
        let stack = Stack::describe(&aws, &name).await?;
        let oldest_message_seconds =
            queue_age::oldest_message_seconds(&aws, stack.require("FinalizeQueueUrl")?).await?;
        Ok(OpenQueues { queues: queues_of(&stack).await?, oldest_message_seconds })
    }
}

/// Returns the function with which a console connects to the queues of a stack, with the AWS credentials of this process.
pub(crate) fn queue_source(stack: String) -> QueueSource {
    Arc::new(move || {
        let stack = stack.clone();
        Box::pin(async move {
            let opened = async {
                let stack = Stack::describe(&Aws::load().await?, &stack).await?;
                queues_of(&stack).await
            };
            opened.await.map_err(|error: Failure| with_sources(error.as_ref()))
        })
    })
}

async fn queues_of(stack: &Stack) -> Result<Queues, Failure> {
    let finalize = QueueUrls {
        queue: stack.require("FinalizeQueueUrl")?.to_owned(),
        dead_letters: stack.require("FinalizeDeadLetterQueueUrl")?.to_owned(),
    };
    let optional = |queue: &str, dead_letters: &str| {
        let (queue, dead_letters) = stack.output(queue).zip(stack.output(dead_letters))?;
        Some(QueueUrls { queue: queue.to_owned(), dead_letters: dead_letters.to_owned() })
    };
    // Stacks of older versions continue no turns, and those without a vector database have no documents.
    let turns = optional("TurnQueueUrl", "TurnDeadLetterQueueUrl");
    let knowledge = optional("KnowledgeQueueUrl", "KnowledgeDeadLetterQueueUrl");
    Ok(Queues::of_deployment(resources_of(stack)?, finalize, turns, knowledge).await)
}

/// Connects to the table and the bucket of a stack.
async fn of_stack(name: &str) -> Result<Stores, Failure> {
    let stack = Stack::describe(&Aws::load().await?, name).await?;
    Ok(Stores::of_deployment(resources_of(&stack)?).await)
}

fn resources_of(stack: &Stack) -> Result<Resources, Failure> {
    Ok(Resources {
        table: stack.require("TableName")?.to_owned(),
        bucket: stack.require("PayloadBucketName")?.to_owned(),
        model_providers: stack.parameter("ModelProviders").unwrap_or_default().to_owned(),
    })
}
