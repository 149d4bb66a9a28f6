//! Names that only the server may set.
//!
//! Every unknown member is rejected. These are rejected with a specific reason, because older clients and the
//! internal turn request use them.

/// Mode, provider state, tool schemas, prompts, identity, diagnostics and the response's own members.
const NAMES: &[&str] = &[
    "Mode",
    "ModeId",
    "ModeKey",
    "ModeName",
    "ModeDisplayName",
    "ConversationId",
    "ResponseContinuationId",
    "ResponseId",
    "PreviousResponseId",
    "OpenAIResponseId",
    "PreviousOpenAIResponseId",
    "OpenAIModel",
    "Model",
    "ModelId",
    "ModelName",
    "Temperature",
    "MaxOutputTokens",
    "System",
    "SystemPrompt",
    "Instructions",
    "Tools",
    "ToolsJson",
    "ToolChoice",
    "ToolChoiceName",
    "ToolResultsJson",
    "ToolCalls",
    "ToolContinuationMessage",
    "PrimaryOutputText",
    "Kind",
    "CorrelationId",
    "RequestId",
    "TraceId",
    "Diagnostics",
    "Org",
    "OrgId",
    "OwnerOrganization",
    "TenantId",
    "User",
    "UserId",
    "OwnerUser",
    "CreatedByUser",
    "SequenceNumber",
    "Status",
];

/// True if the server owns this name, in any spelling, for example `previous_response_id`.
pub(super) fn is_server_owned(spelling: &str) -> bool {
    let normalized = normalize(spelling);
    NAMES.iter().any(|name| normalize(name) == normalized)
}

/// Removes case and separators from a name, to recognize it in another naming style. Truncates it beyond any name
/// of the contract, so that a name of a megabyte costs no more than a short one.
pub(super) fn normalize(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).take(64).collect()
}
