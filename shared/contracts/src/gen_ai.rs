//! Names of the OpenTelemetry conventions for generative AI and MCP, as the functions' spans have them.
//!
//! The conventions are in development, and rename attributes. So the names stand here alone. They are those of November
//! 2026, after version 0.1.0 of <https://github.com/open-telemetry/semantic-conventions-genai>.

/// Defines the constants and the list of all of them.
macro_rules! attributes {
    ($($name:ident = $text:literal;)+) => {
        $(
            #[doc = concat!("Attribute `", $text, "`.")]
            pub const $name: &str = $text;
        )+

        /// All attributes.
        pub const ALL: &[&str] = &[$($name),+];
    };
}

attributes! {
    AGENT_ID = "gen_ai.agent.id";
    CONVERSATION_ID = "gen_ai.conversation.id";
    OPERATION_NAME = "gen_ai.operation.name";
    PROVIDER_NAME = "gen_ai.provider.name";
    REQUEST_MODEL = "gen_ai.request.model";
    REQUEST_STREAM = "gen_ai.request.stream";
    RESPONSE_ID = "gen_ai.response.id";
    RESPONSE_MODEL = "gen_ai.response.model";
    TOOL_CALL_ID = "gen_ai.tool.call.id";
    TOOL_NAME = "gen_ai.tool.name";
    TOOL_TYPE = "gen_ai.tool.type";
    USAGE_CACHE_READ_INPUT_TOKENS = "gen_ai.usage.cache_read.input_tokens";
    USAGE_CACHE_WRITE_INPUT_TOKENS = "gen_ai.usage.cache_write.input_tokens";
    USAGE_INPUT_TOKENS = "gen_ai.usage.input_tokens";
    USAGE_OUTPUT_TOKENS = "gen_ai.usage.output_tokens";
    USAGE_REASONING_OUTPUT_TOKENS = "gen_ai.usage.reasoning.output_tokens";
    MCP_METHOD_NAME = "mcp.method.name";
    MCP_PROTOCOL_VERSION = "mcp.protocol.version";
    MCP_SESSION_ID = "mcp.session.id";
}

/// The starts of the attributes' names.
pub const PREFIXES: [&str; 2] = ["gen_ai.", "mcp."];

/// Operation of a model call, the first word of its span's name.
pub const CHAT: &str = "chat";
/// Operation of a call for vectors.
pub const EMBEDDINGS: &str = "embeddings";
/// Operation of a tool call.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// Provider that offers OpenAI's APIs.
pub const OPENAI: &str = "openai";
/// Provider that offers Anthropic's API.
pub const ANTHROPIC: &str = "anthropic";
/// Amazon Bedrock.
pub const AWS_BEDROCK: &str = "aws.bedrock";

/// Type of a tool that its caller runs.
pub const FUNCTION: &str = "function";
/// Type of a tool that the agent's side runs by calling an API.
pub const EXTENSION: &str = "extension";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_lists_every_attribute_and_no_other() {
        let is_attribute = |text: &&str| PREFIXES.iter().any(|prefix| text.starts_with(prefix));
        let page = include_str!("../../../docs/reference/logs.md");
        let mut documented: Vec<&str> = page.split('`').filter(is_attribute).collect();
        documented.sort_unstable();
        documented.dedup();
        assert_eq!(documented, ALL, "sorted by name");
    }
}
