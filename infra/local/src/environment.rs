//! What every function is configured with, as `template.yaml` does on AWS.

use std::collections::BTreeMap;

use crate::endpoints::Endpoints;
use crate::options::{Model, Options, Vectors};
use crate::services::provision::{BUCKET, TABLE};
use crate::services::{REGION, SECRET_KEY};
use crate::token::{AUDIENCE, claim};

/// Where the vector database is.
pub(crate) const QDRANT_URL: &str = "QDRANT_URL";

/// The environment of every function process.
pub(crate) fn of_functions(options: &Options, endpoints: &Endpoints) -> BTreeMap<String, String> {
    let mut environment = BTreeMap::new();
    let mut set = |name: &str, value: &str| environment.insert(name.to_owned(), value.to_owned());
    set("AWS_REGION", REGION);
    set("AWS_DEFAULT_REGION", REGION);
    set("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    // Nothing answers there: the SDK must not look for other credentials.
    set("AWS_EC2_METADATA_DISABLED", "true");
    set("AWS_ENDPOINT_URL_DYNAMODB", &endpoints.dynamodb);
    set("AWS_ENDPOINT_URL_S3", &endpoints.s3);
    set("AWS_ENDPOINT_URL_SQS", &endpoints.sqs);
    // The routes of the functions know nothing of stages.
    set("AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH", "true");
    set("TABLE_NAME", TABLE);
    set("PAYLOAD_BUCKET", BUCKET);
    set("PAYLOAD_PATH_STYLE", "true");
    set("FINALIZE_QUEUE_URL", &endpoints.finalize_queue);
    set("ORG_CLAIM", claim::ORG);
    set("ORG_NAME_CLAIM", claim::ORG_NAME);
    set("USER_CLAIM", claim::USER);
    set("USER_NAME_CLAIM", claim::USER_NAME);
    set("OPERATOR_CLAIM", claim::OPERATOR);
    set("TOKEN_AUDIENCES", AUDIENCE);
    // The embedded one's is set once there is something in it: until then nothing is searched.
    if let Vectors::Server { url, api_key } = &options.vectors {
        set(QDRANT_URL, url);
        if let Some(api_key) = api_key {
            set("QDRANT_API_KEY", api_key);
        }
    }
    set("OPENAI_BASE_URL", &endpoints.model);
    match &options.model {
        Model::Scripted(_) => {
            set("OPENAI_API_KEY", "scripted");
            set("OPENAI_MODEL", "scripted");
        }
        Model::Provider { api_key, name, .. } => {
            set("OPENAI_API_KEY", api_key);
            if let Some(name) = name {
                set("OPENAI_MODEL", name);
            }
        }
    }
    if let Some(lease) = options.lease {
        let seconds = lease.as_secs_f64().to_string();
        set("LEASE_SECONDS", &seconds);
        set("ABANDON_GRACE_SECONDS", &seconds);
    }
    environment.extend(options.environment.clone());
    environment
}
