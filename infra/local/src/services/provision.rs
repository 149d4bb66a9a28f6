//! Creates the table, the bucket and the queues if missing, as `template.yaml` does on AWS.

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, LocalSecondaryIndex,
    Projection, ProjectionType, ScalarAttributeType, TimeToLiveSpecification, TimeToLiveStatus,
};
use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::json;

use crate::account::{ACCOUNT, REGION};
use crate::service_keys::ServiceKeys;

/// The table's name.
pub(crate) const TABLE: &str = "agent-sessions";
/// The bucket's name.
pub(crate) const BUCKET: &str = "agent-payloads";
/// The finalize queue's name.
pub(crate) const QUEUE: &str = "turn-finalize";
/// The dead-letter queue's name.
pub(crate) const DEAD_LETTERS: &str = "turn-finalize-dead-letters";
/// The name of the queue of documents to index.
pub(crate) const KNOWLEDGE_QUEUE: &str = "knowledge";
/// The name of its dead-letter queue.
pub(crate) const KNOWLEDGE_DEAD_LETTERS: &str = "knowledge-dead-letters";
/// The name of the queue of turns to continue.
pub(crate) const TURN_QUEUE: &str = "turns";
/// The name of its dead-letter queue.
pub(crate) const TURN_DEAD_LETTERS: &str = "turns-dead-letters";
/// The name of the queue of the lanes of webhooks. It has no dead-letter queue: the sweep sends its messages again.
pub(crate) const WEBHOOK_QUEUE: &str = "webhooks";
/// Deliveries of a message before it becomes a dead letter.
const MAX_RECEIVES: u32 = 5;

/// A resource that could not be created.
#[derive(Debug, thiserror::Error)]
#[error("Can't create the {what}")]
pub struct Error {
    what: &'static str,
    #[source]
    source: Box<dyn std::error::Error + Send + Sync>,
}

fn failed<E: std::error::Error + Send + Sync + 'static>(what: &'static str) -> impl Fn(E) -> Error {
    move |source| Error { what, source: Box::new(source) }
}

/// Clients of the three services.
#[derive(Debug, Clone)]
pub(crate) struct Clients {
    pub(crate) dynamodb: aws_sdk_dynamodb::Client,
    pub(crate) s3: aws_sdk_s3::Client,
    pub(crate) sqs: aws_sdk_sqs::Client,
}

impl Clients {
    /// Creates clients of the services at these endpoints. Nothing is read from the environment.
    pub(crate) fn new(dynamodb: &str, s3: &str, sqs: &str, keys: &ServiceKeys) -> Self {
        let http = storage::loopback_client();
        macro_rules! common {
            ($service:ident, $endpoint:expr) => {
                $service::Config::builder()
                    .behavior_version($service::config::BehaviorVersion::latest())
                    .region($service::config::Region::new(REGION))
                    .credentials_provider(keys.credentials())
                    .http_client(http.clone())
                    .endpoint_url($endpoint)
            };
        }
        let s3 = common!(aws_sdk_s3, s3).force_path_style(true).build();
        Self {
            dynamodb: aws_sdk_dynamodb::Client::from_conf(common!(aws_sdk_dynamodb, dynamodb).build()),
            s3: aws_sdk_s3::Client::from_conf(s3),
            sqs: aws_sdk_sqs::Client::from_conf(common!(aws_sdk_sqs, sqs).build()),
        }
    }

    /// Creates missing resources. Existing ones are left unchanged.
    pub(crate) async fn provision(&self, visibility_seconds: u32) -> Result<(), Error> {
        self.table().await?;
        self.bucket().await?;
        self.queue((QUEUE, DEAD_LETTERS), visibility_seconds).await?;
        self.queue((KNOWLEDGE_QUEUE, KNOWLEDGE_DEAD_LETTERS), visibility_seconds).await?;
        self.queue((TURN_QUEUE, TURN_DEAD_LETTERS), visibility_seconds).await?;
        self.webhook_queue(visibility_seconds).await
    }

    async fn table(&self) -> Result<(), Error> {
        let tables = self.dynamodb.list_tables().send().await.map_err(failed("table"))?;
        if !tables.table_names().iter().any(|name| name == TABLE) {
            self.create_table().await?;
        }
        // Checked separately, since the cloud may have been killed between the two steps.
        self.enable_ttl().await
    }

    async fn create_table(&self) -> Result<(), Error> {
        const WHAT: &str = "table";
        let text = ScalarAttributeType::S;
        self.dynamodb
            .create_table()
            .table_name(TABLE)
            .billing_mode(BillingMode::PayPerRequest)
            .attribute_definitions(attribute("PK", text.clone())?)
            .attribute_definitions(attribute("SK", text.clone())?)
            .attribute_definitions(attribute("Seq", ScalarAttributeType::N)?)
            .attribute_definitions(attribute("GSI1PK", text.clone())?)
            .attribute_definitions(attribute("GSI1SK", text)?)
            .set_key_schema(Some(keys("PK", "SK")?))
            .local_secondary_indexes(
                LocalSecondaryIndex::builder()
                    .index_name("LSI1")
                    .set_key_schema(Some(keys("PK", "Seq")?))
                    .projection(keys_only())
                    .build()
                    .map_err(failed(WHAT))?,
            )
            .global_secondary_indexes(
                GlobalSecondaryIndex::builder()
                    .index_name("GSI1")
                    .set_key_schema(Some(keys("GSI1PK", "GSI1SK")?))
                    .projection(keys_only())
                    .build()
                    .map_err(failed(WHAT))?,
            )
            .send()
            .await
            .map_err(failed(WHAT))?;
        Ok(())
    }

    async fn enable_ttl(&self) -> Result<(), Error> {
        const WHAT: &str = "table's expiry";
        let ttl = self.dynamodb.describe_time_to_live().table_name(TABLE).send().await;
        let ttl = ttl.map_err(failed(WHAT))?.time_to_live_description;
        if ttl.and_then(|ttl| ttl.time_to_live_status) == Some(TimeToLiveStatus::Enabled) {
            return Ok(());
        }
        let expiry = TimeToLiveSpecification::builder()
            .enabled(true)
            .attribute_name("ExpiresAt")
            .build()
            .map_err(failed(WHAT))?;
        self.dynamodb
            .update_time_to_live()
            .table_name(TABLE)
            .time_to_live_specification(expiry)
            .send()
            .await
            .map_err(failed(WHAT))?;
        Ok(())
    }

    async fn bucket(&self) -> Result<(), Error> {
        if self.s3.head_bucket().bucket(BUCKET).send().await.is_ok() {
            return Ok(());
        }
        let created = self.s3.create_bucket().bucket(BUCKET).send().await;
        created.map(|_| ()).map_err(failed("bucket"))
    }

    async fn webhook_queue(&self, visibility_seconds: u32) -> Result<(), Error> {
        let queue = self
            .sqs
            .create_queue()
            .queue_name(WEBHOOK_QUEUE)
            .attributes(QueueAttributeName::VisibilityTimeout, visibility_seconds.to_string())
            .send()
            .await;
        queue.map(|_| ()).map_err(failed("queue"))
    }

    async fn queue(
        &self,
        (name, dead_letters_name): (&str, &str),
        visibility_seconds: u32,
    ) -> Result<(), Error> {
        let dead_letters = self.sqs.create_queue().queue_name(dead_letters_name).send().await;
        dead_letters.map_err(failed("dead-letter queue"))?;
        let redrive = json!({
            "deadLetterTargetArn": queue_arn(dead_letters_name),
            "maxReceiveCount": MAX_RECEIVES,
        });
        let queue = self
            .sqs
            .create_queue()
            .queue_name(name)
            .attributes(QueueAttributeName::VisibilityTimeout, visibility_seconds.to_string())
            .attributes(QueueAttributeName::RedrivePolicy, redrive.to_string())
            .send()
            .await;
        queue.map(|_| ()).map_err(failed("queue"))
    }
}

/// Returns the ARN of a queue of this cloud.
pub(crate) fn queue_arn(name: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}")
}

/// Returns the URL of a queue of this cloud.
pub(crate) fn queue_url(endpoint: &str, name: &str) -> String {
    format!("{endpoint}/{ACCOUNT}/{name}")
}

fn attribute(name: &str, kind: ScalarAttributeType) -> Result<AttributeDefinition, Error> {
    let attribute = AttributeDefinition::builder().attribute_name(name).attribute_type(kind);
    attribute.build().map_err(failed("table"))
}

fn keys(hash: &str, range: &str) -> Result<Vec<KeySchemaElement>, Error> {
    let key = |name: &str, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
    let both = [key(hash, KeyType::Hash), key(range, KeyType::Range)];
    both.into_iter().collect::<Result<_, _>>().map_err(failed("table"))
}

fn keys_only() -> Projection {
    Projection::builder().projection_type(ProjectionType::KeysOnly).build()
}
