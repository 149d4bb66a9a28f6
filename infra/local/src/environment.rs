//! Environment variables of every function, as `template.yaml` sets them on AWS.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::account::REGION;
use crate::endpoints::Endpoints;
use crate::json_file::without_byte_order_mark;
use crate::options::{Model, Options, Vectors};
use crate::service_keys::ServiceKeys;
use crate::services::provision::{BUCKET, TABLE};
use crate::token::{AUDIENCE, claim};

/// Name of the variable with the vector database's URL.
pub(crate) const QDRANT_URL: &str = settings::QDRANT_URL.name;

/// Collection that holds the session index.
const SESSIONS: &str = "sessions";

/// Settings that the local cloud manages itself; values from the shell don't override them.
pub const MANAGED_SETTINGS: [&str; 27] = [
    settings::AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH.name,
    settings::TABLE_NAME.name,
    settings::PAYLOAD_BUCKET.name,
    settings::PAYLOAD_PATH_STYLE.name,
    settings::FINALIZE_QUEUE_URL.name,
    settings::KNOWLEDGE_QUEUE_URL.name,
    settings::TURN_QUEUE_URL.name,
    settings::WEBHOOK_QUEUE_URL.name,
    settings::ORG_CLAIM.name,
    settings::ORG_NAME_CLAIM.name,
    settings::USER_CLAIM.name,
    settings::USER_NAME_CLAIM.name,
    settings::OPERATOR_CLAIM.name,
    settings::AGENT_EDITOR_CLAIM.name,
    settings::TOKEN_AUDIENCES.name,
    settings::OIDC_ISSUER.name,
    settings::PAGE_TOKEN_KEY.name,
    settings::QDRANT_URL.name,
    settings::QDRANT_API_KEY.name,
    settings::OPENAI_BASE_URL.name,
    settings::OPENAI_WIRE.name,
    settings::OPENAI_API_KEY.name,
    settings::OPENAI_MODEL.name,
    settings::PROVIDER_CREDENTIALS_URL.name,
    settings::CONNECTION_OWN_PORTS.name,
    settings::AWS_LAMBDA_MAX_CONCURRENCY.name,
    settings::AWS_LAMBDA_FUNCTION_MEMORY_SIZE.name,
];

/// Name of the provider that [`Model::Bedrock`] declares.
const BEDROCK: &str = "bedrock";

/// Returns the environment of every function process.
pub(crate) fn for_functions(
    options: &Options,
    endpoints: &Endpoints,
    keys: &ServiceKeys,
) -> BTreeMap<String, String> {
    let mut environment = BTreeMap::new();
    let mut set = |name: &str, value: &str| environment.insert(name.to_owned(), value.to_owned());
    set("AWS_REGION", REGION);
    set("AWS_DEFAULT_REGION", REGION);
    set("AWS_SECRET_ACCESS_KEY", keys.secret());
    // There is no metadata service, so the SDK must not look for other credentials.
    set("AWS_EC2_METADATA_DISABLED", "true");
    set("AWS_ENDPOINT_URL_DYNAMODB", &endpoints.dynamodb);
    set("AWS_ENDPOINT_URL_S3", &endpoints.s3);
    set("AWS_ENDPOINT_URL_SQS", &endpoints.sqs);
    set("AWS_ENDPOINT_URL_SECRETS_MANAGER", &endpoints.secrets);
    set(settings::CONNECTION_OWN_PORTS.name, &endpoints.ports().join(","));
    // The functions' routes have no stage prefix.
    set(settings::AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH.name, "true");
    set(settings::TABLE_NAME.name, TABLE);
    set(settings::PAYLOAD_BUCKET.name, BUCKET);
    set(settings::PAYLOAD_PATH_STYLE.name, "true");
    set(settings::FINALIZE_QUEUE_URL.name, &endpoints.finalize_queue);
    set(settings::KNOWLEDGE_QUEUE_URL.name, &endpoints.knowledge_queue);
    set(settings::TURN_QUEUE_URL.name, &endpoints.turn_queue);
    set(settings::WEBHOOK_QUEUE_URL.name, &endpoints.webhook_queue);
    set(settings::ORG_CLAIM.name, claim::ORG);
    set(settings::ORG_NAME_CLAIM.name, claim::ORG_NAME);
    set(settings::USER_CLAIM.name, claim::USER);
    set(settings::USER_NAME_CLAIM.name, claim::USER_NAME);
    set(settings::OPERATOR_CLAIM.name, claim::OPERATOR);
    set(settings::AGENT_EDITOR_CLAIM.name, claim::AGENT_EDITOR);
    set(settings::TOKEN_AUDIENCES.name, options.oidc.as_ref().map_or(AUDIENCE, |oidc| &oidc.audiences));
    if let Some(oidc) = &options.oidc {
        set(settings::OIDC_ISSUER.name, &oidc.issuer);
    }
    // Constant across restarts, so that page tokens stay valid and repeated requests find their turns.
    set(settings::PAGE_TOKEN_KEY.name, keys.secret());
    set(settings::QDRANT_SESSIONS_COLLECTION.name, SESSIONS);
    // The embedded engine's URL is set once it holds a collection. Until then functions don't search.
    if let Vectors::Server { url, api_key } = &options.vectors {
        set(QDRANT_URL, url);
        if let Some(api_key) = api_key {
            set(settings::QDRANT_API_KEY.name, api_key);
        }
    }
    set(settings::OPENAI_BASE_URL.name, &endpoints.model);
    match &options.model {
        Model::Mock(_) => {
            set(settings::OPENAI_API_KEY.name, "scripted");
            set(settings::OPENAI_MODEL.name, "scripted");
        }
        Model::Provider { api_key, name, wire, .. } => {
            set(settings::OPENAI_WIRE.name, wire.name());
            set(settings::OPENAI_API_KEY.name, api_key);
            if let Some(name) = name {
                set(settings::OPENAI_MODEL.name, name);
            }
        }
        Model::Bedrock { name, .. } => {
            set(settings::OPENAI_MODEL.name, name);
            set(settings::MODEL_PROVIDER.name, BEDROCK);
        }
    }
    if options.provider_messages {
        set(settings::PROVIDER_MESSAGES.name, "true");
    }
    if options.raw_payloads {
        set(settings::STORE_RAW_PAYLOADS.name, "true");
    }
    if let Some(lease) = options.lease {
        let seconds = lease.as_secs_f64().to_string();
        set(settings::LEASE_SECONDS.name, &seconds);
        set(settings::ABANDON_GRACE_SECONDS.name, &seconds);
    }
    environment.extend(options.environment.clone());
    if let Some(providers) = model_providers(options) {
        environment.insert(settings::MODEL_PROVIDERS.name.to_owned(), providers);
    }
    environment
}

/// True if requests to AWS are signed: those of a declared provider, or of connections. Errors in the declaration are reported by the functions.
pub(crate) fn signs_requests(options: &Options) -> bool {
    let providers = model_providers(options).unwrap_or_default();
    let providers: Vec<Value> = serde_json::from_str(&providers).unwrap_or_default();
    let of_provider =
        providers.iter().any(|provider| provider.get("Auth").is_some_and(|auth| auth == "aws-sigv4"));
    of_provider || connections_sign(options)
}

/// True if requests of connections are signed by the developer's credentials: with credentials of the options, or if they go
/// to AWS. A server on this machine can be tried without any.
fn connections_sign(options: &Options) -> bool {
    let list = |name: &str| {
        let value = options.environment.get(name).map_or("", String::as_str);
        value.split(',').map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>()
    };
    let (functions, hosts) =
        (list(settings::CONNECTION_FUNCTIONS.name), list(settings::CONNECTION_SIGNED_HOSTS.name));
    let is_far =
        |host: &&str| !["127.0.0.1", "localhost"].contains(&host.split(':').next().unwrap_or_default());
    let reaches_aws = hosts.iter().any(is_far)
        || !functions.is_empty() && list(settings::AWS_ENDPOINT_URL_LAMBDA.name).is_empty();
    let is_used = !functions.is_empty() || !hosts.is_empty();
    is_used && (reaches_aws || options.aws_credentials.is_some())
}

/// Returns the declaration of the named providers: the developer's, and Bedrock if it is the model. An invalid
/// declaration is passed on, since the functions name its faults.
pub(crate) fn model_providers(options: &Options) -> Option<String> {
    let declared = options.environment.get(settings::MODEL_PROVIDERS.name);
    let declared = declared.map(|declared| without_byte_order_mark(declared));
    let Model::Bedrock { wire, base_url, scope, .. } = &options.model else {
        return declared.map(str::to_owned);
    };
    let mut providers: Vec<Value> = match serde_json::from_str(declared.unwrap_or("[]")) {
        Ok(providers) => providers,
        Err(_) => return declared.map(str::to_owned),
    };
    providers.push(json!({
        "Name": BEDROCK, "Wire": wire, "BaseUrl": base_url, "Auth": "aws-sigv4",
        "AwsService": scope.service(), "AwsRegion": scope.region(),
    }));
    Some(Value::from(providers).to_string())
}
