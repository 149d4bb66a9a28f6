//! Catalogue of log messages. Each message is a constant, so that searches, metrics and alarms can rely on its text.
//!
//! Values are fields of a log line and never part of its message (docs/reference/logs.md).

/// Defines the constants and the list of all of them.
macro_rules! messages {
    ($($name:ident = $text:literal;)+) => {
        $(
            #[doc = concat!("Log message `", $text, "`.")]
            pub const $name: &str = $text;
        )+

        /// All messages.
        pub const ALL: &[&str] = &[$($name),+];
    };
}

messages! {
    APPROVAL_EXPIRED = "approval expired";
    AUDIT = "audit";
    BREAKER_CLOSED = "circuit breaker closed";
    BREAKER_OPENED = "circuit breaker opened";
    BUDGET_EXCEEDED = "budget exceeded";
    CHECKPOINT_NOT_STORED = "checkpoint not stored";
    CLIENT_ORG_UNREADABLE = "org of a client unreadable";
    COMPACTION_FAILED = "history compaction failed";
    CONNECTION_SECRET_UNAVAILABLE = "connection secret unavailable";
    CONTEXT_NAME_UNREADABLE = "context name unreadable";
    DATA_TOO_NEW = "stored data is newer than this code";
    DOWNLOAD_TRUNCATED = "download truncated";
    DUE_SHARD_UNREADABLE = "shard of due work unreadable";
    EARLIER_FILES_UNREADABLE = "files of an earlier turn unreadable";
    EARLIER_TURN_UNREADABLE = "earlier turn unreadable";
    EFFECT_NOT_RECORDED = "effect not recorded";
    EFFECT_UNKNOWN = "effect unknown";
    EMBEDDINGS_INTERRUPTED = "embedding reply interrupted";
    EMBEDDINGS_UNREACHABLE = "embedding provider unreachable";
    EMBEDDING_CALL_FAILED = "embedding call failed";
    EMPTY_REPLY = "model reply empty";
    FALLBACK = "falling back to another model";
    EVENT_INVALID = "event is no http request";
    FORCED_TOOL_UNAVAILABLE = "forced tool not offered";
    FUNCTION_EXITED = "function exited";
    HANDLER_PANICKED = "handler panicked";
    HISTORY_SNAPSHOT_UNREADABLE = "history snapshot unreadable";
    HISTORY_UNREADABLE = "session history unreadable";
    INDEX_NOTICE_FAILED = "session index message not sent";
    INDEX_REMOVAL_FAILED = "session not removed from the index";
    INVOCATION_FAILED = "invocation failed";
    INVOCATION_TIMED_OUT = "invocation timed out";
    JWKS_FETCHED = "jwks fetched";
    JWKS_FETCH_FAILED = "jwks fetch failed";
    JWKS_STALE = "jwks fetch failed, using the previous keys";
    KNOWLEDGE_BUSY = "document in work";
    KNOWLEDGE_INDEXED = "document handled";
    KNOWLEDGE_NOT_INDEXED = "document not indexed";
    MODEL_CALL_FAILED = "model call failed";
    MODEL_SETTING_OMITTED = "model setting not sent";
    MODEL_UNREACHABLE = "model provider unreachable";
    MODE_CHANGED_REPEATEDLY = "mode changed repeatedly";
    MODE_OVERWRITTEN = "mode overwritten";
    OUTCOME_NOT_STORED = "outcome not stored";
    OVERDUE_TURN_FAILED = "overdue turn failed";
    PARTIAL_ANSWER_UNREADABLE = "partial answer unreadable";
    PROVIDER_CREDENTIALS_UNAVAILABLE = "provider credentials unavailable";
    PROVIDER_KEY_UNREADABLE = "provider key unreadable";
    PROVIDER_RESPONSE_NOT_REMOVED = "provider response not removed";
    PROVIDER_USAGE_NOT_READ = "provider usage not read";
    PROVIDER_UNKNOWN = "context names an unknown provider";
    PUBLISHED_FILE_NOT_STORED = "published file not stored";
    PURGE = "purge";
    PURGE_FAILED = "session purge failed";
    PURGE_NOTICE_FAILED = "purge message not sent";
    QUEUE_MESSAGE_FAILED = "queue message failed";
    RAW_PAYLOAD_NOT_STORED = "raw payload not stored";
    RECOVERY_POINT_UNREADABLE = "recovery point unreadable";
    REPLY_INTERRUPTED = "model reply interrupted";
    REQUEST = "request";
    REQUEST_FAILED = "request failed";
    REQUEST_NOT_DISCARDED = "staged request not discarded";
    REQUEST_NOT_SIGNED = "request not signed";
    RESERVATION_NOT_RELEASED = "reservation not released";
    RESPONSE_INTERRUPTED = "response interrupted";
    RESPONSE_REJECTED = "response rejected by lambda";
    RETRIEVAL_SKIPPED = "retrieval skipped";
    SEARCH_WITHOUT_INDEX = "session search without the index";
    SESSIONS_INDEXED = "sessions indexed";
    SESSION_INDEXING_FAILED = "session indexing failed";
    SESSION_INDEX_CREATED = "session index created";
    SESSION_INDEX_REJECTED = "session index rejected the session";
    SETTING_INVALID = "invalid setting";
    SETTLED_NOTICE_FAILED = "settled turn message not sent";
    SNAPSHOT_FAILED = "turn ownership check failed";
    SOLUTION_CONTEXT_UNREADABLE = "solution context unreadable";
    STEP_NOT_STORED = "recovery point not stored";
    STREAM_FILE_NOT_STORED = "stream file not stored";
    SWEEP = "sweep";
    SWEEP_NOT_ACKNOWLEDGED = "sweep message not deleted";
    SWEEP_FAILED = "sweep failed";
    TITLE_FAILED = "session title failed";
    TOKEN_REJECTED = "token rejected";
    TOOL_CALLED = "tool called";
    TOOL_OMITTED = "tool omitted from the turn";
    TOOL_RESULT_UNREADABLE = "tool result unreadable";
    TRACES_UNAVAILABLE = "trace exporter unavailable";
    TRACE_EXPORT_FAILED = "trace export failed";
    TURN = "turn";
    TURN_MESSAGE_HANDLED = "turn message handled";
    TURN_MODEL_FAILED = "model call failed the turn";
    TURN_NOTICE_FAILED = "turn continuation message not sent";
    TURN_NOT_COUNTED = "resumed turn not counted";
    USAGE_KEY_UNREADABLE = "usage key of a caller unreadable";
    USAGE_LOST = "usage of a purged turn lost";
    USAGE_MISSING = "model reply without usage";
    USAGE_NOT_HELD = "usage not held in the meters";
    USAGE_NOT_STORED = "usage of an interrupted turn not stored";
    WEBHOOK_DEAD = "webhook delivery dead";
    WEBHOOK_DELIVERED = "webhook delivered";
    WEBHOOK_DISABLED = "webhook disabled";
    WEBHOOK_FAILED = "webhook attempt failed";
    WEBHOOK_HEALTH_NOT_STORED = "webhook health not stored";
    WEBHOOK_NOTICE_FAILED = "webhook message not sent";
    WEBHOOK_UNREADABLE = "webhook unreadable";
}
