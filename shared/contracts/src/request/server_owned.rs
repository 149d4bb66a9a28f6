//! The names that only the server may set (AGN-034 §2.1, §3; ruling: request envelope).
//!
//! Any unknown member is refused; these are refused with the reason, because older clients and the
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

/// Whether the server owns this name, in any spelling: `previous_response_id` counts too.
pub(super) fn owns(spelling: &str) -> bool {
    let alike = letters(spelling);
    NAMES.iter().any(|name| letters(name) == alike)
}

/// A name without case and separators, to recognize it in another style of spelling. It is cut at a
/// length that no name of the contract has, so that a name of a megabyte costs no more than a short one.
pub(super) fn letters(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).take(64).collect()
}
