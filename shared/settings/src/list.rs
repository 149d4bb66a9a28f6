//! The list of all settings.

use crate::{
    kind::{Count, Days, Flag, Names, OneOf, Seconds, Text, Url},
    setting::{DefaultsTo, Optional, Required, SetBy, Setting, SettingInfo},
};

const EXECUTE: &str = "execute";
const TOOL_CONTINUATION: &str = "tool-continuation";
const SESSION_READ: &str = "session-read";
const TURN_FINALIZER: &str = "turn-finalizer";
const KNOWLEDGE_INDEXER: &str = "knowledge-indexer";
const AUTHORIZER: &str = "authorizer";

/// All functions.
pub const FUNCTIONS: &[&str] =
    &[EXECUTE, TOOL_CONTINUATION, SESSION_READ, TURN_FINALIZER, KNOWLEDGE_INDEXER, AUTHORIZER];
/// The functions that read or write sessions and turns.
const TURNS: &[&str] = &[EXECUTE, TOOL_CONTINUATION, SESSION_READ, TURN_FINALIZER];
/// The functions that read or write objects.
const STORES: &[&str] = &[EXECUTE, TOOL_CONTINUATION, SESSION_READ, TURN_FINALIZER, KNOWLEDGE_INDEXER];
/// The functions that search or index sources.
const SOURCES: &[&str] = &[EXECUTE, TOOL_CONTINUATION, KNOWLEDGE_INDEXER];
/// The functions that reach the vector database.
const VECTORS: &[&str] = STORES;
/// The function that indexes documents.
const INDEXERS: &[&str] = &[KNOWLEDGE_INDEXER];
/// The functions that answer HTTP requests.
const HTTP_HANDLERS: &[&str] = &[EXECUTE, TOOL_CONTINUATION, SESSION_READ];
/// The functions that read the caller's identity.
const AUTHENTICATED: &[&str] = &[EXECUTE, TOOL_CONTINUATION, SESSION_READ, AUTHORIZER];
/// The function that verifies tokens.
const TOKEN_VERIFIERS: &[&str] = &[AUTHORIZER];
/// The functions that call models.
const MODEL_CALLERS: &[&str] = &[EXECUTE, TOOL_CONTINUATION];
/// The functions that send requests to addresses that an org names.
const OUTSIDE: &[&str] = &[EXECUTE, TOOL_CONTINUATION, TURN_FINALIZER];
/// The functions that call the tools of connections.
const TOOL_CALLERS: &[&str] = MODEL_CALLERS;
/// The functions that have turns continued. `tool-continuation` has the settings of `execute`.
const TURN_CONTINUERS: &[&str] = &[EXECUTE, TOOL_CONTINUATION, TURN_FINALIZER];
/// The function that names sessions.
const TITLE_WRITERS: &[&str] = &[TURN_FINALIZER];
/// The functions that reach model providers. `turn-finalizer` deletes the responses that they store, and asks for
/// titles.
const PROVIDERS: &[&str] = &[EXECUTE, TOOL_CONTINUATION, TURN_FINALIZER, KNOWLEDGE_INDEXER];

/// Declares the settings: a constant for each, and `ALL` with their headings.
macro_rules! settings {
    ($($heading:literal { $($name:ident: $kind:ty, $presence:ty = $parts:expr;)+ })+) => {
        $($(
            #[doc = concat!("The setting `", stringify!($name), "`.")]
            pub const $name: Setting<$kind, $presence> = {
                let (description, kind, presence, readers, set_by) = $parts;
                Setting { name: stringify!($name), description, kind, presence, readers, set_by }
            };
        )+)+

        /// Every setting, grouped by heading.
        pub const ALL: &[(&str, &[&dyn SettingInfo])] = &[$(($heading, &[$(&$name),+])),+];
    };
}

/// The longest timeout for a model call: a function's own timeout.
pub const MAX_CALL_SECONDS: f64 = 840.0;
/// The longest timeout for a connection.
pub const MAX_CONNECT_SECONDS: f64 = 60.0;
/// The shortest timeout for any provider operation.
pub const MIN_TIMEOUT_SECONDS: f64 = 0.1;

const CALL_TIMEOUT: Seconds = Seconds(MIN_TIMEOUT_SECONDS..=MAX_CALL_SECONDS);

settings! {
    "Resources" {
        TABLE_NAME: Text, Required = (
            "DynamoDB table that stores sessions, turns, and orgs of client applications",
            Text, Required, FUNCTIONS, SetBy::Template,
        );
        PAYLOAD_BUCKET: Text, Required = (
            "S3 bucket that stores payloads",
            Text, Required, STORES, SetBy::Template,
        );
        FINALIZE_QUEUE_URL: Url, Required = (
            "SQS queue that triggers `turn-finalizer`",
            Url, Required, STORES, SetBy::Template,
        );
        KNOWLEDGE_QUEUE_URL: Url, Optional = (
            "SQS queue that triggers `knowledge-indexer`",
            Url, Optional("not set: no documents can be uploaded"), MODEL_CALLERS, SetBy::Template,
        );
        TURN_QUEUE_URL: Url, Required = (
            "SQS queue that has `execute` continue turns that no client waits for",
            Url, Required, TURN_CONTINUERS, SetBy::Template,
        );
        WEBHOOK_QUEUE_URL: Url, Required = (
            "SQS queue whose messages make `turn-finalizer` deliver events to webhooks",
            Url, Required, TITLE_WRITERS, SetBy::Template,
        );
        DOCUMENT_TEXT_PROGRAM: Text, Optional = (
            "Path of the program `document-text`, which reads PDF and Office documents",
            Text, Optional("not set: the program in the function's folder, if there is one"), INDEXERS, SetBy::Anyone,
        );
        PAYLOAD_PATH_STYLE: Flag, DefaultsTo = (
            "Use path-style S3 URLs (`/bucket/key`), as many S3-compatible servers require",
            Flag, DefaultsTo("false"), STORES, SetBy::Anyone,
        );
        SHARDED_SESSION_LISTS: Flag, DefaultsTo = (
            "Spread the session list of each org over 16 shards, for orgs with more than some 200 turns a second",
            Flag, DefaultsTo("false"), STORES, SetBy::Template,
        );
        AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH: Flag, DefaultsTo = (
            "Remove the gateway's stage from request paths before routing",
            Flag, DefaultsTo("false"), HTTP_HANDLERS, SetBy::Template,
        );
        OPENAI_COMPATIBLE_API: Flag, DefaultsTo = (
            "Serve the APIs for OpenAI, Anthropic, AG-UI and MCP clients under `/v1`",
            Flag, DefaultsTo("true"), HTTP_HANDLERS, SetBy::Template,
        );
        PAGE_TOKEN_KEY: Text, Required = (
            "Keys that encrypt page tokens, and from which ids of OpenAI-compatible requests derive, separated by commas. \
            The first one is used, the others decrypt and find what is older",
            Text, Required, HTTP_HANDLERS, SetBy::Template,
        );
        BUFFERED_RESPONSES: Flag, DefaultsTo = (
            "Send responses in one piece, for `sam local start-api`, which can't read streams",
            Flag, DefaultsTo("false"), HTTP_HANDLERS, SetBy::Developer,
        );
    }
    "Authentication" {
        TOKEN_AUDIENCES: Names, Required = (
            "Client applications whose tokens are accepted: the `aud` of an ID token, the `client_id` of an \
            access token",
            Names, Required, AUTHENTICATED, SetBy::Template,
        );
        ORG_CLAIM: Text, DefaultsTo = (
            "Claim that names the tenant. Users must not be able to write it",
            Text, DefaultsTo("custom:org"), AUTHENTICATED, SetBy::Template,
        );
        ORG_NAME_CLAIM: Text, DefaultsTo = (
            "Claim that holds the tenant's display name",
            Text, DefaultsTo("custom:org_name"), AUTHENTICATED, SetBy::Template,
        );
        USER_CLAIM: Text, DefaultsTo = (
            "Claim that holds the user's id",
            Text, DefaultsTo("sub"), AUTHENTICATED, SetBy::Template,
        );
        USER_NAME_CLAIM: Text, DefaultsTo = (
            "Claim that holds the user's display name",
            Text, DefaultsTo("name"), AUTHENTICATED, SetBy::Template,
        );
        OPERATOR_CLAIM: Text, DefaultsTo = (
            "Claim that is `true` for operators",
            Text, DefaultsTo("custom:operator"), AUTHENTICATED, SetBy::Template,
        );
        AGENT_EDITOR_CLAIM: Text, DefaultsTo = (
            "Claim that is `true` for agent editors, who may read and change the contexts of their org",
            Text, DefaultsTo("custom:agent_editor"), AUTHENTICATED, SetBy::Template,
        );
        DEVELOPMENT_CLAIMS: Text, Optional = (
            "Claims of the caller when no authorizer runs before the function, as a JSON object",
            Text, Optional("not set: unauthenticated requests are refused"), HTTP_HANDLERS, SetBy::Developer,
        );
        OIDC_ISSUER: Url, Required = (
            "OpenID Connect issuer. Must equal the tokens' `iss` exactly",
            Url, Required, TOKEN_VERIFIERS, SetBy::Template,
        );
        OIDC_JWKS_URL: Url, Optional = (
            "URL of the issuer's key set",
            Url, Optional("not set: the URL in the issuer's discovery document"), TOKEN_VERIFIERS, SetBy::Template,
        );
        OIDC_CLOCK_SKEW_SECONDS: Seconds, DefaultsTo = (
            "Allowed difference between the issuer's clock and ours",
            Seconds(0.0..=300.0), DefaultsTo("60"), TOKEN_VERIFIERS, SetBy::Anyone,
        );
        ORG_GROUP_PREFIX: Text, Optional = (
            "Prefix of the group that names the tenant, if the tenant claim is a list of groups. The prefix is \
            removed from the name",
            Text, Optional("not set: the claim's value is the tenant"), TOKEN_VERIFIERS, SetBy::Template,
        );
        OPERATOR_GROUP: Text, Optional = (
            "Group whose members are operators, if the operator claim is a list of groups",
            Text, Optional("not set: the claim must be `true`"), TOKEN_VERIFIERS, SetBy::Template,
        );
        AGENT_EDITOR_GROUP: Text, Optional = (
            "Group whose members are agent editors, if the agent editor claim is a list of groups",
            Text, Optional("not set: the claim must be `true`"), TOKEN_VERIFIERS, SetBy::Template,
        );
        USAGE_KEYS: Text, Optional = (
            "API keys that requests of an org or a user count against: `org=key,org/user=key`, or a JSON object",
            Text, Optional("not set: all count against `SHARED_USAGE_KEY`"), TOKEN_VERIFIERS, SetBy::Template,
        );
        SHARED_USAGE_KEY: Text, Optional = (
            "API key that requests of all other callers count against",
            Text, Optional("not set: the gateway limits no caller"), TOKEN_VERIFIERS, SetBy::Template,
        );
    }
    "Sessions" {
        SESSION_VISIBILITY: OneOf, DefaultsTo = (
            "Visibility of new sessions: every member of the org, the participants, or the participants until an operator opens \
            the session. An org's settings take precedence",
            OneOf(&["org", "participants", "participants_only"]), DefaultsTo("org"), MODEL_CALLERS, SetBy::Template,
        );
        SESSION_RETENTION_DAYS: Days, DefaultsTo = (
            "Days to keep a deleted session before it is purged. An org's settings and a context's `RetentionDays` take \
            precedence",
            Days(0.0..=3_650.0), DefaultsTo("30"), TURNS, SetBy::Template,
        );
        PURGE_RECHECK_SECONDS: Seconds, DefaultsTo = (
            "Seconds after its start at which a purge checks for late writes. At least the longest function \
            timeout",
            Seconds(0.05..=86_400.0), DefaultsTo("900"), TURNS, SetBy::Anyone,
        );
        TITLE_MODEL: Text, Optional = (
            "Model that writes titles of sessions. An org's settings take precedence",
            Text, Optional("not set: sessions are named by an excerpt"), TITLE_WRITERS, SetBy::Template,
        );
        TITLE_PROVIDER: Text, Optional = (
            "Provider of `TITLE_MODEL`",
            Text, Optional("not set: the default provider"), TITLE_WRITERS, SetBy::Template,
        );
    }
    "Model" {
        OPENAI_MODEL: Text, DefaultsTo = (
            "Model for contexts that name none",
            Text, DefaultsTo("gpt-5"), HTTP_HANDLERS, SetBy::Template,
        );
        CONVERSATION_STATE: OneOf, DefaultsTo = (
            "Where conversation state is kept for contexts that don't choose: at the provider, locally, or \
            decided automatically",
            OneOf(&["auto", "provider", "local"]), DefaultsTo("auto"), MODEL_CALLERS, SetBy::Template,
        );
        OPENAI_WIRE: OneOf, DefaultsTo = (
            "API of the provider at `OPENAI_BASE_URL`",
            OneOf(&["responses", "chat-completions", "anthropic-messages", "bedrock-converse"]),
            DefaultsTo("responses"), PROVIDERS,
            SetBy::Anyone,
        );
        OPENAI_BASE_URL: Url, DefaultsTo = (
            "Base URL of the model API. `/responses` is appended to the path, and a query is kept",
            Url, DefaultsTo("https://api.openai.com/v1"), PROVIDERS, SetBy::Template,
        );
        OPENAI_API_KEY_SECRET_ARN: Text, Optional = (
            "Secret that holds the provider's API key. Required unless `MODEL_PROVIDER` is set",
            Text, Optional("not set: `MODEL_PROVIDER` must be set"), PROVIDERS, SetBy::Template,
        );
        OPENAI_API_KEY: Text, Optional = (
            "The provider's API key in plain text",
            Text, Optional("not set: the key in `OPENAI_API_KEY_SECRET_ARN` is used"), PROVIDERS, SetBy::Developer,
        );
        PROVIDER_CREDENTIALS_URL: Url, Optional = (
            "URL at which a local cloud serves the developer's AWS credentials, for providers with `Auth: aws-sigv4` and for connections",
            Url, Optional("not set: the credentials of the function's role sign requests"), PROVIDERS, SetBy::Developer,
        );
        PROVIDER_MESSAGES: Flag, DefaultsTo = (
            "Show the provider's address and message of a failed model call in the log and in the error",
            Flag, DefaultsTo("false"), MODEL_CALLERS, SetBy::Developer,
        );
        STORE_RAW_PAYLOADS: Flag, DefaultsTo = (
            "Store the raw model requests and responses of every turn for operators, as `StoreRawPayloads` of a context does",
            Flag, DefaultsTo("false"), MODEL_CALLERS, SetBy::Developer,
        );
        MODEL_PROVIDERS: Text, Optional = (
            "Additional model providers: a JSON list, or `table` for the list in the table \
            ([Model providers](../guides/providers.md))",
            Text, Optional("not set: no additional providers"), PROVIDERS, SetBy::Template,
        );
        MODEL_PROVIDER: Text, Optional = (
            "Provider for contexts that name none",
            Text, Optional("not set: the provider of the `OPENAI_…` settings"), PROVIDERS, SetBy::Template,
        );
        OPENAI_CONNECT_TIMEOUT_SECONDS: Seconds, DefaultsTo = (
            "Seconds to wait for a connection to the model provider",
            Seconds(MIN_TIMEOUT_SECONDS..=MAX_CONNECT_SECONDS), DefaultsTo("5"), MODEL_CALLERS, SetBy::Template,
        );
        OPENAI_FIRST_BYTE_TIMEOUT_SECONDS: Seconds, DefaultsTo = (
            "Seconds to wait for the response, and then for the first output of the model",
            CALL_TIMEOUT, DefaultsTo("120"), MODEL_CALLERS, SetBy::Template,
        );
        OPENAI_IDLE_TIMEOUT_SECONDS: Seconds, DefaultsTo = (
            "Seconds to wait for the next byte once the model has started to write",
            CALL_TIMEOUT, DefaultsTo("60"), MODEL_CALLERS, SetBy::Template,
        );
        OPENAI_TOTAL_TIMEOUT_SECONDS: Seconds, DefaultsTo = (
            "Seconds to wait for a whole model call, retries included",
            CALL_TIMEOUT, DefaultsTo("840"), MODEL_CALLERS, SetBy::Template,
        );
        OPENAI_RETRIES: Count, DefaultsTo = (
            "Retries of a model call that failed before any output arrived",
            Count { bounds: 0..=10, unit: "times" }, DefaultsTo("2"), MODEL_CALLERS, SetBy::Template,
        );
        OPENAI_BREAKER_FAILURES: Count, DefaultsTo = (
            "Consecutive failed calls (overload or outage) after which the circuit breaker opens and the \
            provider is not called. 0 disables it",
            Count { bounds: 0..=1_000, unit: "calls" }, DefaultsTo("10"), MODEL_CALLERS, SetBy::Template,
        );
        OPENAI_BREAKER_PAUSE_SECONDS: Seconds, DefaultsTo = (
            "Seconds that the circuit breaker stays open",
            Seconds(MIN_TIMEOUT_SECONDS..=600.0), DefaultsTo("10"), MODEL_CALLERS, SetBy::Template,
        );
    }
    "Connections" {
        CONNECTION_SECRET_PREFIX: Text, DefaultsTo = (
            "Beginning of the names that the secrets of connections and webhooks have in Secrets Manager",
            Text, DefaultsTo("aptix/connections/"), OUTSIDE, SetBy::Template,
        );
        CONNECTION_HOSTS: Names, Optional = (
            "Hosts of private networks that connections and webhooks may name, `HOST` or `HOST:PORT`",
            Names, Optional("not set: connections reach public addresses only"), OUTSIDE, SetBy::Template,
        );
        CONNECTION_FUNCTIONS: Names, Optional = (
            "ARNs of the Lambda functions that connections may invoke, with a version or an alias or without",
            Names, Optional("not set: connections invoke no functions"), TOOL_CALLERS, SetBy::Template,
        );
        CONNECTION_SIGNED_HOSTS: Names, Optional = (
            "Hosts that get requests of connections signed with the function's AWS credentials, `HOST` or `HOST:PORT`",
            Names, Optional("not set: no request of a connection is signed"), TOOL_CALLERS, SetBy::Template,
        );
        AWS_ENDPOINT_URL_LAMBDA: Url, Optional = (
            "URL of Lambda's API for the functions of connections",
            Url, Optional("not set: the API of the function's region"), TOOL_CALLERS, SetBy::Developer,
        );
        CONNECTION_OWN_PORTS: Names, Optional = (
            "Ports of a local cloud. Connections reach every other port of the machine",
            Names, Optional("not set: connections don't reach the machine itself"), OUTSIDE, SetBy::Developer,
        );
    }
    "Retrieval" {
        QDRANT_URL: Url, Optional = (
            "URL of the Qdrant gRPC endpoint",
            Url, Optional("not set: nothing is retrieved, and sessions are searched one by one"), VECTORS, SetBy::Template,
        );
        QDRANT_API_KEY_SECRET_ARN: Text, Optional = (
            "Secret that holds the Qdrant API key",
            Text, Optional("not set: no key is sent"), VECTORS, SetBy::Template,
        );
        QDRANT_API_KEY: Text, Optional = (
            "The Qdrant API key in plain text",
            Text, Optional("not set: the key in `QDRANT_API_KEY_SECRET_ARN` is used"), VECTORS, SetBy::Developer,
        );
        QDRANT_COLLECTION: Text, DefaultsTo = (
            "Collection for contexts that name none",
            Text, DefaultsTo("sources"), SOURCES, SetBy::Template,
        );
        QDRANT_SESSIONS_COLLECTION: Text, Optional = (
            "Collection that indexes sessions for search",
            Text, Optional("not set: sessions are searched one by one"), TURNS, SetBy::Template,
        );
        EMBEDDING_MODEL: Text, DefaultsTo = (
            "Embedding model for contexts that name none",
            Text, DefaultsTo("text-embedding-3-small"), SOURCES, SetBy::Template,
        );
        EMBEDDING_DIMENSIONS: Count, Optional = (
            "Vector length, for embedding models that support several",
            Count { bounds: 1..=8_192, unit: "dimensions" }, Optional("not set: the model's default"), SOURCES, SetBy::Anyone,
        );
        EMBEDDING_BASE_URL: Url, Optional = (
            "Base URL of the embedding provider. `/embeddings` is appended to the path",
            Url, Optional("not set: the default model provider and its key"), SOURCES, SetBy::Anyone,
        );
        EMBEDDING_API_KEY_SECRET_ARN: Text, Optional = (
            "Secret that holds the embedding provider's API key. Required with `EMBEDDING_BASE_URL`",
            Text, Optional("not set: the key of the default model provider is used"), SOURCES, SetBy::Anyone,
        );
        EMBEDDING_API_KEY: Text, Optional = (
            "The embedding provider's API key in plain text",
            Text, Optional("not set: the key in `EMBEDDING_API_KEY_SECRET_ARN` is used"), SOURCES, SetBy::Developer,
        );
    }
    "Timing" {
        LEASE_SECONDS: Seconds, DefaultsTo = (
            "Duration of a lease on a turn or a document; an attempt renews it while it runs",
            Seconds(0.05..=3_600.0), DefaultsTo("30"), STORES, SetBy::Anyone,
        );
        ABANDON_GRACE_SECONDS: Seconds, DefaultsTo = (
            "Grace period after a lease expires before the sweep abandons the turn",
            Seconds(0.05..=3_600.0), DefaultsTo("120"), TURNS, SetBy::Anyone,
        );
        TOOL_WAIT_SECONDS: Seconds, DefaultsTo = (
            "Seconds to wait for the results of client tools",
            Seconds(0.05..=2_592_000.0), DefaultsTo("604800"), TURNS, SetBy::Anyone,
        );
        PROVIDER_RESPONSE_TTL_SECONDS: Seconds, DefaultsTo = (
            "Seconds for which a response stored at the provider is assumed to exist",
            Seconds(0.001..=31_536_000.0), DefaultsTo("2505600"), TURNS, SetBy::Anyone,
        );
        STREAM_HEARTBEAT_SECONDS: Seconds, DefaultsTo = (
            "Seconds of silence on a stream after which a heartbeat is sent",
            Seconds(0.01..=60.0), DefaultsTo("15"), HTTP_HANDLERS, SetBy::Anyone,
        );
        KEEP_ALIVE_AFTER_SECONDS: Seconds, DefaultsTo = (
            "Seconds after which a buffered response starts to send whitespace, because gateways close idle \
            connections",
            Seconds(0.01..=280.0), DefaultsTo("240"), HTTP_HANDLERS, SetBy::Anyone,
        );
        KEEP_ALIVE_INTERVAL_SECONDS: Seconds, DefaultsTo = (
            "Seconds between further whitespace",
            Seconds(0.01..=280.0), DefaultsTo("30"), HTTP_HANDLERS, SetBy::Anyone,
        );
    }
    "Capacity" {
        AWS_LAMBDA_MAX_CONCURRENCY: Count, DefaultsTo = (
            "Number of invocations that one process serves at a time, on Lambda Managed Instances",
            Count { bounds: 1..=1_600, unit: "invocations" }, DefaultsTo("1"), HTTP_HANDLERS, SetBy::Lambda,
        );
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: Count, DefaultsTo = (
            "Memory of the function, which concurrent invocations share",
            Count { bounds: 128..=32_768, unit: "MB" }, DefaultsTo("128"), HTTP_HANDLERS, SetBy::Lambda,
        );
    }
    "Observability" {
        METRICS_NAMESPACE: Text, Optional = (
            "CloudWatch namespace of the metrics that are written to the log",
            Text, Optional("not set: no metrics are written"), FUNCTIONS, SetBy::Template,
        );
        AWS_LAMBDA_LOG_LEVEL: Text, Optional = (
            "Log level; `INFO` in a stack",
            Text, Optional("not set: `RUST_LOG` applies"), FUNCTIONS, SetBy::Lambda,
        );
        RUST_LOG: Text, Optional = (
            "Log level when `AWS_LAMBDA_LOG_LEVEL` is not set",
            Text, Optional("not set: `info`"), FUNCTIONS, SetBy::Anyone,
        );
        OTEL_EXPORTER_OTLP_ENDPOINT: Url, Optional = (
            "OTLP collector that receives traces over HTTP. `/v1/traces` is appended to the path",
            Url, Optional("not set: no traces are sent"), FUNCTIONS, SetBy::Template,
        );
        DIAGNOSTIC_TOOLS: Flag, DefaultsTo = (
            "Enable the diagnostic tools that tests use. Only functions of the local cloud have them",
            Flag, DefaultsTo("false"), MODEL_CALLERS, SetBy::Developer,
        );
    }
}
