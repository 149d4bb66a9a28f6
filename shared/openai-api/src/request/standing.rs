//! The standing of each member of a request: what the service does with it.
//!
//! The parsers read these tables, and so does the page for users, [OpenAI clients](../../../../docs/guides/openai.md).

use serde_json::Value;

use super::members::Members;
use crate::error::ApiError;

/// What the service does with a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Honours it.
    Supported,
    /// Accepts it without an effect.
    Hint,
    /// Refuses it by name, since it asks for something that the caller wouldn't get. The values that ask for nothing are
    /// accepted; they are JSON texts.
    Refused(&'static [&'static str]),
}

/// A member of a request. A dot separates the names of a nested one.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its path.
    pub name: &'static str,
    /// Its standing.
    pub standing: Standing,
    /// What a caller should know: the effect, the reason, or the alternative of a refusal.
    pub note: &'static str,
}

const fn supported(name: &'static str, note: &'static str) -> Member {
    Member { name, standing: Standing::Supported, note }
}

const fn hint(name: &'static str, note: &'static str) -> Member {
    Member { name, standing: Standing::Hint, note }
}

const fn refused(name: &'static str, neutral: &'static [&'static str], note: &'static str) -> Member {
    Member { name, standing: Standing::Refused(neutral), note }
}

/// The members of `POST /v1/responses`.
pub const RESPONSES: &[Member] = &[
    refused("access_programs", &["{}"], "Omit it."),
    supported("background", "`true` answers at once; read the response later."),
    hint("background_options", "A turn in the background starts at once."),
    hint("cache_control", "Prompts are cached by their common start."),
    hint("client_metadata", ""),
    refused("context_management", &["[]"], "The service compacts long conversations itself."),
    supported("conversation", "A session. A turn is appended to it."),
    hint("image", "Images are sent as they are."),
    supported(
        "include",
        "`file_search_call.results` shows the [results](#vector-stores) of a search. Log probabilities are refused. The others concern items that no response here has.",
    ),
    supported("input", ""),
    supported("instructions", "Apply to this turn, after the agent's own prompt."),
    supported("max_output_tokens", ""),
    supported(
        "max_tool_calls",
        "Limits the provider's own tools in each model call. Other wires than the Responses API have no limit.",
    ),
    supported("metadata", "Stored and returned; not searched."),
    supported("model", "An agent, or a model that the agent's context names."),
    refused("moderation", &[], "Omit it."),
    supported("parallel_tool_calls", ""),
    supported("previous_response_id", "Continues its session, or forks it."),
    refused("prompt", &[], "Name an agent in 'model', or send 'instructions'."),
    hint("prompt_cache_key", "Stored and returned. The service sends its own key."),
    hint("prompt_cache_options", ""),
    hint("prompt_cache_retention", "Stored and returned."),
    supported("reasoning", ""),
    hint("reasoning.context", "The service replays the reasoning that the provider asks for."),
    supported("reasoning.effort", ""),
    supported("reasoning.generate_summary", "The older name of `reasoning.summary`."),
    hint("reasoning.mode", ""),
    supported("reasoning.summary", "Streamed as items, if the provider shows its reasoning."),
    hint("safety_identifier", "Stored and returned. The provider gets a pseudonym of the user."),
    hint("seed", ""),
    supported("service_tier", ""),
    supported(
        "store",
        "`false`: the content is removed once the turn is final, and no response continues it. Not with `conversation` or `background`.",
    ),
    supported("stream", ""),
    supported("stream_options", ""),
    refused("stream_options.include_obfuscation", &["false"], "Omit it."),
    supported("temperature", ""),
    supported("text", ""),
    supported("text.format", "`text`, `json_object` or `json_schema`."),
    supported("text.verbosity", ""),
    supported(
        "tool_choice",
        "`auto`, `none`, `required`, `allowed_tools`, a function, a custom tool or `file_search`.",
    ),
    supported(
        "tools",
        "Up to 128 tools of type `function` and `custom`, also within a `namespace`, and one `file_search` in [vector stores](#vector-stores). `web_search` needs a provider that is declared to run it. Otherwise it is left out and named in `x-aptix-ignored`, as `tool_search` is.",
    ),
    hint("top_k", ""),
    refused("top_logprobs", &["0"], "Log probabilities aren't available."),
    supported("top_p", ""),
    hint("truncation", "Long conversations are compacted, and never cut."),
    hint("user", "Stored and returned. Tenancy comes from the token."),
];

/// The members of `POST /v1/chat/completions`.
pub const CHAT: &[Member] = &[
    refused("audio", &[], "Answers are text."),
    hint("cache_control", "Prompts are cached by their common start."),
    hint("client_metadata", ""),
    refused("frequency_penalty", &["0", "0.0"], "Omit it."),
    refused("function_call", &["\"auto\"", "\"none\""], "Use 'tool_choice'."),
    refused("functions", &["[]"], "Use 'tools'."),
    refused("logit_bias", &["{}"], "Omit it."),
    refused("logprobs", &["false"], "Log probabilities aren't available."),
    supported("max_completion_tokens", ""),
    supported("max_tokens", ""),
    supported("messages", ""),
    supported("metadata", "Stored and returned; not searched."),
    refused("modalities", &["[\"text\"]"], "Answers are text."),
    supported("model", "An agent, or a model that the agent's context names."),
    refused("moderation", &[], "Omit it."),
    refused("n", &["1"], "A chat has one answer."),
    supported("parallel_tool_calls", ""),
    hint("prediction", ""),
    refused("presence_penalty", &["0", "0.0"], "Omit it."),
    hint("prompt_cache_key", "The service sends its own key."),
    hint("prompt_cache_options", ""),
    hint("prompt_cache_retention", ""),
    supported("reasoning_effort", ""),
    supported("response_format", "`text`, `json_object` or `json_schema`."),
    hint("safety_identifier", "The provider gets a pseudonym of the user."),
    hint("seed", ""),
    supported("service_tier", ""),
    supported("stop", "At most 4 texts. The Responses API of a provider has no such member."),
    supported("store", "`false`: the content is removed once the turn is final."),
    supported("stream", ""),
    supported("stream_options", ""),
    refused("stream_options.include_obfuscation", &["false"], "Omit it."),
    supported("stream_options.include_usage", ""),
    supported("temperature", ""),
    supported("tool_choice", "`auto`, `none`, `required`, `allowed_tools`, a function or a custom tool."),
    supported("tools", "Up to 128 tools of type `function` and `custom`."),
    hint("top_k", ""),
    refused("top_logprobs", &["0"], "Log probabilities aren't available."),
    supported("top_p", ""),
    hint("user", "Tenancy comes from the token."),
    supported("verbosity", ""),
    refused("web_search_options", &[], "The agent's context has the hosted tools."),
];

/// Returns the members of an object of a request, and their names. An empty path is the request itself.
fn of_object(table: &'static [Member], path: &str) -> impl Iterator<Item = (&'static str, Member)> {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
    table.iter().filter_map(move |member| {
        let name = member.name.strip_prefix(&prefix)?;
        (!name.contains('.')).then_some((name, *member))
    })
}

/// Reads an object of a request with the members that a table has at its path.
///
/// # Errors
/// If a member is refused or unknown.
pub(crate) fn read<'a>(
    value: &'a Value,
    path: &str,
    table: &'static [Member],
) -> Result<Members<'a>, ApiError> {
    let known: Vec<&str> = of_object(table, path).map(|(name, _)| name).collect();
    let members = Members::read(value, path, &known)?;
    for (name, member) in of_object(table, path) {
        let Standing::Refused(neutral) = member.standing else { continue };
        let Some(value) = members.get(name) else { continue };
        let asks_nothing = neutral
            .iter()
            .any(|text| serde_json::from_str(text).is_ok_and(|neutral: Value| neutral == *value));
        if !asks_nothing {
            return Err(members.unsupported(name, member.note));
        }
    }
    Ok(members)
}

/// Returns a table as Markdown, for the page of the users.
#[must_use]
pub fn markdown(table: &[Member]) -> String {
    let mut page = "| Member | Standing | |\n|---|---|---|\n".to_owned();
    for Member { name, standing, note } in table {
        let standing = match standing {
            Standing::Supported => "supported".to_owned(),
            Standing::Hint => "hint".to_owned(),
            Standing::Refused([]) => "refused".to_owned(),
            Standing::Refused(neutral) => {
                let neutral: Vec<String> = neutral.iter().map(|text| format!("`{text}`")).collect();
                format!("refused, unless {}", neutral.join(" or "))
            }
        };
        let cells = format!("| `{name}` | {standing} | {note} |");
        page.push_str(&cells.replace("|  |", "| |"));
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/openai.md");

    /// Returns the members of a published schema: of the request, and of its objects that the table names.
    fn published(schema: &str, table: &[Member]) -> Vec<String> {
        let schema: Value = serde_json::from_str(schema).unwrap();
        let names = |object: &Value| -> Vec<String> {
            let members = object["properties"].as_object();
            members.map(|members| members.keys().cloned().collect()).unwrap_or_default()
        };
        let is_object = |name: &str| table.iter().any(|member| member.name.starts_with(&format!("{name}.")));
        let mut members = names(&schema);
        for name in members.clone().into_iter().filter(|name| is_object(name)) {
            let member = &schema["properties"][&name];
            let choices = member["anyOf"].as_array().cloned().unwrap_or_else(|| vec![member.clone()]);
            for choice in choices {
                let reference =
                    choice["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
                let nested = reference.map(|name| names(&schema["$defs"][name])).unwrap_or_default();
                members.extend(nested.into_iter().map(|nested| format!("{name}.{nested}")));
            }
        }
        members
    }

    #[test]
    fn tables_have_every_published_member_once() {
        for (schema, table) in [
            (include_str!("../../../../infra/mock-model/schema/create-response.json"), RESPONSES),
            (include_str!("../../../../infra/mock-wires/schema/create-chat-completion.json"), CHAT),
        ] {
            let published = published(schema, table);
            assert!(published.len() > 30, "{published:?}");
            let has = |name: &String| table.iter().any(|member| member.name == name);
            let missing: Vec<&String> = published.iter().filter(|name| !has(name)).collect();
            assert!(missing.is_empty(), "give each a standing: {missing:?}");
            let names: Vec<&str> = table.iter().map(|member| member.name).collect();
            assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
            for Member { name, standing, note } in table {
                if let Standing::Refused(neutral) = standing {
                    assert!(!note.is_empty(), "{name} needs an alternative");
                    for text in *neutral {
                        let value: Value = serde_json::from_str(text).unwrap();
                        assert_eq!(value.to_string(), *text, "{name}");
                    }
                }
            }
        }
    }

    #[test]
    fn page_of_the_users_has_the_tables() {
        let mut page = std::fs::read_to_string(PAGE).unwrap();
        let committed = page.clone();
        for (title, table) in
            [("### Members of a response\n\n", RESPONSES), ("### Members of a chat completion\n\n", CHAT)]
        {
            let start = page.find(title).unwrap_or_else(|| panic!("no section {title}")) + title.len();
            let end = page[start..].find("\n\n").map_or(page.len(), |end| start + end + 1);
            page.replace_range(start..end, &markdown(table));
        }
        if std::env::var_os("WRITE_GENERATED").is_some() {
            std::fs::write(PAGE, &page).unwrap();
        } else {
            let command = "WRITE_GENERATED=1 cargo test --locked -p openai-api page_of_the_users";
            assert!(committed == page, "run `{command}`");
        }
    }
}
