//! What every function is configured with, as `template.yaml` does on AWS.

use std::collections::BTreeMap;

use crate::endpoints::Endpoints;
use crate::options::{Model, Options, Vectors};
use crate::services::provision::{BUCKET, TABLE};
use crate::services::{REGION, SECRET_KEY};
use crate::token::{AUDIENCE, claim};

/// Where the vector database is.
pub(crate) const QDRANT_URL: &str = settings::QDRANT_URL.name;

/// The collection that is the index of sessions.
const SESSIONS: &str = "sessions";

/// The settings that the local cloud decides itself, by what it was started with.
pub const DECIDED_HERE: [&str; 18] = [
    settings::AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH.name,
    settings::TABLE_NAME.name,
    settings::PAYLOAD_BUCKET.name,
    settings::PAYLOAD_PATH_STYLE.name,
    settings::FINALIZE_QUEUE_URL.name,
    settings::ORG_CLAIM.name,
    settings::ORG_NAME_CLAIM.name,
    settings::USER_CLAIM.name,
    settings::USER_NAME_CLAIM.name,
    settings::OPERATOR_CLAIM.name,
    settings::TOKEN_AUDIENCES.name,
    settings::OIDC_ISSUER.name,
    settings::PAGE_TOKEN_KEY.name,
    settings::QDRANT_URL.name,
    settings::QDRANT_API_KEY.name,
    settings::OPENAI_BASE_URL.name,
    settings::OPENAI_API_KEY.name,
    settings::OPENAI_MODEL.name,
];

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
    set(settings::AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH.name, "true");
    set(settings::TABLE_NAME.name, TABLE);
    set(settings::PAYLOAD_BUCKET.name, BUCKET);
    set(settings::PAYLOAD_PATH_STYLE.name, "true");
    set(settings::FINALIZE_QUEUE_URL.name, &endpoints.finalize_queue);
    set(settings::ORG_CLAIM.name, claim::ORG);
    set(settings::ORG_NAME_CLAIM.name, claim::ORG_NAME);
    set(settings::USER_CLAIM.name, claim::USER);
    set(settings::USER_NAME_CLAIM.name, claim::USER_NAME);
    set(settings::OPERATOR_CLAIM.name, claim::OPERATOR);
    set(settings::TOKEN_AUDIENCES.name, options.oidc.as_ref().map_or(AUDIENCE, |oidc| &oidc.audiences));
    if let Some(oidc) = &options.oidc {
        set(settings::OIDC_ISSUER.name, &oidc.issuer);
    }
    // The same at every start, so that a list can be gone on with.
    set(settings::PAGE_TOKEN_KEY.name, "local-cloud");
    set(settings::QDRANT_SESSIONS_COLLECTION.name, SESSIONS);
    // The embedded one's is set once there is something in it: until then nothing is searched.
    if let Vectors::Server { url, api_key } = &options.vectors {
        set(QDRANT_URL, url);
        if let Some(api_key) = api_key {
            set(settings::QDRANT_API_KEY.name, api_key);
        }
    }
    set(settings::OPENAI_BASE_URL.name, &endpoints.model);
    match &options.model {
        Model::Scripted(_) => {
            set(settings::OPENAI_API_KEY.name, "scripted");
            set(settings::OPENAI_MODEL.name, "scripted");
        }
        Model::Provider { api_key, name, .. } => {
            set(settings::OPENAI_API_KEY.name, api_key);
            if let Some(name) = name {
                set(settings::OPENAI_MODEL.name, name);
            }
        }
    }
    if let Some(lease) = options.lease {
        let seconds = lease.as_secs_f64().to_string();
        set(settings::LEASE_SECONDS.name, &seconds);
        set(settings::ABANDON_GRACE_SECONDS.name, &seconds);
    }
    environment.extend(options.environment.clone());
    environment
}
