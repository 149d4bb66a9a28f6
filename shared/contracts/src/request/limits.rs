//! Limits of requests (I13): every limit that an error can name, except that of ids ([`crate::id::MAX_ID_CHARS`]).
//! The OpenAPI document takes its bounds from here.
//!
//! Lengths of text are counted in Unicode scalar values, as JSON Schema counts `maxLength`. Contents of artifacts
//! and images are limited only by the size of the body.

/// The whole body, in bytes. Lambda limits the serialized event to 6 MB, and base64 adds a third.
pub const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The whole body as a JSON string ([`escaped_len`]), in bytes. Gateways pass a text on in that form, within an event of
/// 6 MB. The rest of an event takes at most [`MAX_EVENT_OVERHEAD_BYTES`].
pub const MAX_ESCAPED_BODY_BYTES: usize = 6 * 1024 * 1024 - MAX_EVENT_OVERHEAD_BYTES;

/// The rest of an event: headers and query, which a gateway limits to 10,240 bytes and passes on twice, and claims.
pub const MAX_EVENT_OVERHEAD_BYTES: usize = 64 * 1024;

/// The message of a gateway that refuses a body. It can't tell which of the two limits was exceeded.
pub const TOO_LARGE_FOR_GATEWAY: &str = "The body is too large. It may have 4 MiB, and 6,225,920 bytes as a JSON string, in \
    which quotes, backslashes and line ends take two.";

/// Returns the length of a text as a JSON string, without its quotes.
#[must_use]
pub fn escaped_len(body: &str) -> usize {
    let length = |byte: u8| match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    body.bytes().map(length).sum()
}

/// The parts of a form. More than all members, artifacts and images together.
pub const MAX_FORM_PARTS: usize = 128;

/// The nesting depth of a body. The contract itself needs five levels.
pub const MAX_JSON_DEPTH: usize = 32;

/// The number of JSON values in a body, so that `[0,0,…` doesn't take forty times its size in memory.
pub const MAX_JSON_VALUES: usize = 50_000;

/// The number of violations reported for one request, the first ones in document order.
pub const MAX_REPORTED_VIOLATIONS: usize = 50;

/// `Instruction`.
pub const MAX_INSTRUCTION_CHARS: usize = 1_048_576;

/// `SolutionContextText`.
pub const MAX_SOLUTION_CONTEXT_CHARS: usize = 65_536;

/// `WorkspaceId`, `Repo`, and `Language` wherever it occurs.
pub const MAX_HINT_CHARS: usize = 256;

/// `InputArtifacts`.
pub const MAX_ARTIFACTS: usize = 64;

/// `RelativePath`.
pub const MAX_PATH_CHARS: usize = 1_024;

/// `FileName`.
pub const MAX_FILE_NAME_CHARS: usize = 255;

/// `MimeType`.
pub const MAX_MIME_TYPE_CHARS: usize = 255;

/// `ClipboardImages`.
pub const MAX_IMAGES: usize = 16;

/// A clipboard image's `Id`.
pub const MAX_IMAGE_ID_CHARS: usize = 128;

/// `RagScope.Conditions`.
pub const MAX_CONDITIONS: usize = 32;

/// A condition's `Key`.
pub const MAX_KEY_CHARS: usize = 128;

/// A condition's `Values`.
pub const MAX_VALUES: usize = 100;

/// One of a condition's `Values`.
pub const MAX_VALUE_CHARS: usize = 512;

/// `ToolResults`.
pub const MAX_TOOL_RESULTS: usize = 128;

/// `ToolCallId`.
pub const MAX_TOOL_CALL_ID_CHARS: usize = 256;

/// `ErrorMessage`.
pub const MAX_ERROR_MESSAGE_CHARS: usize = 65_536;

/// `ResultJson`.
pub const MAX_RESULT_JSON_CHARS: usize = 1_048_576;

/// A rerun's `Mode`.
pub const MAX_MODE_CHARS: usize = 128;

/// The highest `Rating` of a feedback. The lowest is 1.
pub const MAX_RATING: u8 = 5;

/// A feedback's `Label`.
pub const MAX_LABEL_CHARS: usize = 64;

/// A feedback's `Note`.
pub const MAX_NOTE_CHARS: usize = 4_096;

/// A session's `Name`.
pub const MAX_SESSION_NAME_CHARS: usize = 256;

/// A session's `Description`. Short, because it is written at every start and end of a turn.
pub const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// A session's `Category`.
pub const MAX_CATEGORY_CHARS: usize = 128;

/// A payload that is returned inline, in bytes. As large as a request body, and in base64 below the limit of a
/// buffered response.
pub const MAX_INLINE_BYTES: u64 = 4 * 1024 * 1024;

/// `q` of a search.
pub const MAX_QUERY_CHARS: usize = 256;

/// The words of a search.
pub const MAX_QUERY_WORDS: usize = 8;

/// The default `pageSize` of a list.
pub const DEFAULT_PAGE_SIZE: u32 = 50;

/// `pageSize` of a list.
pub const MAX_PAGE_SIZE: u32 = 100;

/// The budgets of an org.
pub const MAX_BUDGETS: usize = 32;

/// `ETag` of a document.
pub const MAX_ENTITY_TAG_CHARS: usize = 256;

/// A budget's `Id`.
pub const MAX_BUDGET_ID_CHARS: usize = 64;

/// `RetentionDays` of an org.
pub const MAX_RETENTION_DAYS: i64 = 3_650;

/// `MaxFileBytes` of an org's policy. No request is larger.
pub const MAX_FILE_BYTES: i64 = 4 * 1024 * 1024;

/// A list of an org's policy.
pub const MAX_POLICY_NAMES: usize = 64;

/// A name in a list of an org's policy.
pub const MAX_POLICY_NAME_CHARS: usize = 256;

/// A list of what an org's operators have disabled.
pub const MAX_DISABLED: usize = 256;

/// The `Limit` of a budget of concurrent turns. Their meter is one item with an attribute for each of them.
pub const MAX_CONCURRENT_TURNS: u64 = 500;

/// The meters of a budget in a report of their use.
pub const MAX_BUDGET_METERS: usize = 20;

/// The days of a usage report.
pub const MAX_USAGE_DAYS: i64 = 366;

/// The groups of a usage report.
pub const MAX_USAGE_GROUPS: usize = 5_000;

/// The tools of a usage report.
pub const MAX_USAGE_TOOLS: usize = 500;

/// The content of a document for agents, in bytes. In base64 it leaves room for the rest within [`MAX_BODY_BYTES`].
pub const MAX_KNOWLEDGE_BYTES: usize = 3_000_000;

/// The documents of an org for its agents.
pub const MAX_KNOWLEDGE_DOCUMENTS: usize = 1_000;

/// The `Attributes` of such a document.
pub const MAX_KNOWLEDGE_ATTRIBUTES: usize = 16;

/// The `AgentContextIds` of such a document.
pub const MAX_KNOWLEDGE_AGENTS: usize = 64;

/// A `FileId`.
pub const MAX_FILE_ID_CHARS: usize = 1_024;

/// The largest absolute value of an integer that every JSON reader keeps exactly: 2^53 − 1.
pub const MAX_SAFE_INTEGER: i64 = 9_007_199_254_740_991;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_length_is_that_of_the_json_string() {
        let every: String = (0_u8..0x80).map(char::from).chain("äß€🦀".chars()).collect();
        for text in ["", "plain", r#"{"a":"\"b\\"}"#, "two\r\nlines\t", every.as_str()] {
            assert_eq!(escaped_len(text) + 2, serde_json::to_string(text).unwrap().len(), "{text:?}");
        }
    }

    #[test]
    fn gateway_message_names_both_limits() {
        let digits: String = TOO_LARGE_FOR_GATEWAY.chars().filter(|char| *char != ',').collect();
        assert!(digits.contains(&format!("{} MiB", MAX_BODY_BYTES / (1024 * 1024))));
        assert!(digits.contains(&format!("{MAX_ESCAPED_BODY_BYTES} bytes")));
    }
}
