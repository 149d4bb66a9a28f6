//! Path, query and header parameters, including the headers that hold members in the plain text encoding.

use crate::{
    id::{MAX_CONNECTION_ID_CHARS, MAX_ID_CHARS},
    read::{TurnStatus, UsageGrouping},
    request::limits::{
        DEFAULT_PAGE_SIZE, MAX_CATEGORY_CHARS, MAX_MODE_CHARS, MAX_PAGE_SIZE, MAX_QUERY_CHARS,
        MAX_SOLUTION_CONTEXT_CHARS,
    },
    stream::EventId,
};

/// A parameter of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// The part of the request that holds it.
    pub location: ParameterLocation,
    /// The values that it takes.
    pub value: Value,
    /// True if a request is invalid without it. Every path parameter is required.
    pub is_required: bool,
    /// Description for callers, as Markdown.
    pub description: &'static str,
}

/// The part of a request that holds a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterLocation {
    /// A segment of the path.
    Path,
    /// The query string.
    Query,
    /// A header.
    Header,
}

/// The values of a parameter.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// Values of the schema of this name.
    Named(&'static str),
    /// A text with a minimum and a maximum number of characters, and a pattern.
    Text(Option<usize>, Option<usize>, Option<&'static str>),
    /// One of some words, and the default.
    Words(fn() -> Vec<&'static str>, Option<&'static str>),
    /// A time.
    Timestamp,
    /// A whole number from a minimum to a maximum, and the default.
    Number(u64, u64, Option<u64>),
}

const TEXT: Value = Value::Text(None, None, None);
const FLAG: Value = Value::Words(|| vec!["true", "false"], None);
const VERSION_NUMBER: Value = Value::Number(1, u32::MAX as u64, None);

const fn text(max_chars: usize) -> Value {
    Value::Text(None, Some(max_chars), None)
}

impl Parameter {
    const fn path(name: &'static str, value: Value, description: &'static str) -> Self {
        Self { name, location: ParameterLocation::Path, value, is_required: true, description }
    }

    const fn query(name: &'static str, value: Value, description: &'static str) -> Self {
        Self { name, location: ParameterLocation::Query, value, is_required: false, description }
    }

    const fn header(name: &'static str, value: Value, description: &'static str) -> Self {
        Self { name, location: ParameterLocation::Header, value, is_required: false, description }
    }
}

/// The parameters by name.
#[allow(missing_docs, reason = "the description is in the value")]
impl Parameter {
    pub const SESSION: Self =
        Self::path("SessionId", Value::Named("SessionId"), "Id of the session, chosen by the client.");
    pub const TURN: Self = Self::path(
        "TurnId",
        Value::Named("TurnId"),
        "Id of the turn, chosen by the client. `last` is reserved.",
    );
    pub const HASH: Self = Self::path(
        "Hash",
        Value::Named("FileAddress"),
        "SHA-256 of the file's bytes, as in the `Url` of a `FileRef`.",
    );
    pub const NAME: Self =
        Self::path("Name", Value::Text(Some(1), None, None), "Name of the file, as in a `FileRef`.");
    pub const CONTEXT: Self =
        Self::path("ContextId", Value::Named("AgentContextId"), "Id of the context, chosen by the org.");
    pub const CONNECTION: Self = Self::path(
        "ContextId",
        Value::Text(Some(1), Some(MAX_CONNECTION_ID_CHARS), Some("^[a-z][a-z0-9-]*$")),
        "Id of the connection, chosen by the org.",
    );
    pub const WEBHOOK: Self = Self::path(
        "ContextId",
        Value::Text(Some(1), Some(MAX_CONNECTION_ID_CHARS), Some("^[a-z][a-z0-9-]*$")),
        "Id of the webhook, chosen by the org.",
    );
    pub const MODE_KEY: Self = Self::path(
        "ModeKey",
        Value::Text(None, Some(64), Some("^[a-z][a-z0-9]*(_[a-z0-9]+)*$")),
        "Key of the mode, as sessions show it.",
    );
    pub const KNOWLEDGE: Self =
        Self::path("KnowledgeId", text(64), "Id of the document, as its upload returned it.");
    pub const APPROVAL: Self = Self::path(
        "ApprovalId",
        Value::Text(None, Some(32), Some("^[0-9a-f]{32}$")),
        "Id of the approval, as the list and the waiting turn have it.",
    );
    pub const APPROVAL_SCOPE: Self = Self::query(
        "scope",
        Value::Words(|| vec!["mine", "all"], Some("mine")),
        "`mine` for the approvals that the caller may answer, `all` for those of the org. `all` is for operators.",
    );
    pub const VERSION: Self = Self::path("Version", VERSION_NUMBER, "Number of the version, from 1.");

    pub const QUERY: Self = Self {
        is_required: true,
        ..Self::query(
            "q",
            Value::Text(None, Some(MAX_QUERY_CHARS), Some(r"[\p{L}\p{N}]")),
            "Words to search for, at most eight. Case and accents are ignored. A word matches at the \
            beginning of a word in the text.",
        )
    };
    pub const INLINE: Self = Self::query(
        "inline",
        FLAG,
        "Set to `true` to return the payload itself, if it is at most 4 MiB. Default: `false`.",
    );
    pub const PAYLOADS: Self = Self::query(
        "payloads",
        Value::Words(|| vec!["inline", "links"], Some("inline")),
        "`inline` to embed full payloads, `links` for URLs relative to the API's base URL. Only inline \
        payloads can be imported.",
    );
    pub const IDS: Self = Self::query(
        "ids",
        Value::Words(|| vec!["keep", "new"], Some("keep")),
        "Ids of the imported sessions: `keep` for the original ids, `new` for new ones, which are \
        derived from the document. Turns keep their ids, which are unique only within their session.",
    );
    pub const BY: Self = Self::query(
        "by",
        Value::Words(|| UsageGrouping::ALL.map(UsageGrouping::name).to_vec(), Some("day")),
        "Property by which usage is grouped.",
    );
    pub const ROUND: Self = Self::query(
        "round",
        VERSION_NUMBER,
        "Number of the model reply, from 1, as in the turn's steps. Default: the last model call.",
    );
    /// A user id, as the identity provider issues it. Empty counts as absent.
    pub const USER: Self = Self::query(
        "userId",
        Value::Text(None, Some(MAX_ID_CHARS), Some(r"^(?!\.\.?$)[^\x00-\x1f\x7f-\x9f]*$")),
        "Only sessions that this user owns or takes part in, or turns of this user. Default: all. Of usage \
        and budgets, others than operators get their own alone.",
    );
    pub const STATUS: Self = Self::query(
        "status",
        Value::Words(|| TurnStatus::ALL.map(TurnStatus::id).to_vec(), None),
        "Only turns with this status, or sessions whose last turn has it.",
    );
    pub const MODE: Self = Self::query(
        "mode",
        text(MAX_MODE_CHARS),
        "Only sessions that are in this mode, or turns that began in it.",
    );
    pub const CATEGORY: Self = Self::query(
        "category",
        text(MAX_CATEGORY_CHARS),
        "Only sessions of this category, in exactly this spelling.",
    );
    pub const FROM: Self = Self::query(
        "from",
        Value::Timestamp,
        "Only items from this time on: a session by its last activity (with `userId`, by that user's \
        activity), a turn by its creation. Usage is by whole days, in UTC.",
    );
    pub const TO: Self = Self::query("to", Value::Timestamp, "Only items up to this time.");
    pub const ORDER: Self = Self::query(
        "order",
        Value::Words(|| vec!["asc", "desc"], Some("asc")),
        "Order by sequence number: `asc` starts with the first turn, `desc` with the last.",
    );
    pub const INCLUDE_DELETED: Self = Self::query(
        "includeDeleted",
        FLAG,
        "Set to `true` to include deleted sessions that the caller took part in. Default: `false`.",
    );
    pub const PURGE: Self = Self::query(
        "purge",
        FLAG,
        "Set to `true` to purge the session instead of keeping it for a while. Default: `false`.",
    );
    pub const PAGE_SIZE: Self = Self::query(
        "pageSize",
        Value::Number(1, MAX_PAGE_SIZE as u64, Some(DEFAULT_PAGE_SIZE as u64)),
        "Maximum number of items on a page. A filtered list examines at most ten times as many items \
        per page, so a page may be short or empty; check `HasMore`.",
    );
    pub const CONTINUATION_TOKEN: Self = Self::query(
        "continuationToken",
        TEXT,
        "`ContinuationToken` of the previous page. Omit it for the first page.",
    );

    pub const LAST_EVENT_ID: Self = Self::header(
        "Last-Event-ID",
        Value::Number(0, EventId::MAX.get(), None),
        "`id` of the last event that the client received. The stream resumes after it. Omit it on the \
        first connection.",
    );
    pub const IF_NONE_MATCH: Self = Self::header(
        "If-None-Match",
        TEXT,
        "`ETag`s of the client's cached responses. If one is still valid, the \
        response is a 304. On a write only `*`, which requires that the resource doesn't exist.",
    );
    pub const IF_MATCH: Self = Self::header(
        "If-Match",
        TEXT,
        "`ETag` that the resource must have, or `*` if it must only exist. Otherwise the \
        response is a 412, and nothing is changed.",
    );
    /// The parameter that every operation takes.
    pub const CORRELATION_ID: Self = Self::header(
        "X-Correlation-ID",
        TEXT,
        "Correlation id of the request, which is added to all its log lines. 1 to 128 visible ASCII \
        characters. Any other value is ignored, and the service generates an id.",
    );
}

/// Creates the header of a member in the plain text encoding.
macro_rules! member {
    ($header:literal, $member:literal, $value:expr $(, $required:literal)?) => {
        Parameter::header(
            concat!("X-Aptix-", $header),
            $value,
            concat!("`", $member, "` of a user turn. Only with a `text/plain` body", $($required,)? "."),
        )
    };
}

/// The headers of an execute request: the position in its stream, and those of the plain text encoding, which a test
/// compares with the encoding's own table.
pub(super) const EXECUTE_HEADERS: &[Parameter] = &[
    Parameter::LAST_EVENT_ID,
    member!("Session-Id", "SessionId", Value::Named("SessionId"), ", required"),
    member!("Turn-Id", "TurnId", Value::Named("TurnId"), ", required"),
    member!("Solution-Context", "SolutionContextText", text(MAX_SOLUTION_CONTEXT_CHARS)),
    member!("Workspace-Id", "WorkspaceId", Value::Named("Hint")),
    member!("Repo", "Repo", Value::Named("Hint")),
    member!("Language", "Language", Value::Named("Hint")),
    member!("Streaming", "Streaming", FLAG),
    member!("Agent-Context-Id", "AgentContextId", Value::Named("AgentContextId")),
    member!("Conversation-Context-Id", "ConversationContextId", Value::Named("ConversationContextId")),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::text::HEADERS;

    #[test]
    fn headers_match_text_encoding() {
        let documented: Vec<(String, String)> = EXECUTE_HEADERS
            .iter()
            .filter_map(|parameter| {
                let suffix = parameter.name.strip_prefix("X-Aptix-")?.to_ascii_lowercase();
                Some((suffix, parameter.description.split('`').nth(1)?.to_owned()))
            })
            .collect();
        let read: Vec<_> =
            HEADERS.iter().map(|(suffix, member)| ((*suffix).to_owned(), (*member).to_owned())).collect();
        assert_eq!(documented, read);
    }

    #[test]
    fn default_of_the_usage_report_is_documented() {
        let Value::Words(_, default) = Parameter::BY.value else { panic!("not words") };
        assert_eq!(default, Some(UsageGrouping::default().name()));
    }
}
