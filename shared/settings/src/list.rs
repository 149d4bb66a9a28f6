//! Every setting of the functions.

use crate::{
    kind::{Count, Days, Flag, Names, OneOf, Seconds, Text, Url},
    setting::{Described, Given, Needed, Nothing, Or, Setting},
};

const EXECUTE: &str = "execute";
const TOOL_CONTINUATION: &str = "tool-continuation";
const SESSION_READ: &str = "session-read";
const TURN_FINALIZER: &str = "turn-finalizer";
const AUTHORIZER: &str = "authorizer";

/// All functions.
pub const FUNCTIONS: &[&str] = &[EXECUTE, TOOL_CONTINUATION, SESSION_READ, TURN_FINALIZER, AUTHORIZER];
/// Those that know of sessions and turns.
const TURNS: &[&str] = &[EXECUTE, TOOL_CONTINUATION, SESSION_READ, TURN_FINALIZER];
/// Those that answer HTTP requests.
const HTTP: &[&str] = &[EXECUTE, TOOL_CONTINUATION, SESSION_READ];
/// Those that read who calls.
const CALLED: &[&str] = &[EXECUTE, TOOL_CONTINUATION, SESSION_READ, AUTHORIZER];
/// The one that looks into tokens.
const OIDC: &[&str] = &[AUTHORIZER];
/// Those that ask models.
const MODEL: &[&str] = &[EXECUTE, TOOL_CONTINUATION];
/// Those that reach the providers of models: the last one to remove what they keep.
const PROVIDERS: &[&str] = &[EXECUTE, TOOL_CONTINUATION, TURN_FINALIZER];

/// A list of settings: a constant for each, and all of them with their headings.
macro_rules! settings {
    ($($heading:literal { $($name:ident: $kind:ty, $absent:ty = $parts:expr;)+ })+) => {
        $($(
            #[doc = concat!("The setting `", stringify!($name), "`.")]
            pub const $name: Setting<$kind, $absent> = {
                let (meaning, kind, absent, readers, given) = $parts;
                Setting { name: stringify!($name), meaning, kind, absent, readers, given }
            };
        )+)+

        /// Every setting, below its heading.
        pub const ALL: &[(&str, &[&dyn Described])] = &[$(($heading, &[$(&$name),+])),+];
    };
}

/// What a model's provider is waited for at most: as long as a function lives.
pub const LONGEST_CALL_SECONDS: f64 = 840.0;
/// What a connection is waited for at most.
pub const LONGEST_CONNECT_SECONDS: f64 = 60.0;
/// What anything of a provider is waited for at least.
pub const SHORTEST_SECONDS: f64 = 0.1;

const CALL: Seconds = Seconds(SHORTEST_SECONDS..=LONGEST_CALL_SECONDS);

settings! {
    "Where things are" {
        TABLE_NAME: Text, Needed = (
            "the DynamoDB table of sessions and turns",
            Text, Needed, TURNS, Given::Template,
        );
        PAYLOAD_BUCKET: Text, Needed = (
            "the S3 bucket of payloads",
            Text, Needed, TURNS, Given::Template,
        );
        FINALIZE_QUEUE_URL: Url, Needed = (
            "the SQS queue that triggers `turn-finalizer`",
            Url, Needed, TURNS, Given::Template,
        );
        PAYLOAD_PATH_STYLE: Flag, Or = (
            "whether objects are addressed as `/bucket/key`, as many S3-compatible servers want it",
            Flag, Or("false"), TURNS, Given::Anyone,
        );
        AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH: Flag, Or = (
            "whether the gateway's stage is no part of a path; the routes know nothing of stages",
            Flag, Or("false"), HTTP, Given::Template,
        );
        PAGE_TOKEN_KEY: Text, Needed = (
            "the key that seals the tokens which pages of lists end with; a new one makes those that are out invalid",
            Text, Needed, &[SESSION_READ], Given::Template,
        );
        BUFFERED_RESPONSES: Flag, Or = (
            "whether answers leave whole: `sam local start-api` reads no others",
            Flag, Or("false"), HTTP, Given::Developer,
        );
    }
    "Who calls" {
        TOKEN_AUDIENCES: Names, Needed = (
            "the applications whose tokens count: an ID token's `aud`, an access token's `client_id`",
            Names, Needed, CALLED, Given::Template,
        );
        ORG_CLAIM: Text, Or = (
            "the claim that names the tenant; its user must not be able to write it",
            Text, Or("custom:org"), CALLED, Given::Template,
        );
        ORG_NAME_CLAIM: Text, Or = (
            "the claim with the tenant's display name",
            Text, Or("custom:org_name"), CALLED, Given::Template,
        );
        USER_CLAIM: Text, Or = (
            "the claim with the user's id",
            Text, Or("sub"), CALLED, Given::Template,
        );
        USER_NAME_CLAIM: Text, Or = (
            "the claim with the user's display name",
            Text, Or("name"), CALLED, Given::Template,
        );
        OPERATOR_CLAIM: Text, Or = (
            "the claim that is `true` for operators",
            Text, Or("custom:operator"), CALLED, Given::Template,
        );
        DEVELOPMENT_CLAIMS: Text, Nothing = (
            "who calls where no authorizer stands before the function: claims, a JSON object",
            Text, Nothing("nobody is known there"), HTTP, Given::Developer,
        );
        OIDC_ISSUER: Url, Needed = (
            "the OpenID Connect provider: the `iss` of its tokens, to the letter",
            Url, Needed, OIDC, Given::Template,
        );
        OIDC_JWKS_URL: Url, Nothing = (
            "its key set",
            Url, Nothing("where its discovery document says"), OIDC, Given::Template,
        );
        OIDC_CLOCK_SKEW_SECONDS: Seconds, Or = (
            "how far its clock may be from ours",
            Seconds(0.0..=300.0), Or("60"), OIDC, Given::Anyone,
        );
        ORG_GROUP_PREFIX: Text, Nothing = (
            "where the tenant's claim lists groups: the one that begins so names the tenant, without these letters",
            Text, Nothing("the claim is the tenant"), OIDC, Given::Template,
        );
        OPERATOR_GROUP: Text, Nothing = (
            "where the operators' claim lists groups: theirs",
            Text, Nothing("the claim is `true`"), OIDC, Given::Template,
        );
        CLIENT_ORGS: Text, Nothing = (
            "the tenants of programs whose tokens name none: `{\"client id\":\"org\"}`",
            Text, Nothing("they are refused"), OIDC, Given::Template,
        );
    }
    "Sessions" {
        SESSION_VISIBILITY: OneOf, Or = (
            "who of its org may see a new session: every member, or its participants alone",
            OneOf(&["org", "participants"]), Or("org"), MODEL, Given::Template,
        );
        SESSION_VISIBILITY_OF_ORGS: Text, Nothing = (
            "the same of orgs that have it otherwise: `{\"org\":\"participants\"}`",
            Text, Nothing("there are none"), MODEL, Given::Template,
        );
        SESSION_RETENTION_DAYS: Days, Or = (
            "how long a deleted session is kept",
            Days(0.0..=3_650.0), Or("30"), TURNS, Given::Template,
        );
        SESSION_RETENTION_DAYS_OF_ORGS: Text, Nothing = (
            "the same of orgs that have it otherwise: `{\"org\":90}`; a context's `RetentionDays` goes before both",
            Text, Nothing("there are none"), MODEL, Given::Template,
        );
        PURGE_AGAIN_SECONDS: Seconds, Or = (
            "how long after a purge began it looks once more; no less than a function's longest time",
            Seconds(0.05..=86_400.0), Or("900"), TURNS, Given::Anyone,
        );
    }
    "The model" {
        OPENAI_MODEL: Text, Or = (
            "the model where a context names none",
            Text, Or("gpt-5"), MODEL, Given::Template,
        );
        OPENAI_CHAIN: OneOf, Or = (
            "who remembers conversations where a context does not say",
            OneOf(&["auto", "provider", "local"]), Or("auto"), MODEL, Given::Template,
        );
        OPENAI_BASE_URL: Url, Or = (
            "the API's base URL; `/responses` is added to its path, and a query stays",
            Url, Or("https://api.openai.com/v1"), PROVIDERS, Given::Template,
        );
        OPENAI_API_KEY_SECRET_ARN: Text, Nothing = (
            "the secret with the provider's key; needed unless `MODEL_PROVIDER` is set",
            Text, Nothing("see there"), PROVIDERS, Given::Template,
        );
        OPENAI_API_KEY: Text, Nothing = (
            "the key itself",
            Text, Nothing("`OPENAI_API_KEY_SECRET_ARN` counts"), PROVIDERS, Given::Developer,
        );
        MODEL_PROVIDERS: Text, Nothing = (
            "more providers, a JSON list ([providers.md](providers.md))",
            Text, Nothing("there are none"), PROVIDERS, Given::Template,
        );
        MODEL_PROVIDER: Text, Nothing = (
            "the one of them that a context gets which names none",
            Text, Nothing("that of the `OPENAI_…` settings"), PROVIDERS, Given::Template,
        );
        OPENAI_CONNECT_TIMEOUT_SECONDS: Seconds, Or = (
            "patience for a connection",
            Seconds(SHORTEST_SECONDS..=LONGEST_CONNECT_SECONDS), Or("5"), MODEL, Given::Template,
        );
        OPENAI_FIRST_BYTE_TIMEOUT_SECONDS: Seconds, Or = (
            "patience for a response, and until the model writes",
            CALL, Or("120"), MODEL, Given::Template,
        );
        OPENAI_IDLE_TIMEOUT_SECONDS: Seconds, Or = (
            "patience for each next byte once the model writes",
            CALL, Or("60"), MODEL, Given::Template,
        );
        OPENAI_TOTAL_TIMEOUT_SECONDS: Seconds, Or = (
            "patience for a whole call, retries included",
            CALL, Or("840"), MODEL, Given::Template,
        );
        OPENAI_RETRIES: Count, Or = (
            "further attempts while nothing of an answer was there",
            Count { bounds: 0..=10, unit: "times" }, Or("2"), MODEL, Given::Template,
        );
        OPENAI_BREAKER_FAILURES: Count, Or = (
            "calls in a row that end in an overload or outage before the provider is not asked for a while; 0 is never",
            Count { bounds: 0..=1_000, unit: "calls" }, Or("10"), MODEL, Given::Template,
        );
        OPENAI_BREAKER_PAUSE_SECONDS: Seconds, Or = (
            "for so long",
            Seconds(SHORTEST_SECONDS..=600.0), Or("10"), MODEL, Given::Template,
        );
    }
    "Retrieval" {
        QDRANT_URL: Url, Nothing = (
            "the vector database's gRPC port",
            Url, Nothing("nothing is retrieved, and sessions are searched one by one"), TURNS, Given::Template,
        );
        QDRANT_API_KEY_SECRET_ARN: Text, Nothing = (
            "the secret with its key",
            Text, Nothing("none is sent"), TURNS, Given::Template,
        );
        QDRANT_API_KEY: Text, Nothing = (
            "the key itself",
            Text, Nothing("`QDRANT_API_KEY_SECRET_ARN` counts"), TURNS, Given::Developer,
        );
        QDRANT_COLLECTION: Text, Or = (
            "the collection where no context names one",
            Text, Or("sources"), MODEL, Given::Template,
        );
        QDRANT_SESSIONS_COLLECTION: Text, Nothing = (
            "the collection that is the index of sessions",
            Text, Nothing("sessions are searched one by one"), TURNS, Given::Template,
        );
        EMBEDDING_MODEL: Text, Or = (
            "the model of vectors where no context names one",
            Text, Or("text-embedding-3-small"), MODEL, Given::Template,
        );
        EMBEDDING_DIMENSIONS: Count, Nothing = (
            "the length of its vectors, where it can choose",
            Count { bounds: 1..=8_192, unit: "numbers" }, Nothing("its own"), MODEL, Given::Anyone,
        );
        EMBEDDING_BASE_URL: Url, Nothing = (
            "the provider of vectors; `/embeddings` is added",
            Url, Nothing("the default provider of models, with its key"), MODEL, Given::Anyone,
        );
        EMBEDDING_API_KEY_SECRET_ARN: Text, Nothing = (
            "the secret with its key; needed with `EMBEDDING_BASE_URL`",
            Text, Nothing("see there"), MODEL, Given::Anyone,
        );
        EMBEDDING_API_KEY: Text, Nothing = (
            "the key itself",
            Text, Nothing("`EMBEDDING_API_KEY_SECRET_ARN` counts"), MODEL, Given::Developer,
        );
    }
    "Time" {
        LEASE_SECONDS: Seconds, Or = (
            "how long an attempt owns a turn without renewing",
            Seconds(0.05..=3_600.0), Or("30"), TURNS, Given::Anyone,
        );
        ABANDON_GRACE_SECONDS: Seconds, Or = (
            "what the sweep leaves a running turn after its lease",
            Seconds(0.05..=3_600.0), Or("120"), TURNS, Given::Anyone,
        );
        TOOL_WAIT_SECONDS: Seconds, Or = (
            "the longest wait for a client's tools",
            Seconds(0.05..=2_592_000.0), Or("604800"), TURNS, Given::Anyone,
        );
        CHAIN_LIFE_SECONDS: Seconds, Or = (
            "how long a provider's stored response is relied on",
            Seconds(0.001..=31_536_000.0), Or("2505600"), TURNS, Given::Anyone,
        );
        STREAM_HEARTBEAT_SECONDS: Seconds, Or = (
            "how long a stream may be silent before it says that it is there",
            Seconds(0.01..=60.0), Or("15"), HTTP, Given::Anyone,
        );
        LATE_ANSWER_AFTER_SECONDS: Seconds, Or = (
            "when an answer that is not streamed begins with whitespace, since a gateway ends silent connections",
            Seconds(0.01..=280.0), Or("240"), HTTP, Given::Anyone,
        );
        LATE_ANSWER_WHITESPACE_SECONDS: Seconds, Or = (
            "how often it goes on so",
            Seconds(0.01..=280.0), Or("30"), HTTP, Given::Anyone,
        );
    }
    "What is seen" {
        METRICS_NAMESPACE: Text, Nothing = (
            "the namespace of the metrics that CloudWatch takes from the log",
            Text, Nothing("there are no metrics"), FUNCTIONS, Given::Template,
        );
        AWS_LAMBDA_LOG_LEVEL: Text, Nothing = (
            "how much is logged; `INFO` in a stack",
            Text, Nothing("`RUST_LOG` counts"), FUNCTIONS, Given::Lambda,
        );
        RUST_LOG: Text, Nothing = (
            "the same, where Lambda says nothing",
            Text, Nothing("`info`"), FUNCTIONS, Given::Anyone,
        );
        OTEL_EXPORTER_OTLP_ENDPOINT: Url, Nothing = (
            "the collector that traces are sent to, over HTTP; `/v1/traces` is added",
            Url, Nothing("they are sent nowhere"), FUNCTIONS, Given::Template,
        );
        DIAGNOSTIC_TOOLS: Flag, Or = (
            "whether tools for tests are there",
            Flag, Or("false"), MODEL, Given::Developer,
        );
    }
}
