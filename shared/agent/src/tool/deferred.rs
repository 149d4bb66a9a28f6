//! Tools that the model knows by name until it asks for them, so that many tools cost few tokens.
//!
//! Up to [`MAX_DIRECT_TOOLS`] tools of connections are offered with their definitions. Beyond that, the description of
//! `find_tools` lists names, and a definition is offered once `find_tools` has found it. A call of a tool that wasn't looked
//! for is valid all the same if its arguments match the schema. It works with every model, since it needs no feature of a
//! provider.

use std::{cmp::Reverse, collections::BTreeSet};

use serde_json::{Value, json};

use super::{Definition, FIND_TOOLS, remote::RemoteTool};
use crate::text::{tokens, truncate};

/// The most tools of connections that are offered with their definitions from the start.
pub const MAX_DIRECT_TOOLS: usize = 32;
/// The most tools of connections that a turn has.
pub const MAX_DEFERRED_TOOLS: usize = 512;
/// The most tools that a turn offers because they were found. The newest stay.
pub const MAX_FOUND_TOOLS: usize = 32;
/// The estimated tokens of the names in the description of `find_tools`.
const NAME_TOKENS: u32 = 1_200;
/// The most tools that one search finds.
const MAX_MATCHES: usize = 8;
/// The most bytes of a tool's line.
const MAX_LINE_BYTES: usize = 160;

/// True if the definitions of these tools are offered only after a search.
#[must_use]
pub fn are_deferred(remote: &[RemoteTool]) -> bool {
    remote.len() > MAX_DIRECT_TOOLS
}

/// Returns the definition of `find_tools` with the names of the tools, as many as have room.
#[must_use]
pub fn with_names(find_tools: &Definition, remote: &[RemoteTool]) -> Definition {
    let mut list = String::new();
    let mut connection = "";
    let mut listed: usize = 0;
    for tool in remote {
        let is_new = tool.connection != connection;
        let separator = if is_new { format!("\n{}__: ", tool.connection) } else { ", ".to_owned() };
        let entry = format!("{separator}{}", tool.tool_name());
        if tokens(&list).saturating_add(tokens(&entry)) > NAME_TOKENS {
            break;
        }
        connection = &tool.connection;
        list += &entry;
        listed += 1;
    }
    let more = match remote.len().saturating_sub(listed) {
        0 => String::new(),
        more => format!("\n{more} more aren't listed: search for them."),
    };
    let description = format!(
        "{} There are {} tools. Each is called by its prefix and its name:{list}{more}",
        find_tools.description,
        remote.len()
    );
    Definition { description, ..find_tools.clone() }
}

/// Returns the definitions for a request: all but those that nobody has looked for.
#[must_use]
pub fn offered(
    definitions: &[Definition],
    remote: &[RemoteTool],
    found: &[String],
    choice: Option<&String>,
) -> Vec<Definition> {
    let is_searchable = are_deferred(remote) && definitions.iter().any(|tool| tool.name == FIND_TOOLS);
    let deferred: BTreeSet<&str> = match is_searchable {
        true => remote.iter().map(|tool| tool.definition.name.as_str()).collect(),
        false => BTreeSet::new(),
    };
    let is_offered = |tool: &&Definition| {
        !deferred.contains(tool.name.as_str()) || found.contains(&tool.name) || choice == Some(&tool.name)
    };
    definitions.iter().filter(is_offered).cloned().collect()
}

/// Returns the tools that match a query best: those that it names, then those with the most of its words.
#[must_use]
pub fn find<'a>(remote: &'a [RemoteTool], query: &str) -> Vec<&'a RemoteTool> {
    let lower = query.to_lowercase();
    let words: BTreeSet<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).collect();
    let score = |tool: &RemoteTool| {
        let (name, description) =
            (tool.definition.name.to_lowercase(), tool.definition.description.to_lowercase());
        let is_named = lower.contains(&name) || lower.contains(&name.replacen("__", ".", 1));
        let hits =
            |text: &str, weight: usize| weight * words.iter().filter(|word| text.contains(**word)).count();
        usize::from(is_named) * 1_000 + hits(&name, 3) + hits(&description, 1)
    };
    let mut scored: Vec<(usize, &RemoteTool)> =
        remote.iter().map(|tool| (score(tool), tool)).filter(|(score, _)| *score > 0).collect();
    scored.sort_by_key(|(score, _)| Reverse(*score));
    scored.into_iter().take(MAX_MATCHES).map(|(_, tool)| tool).collect()
}

/// Returns what the model gets of a search.
#[must_use]
pub fn search_result(found: &[&RemoteTool]) -> Value {
    let line = |tool: &&RemoteTool| {
        let first = tool.definition.description.lines().next().unwrap_or_default();
        json!({ "name": tool.definition.name, "description": truncate(first.to_owned(), MAX_LINE_BYTES) })
    };
    let note = match found {
        [] => "No tool matches. Search with other words.",
        _ => "These tools can be called now. Search again for others.",
    };
    json!({ "tools": found.iter().map(line).collect::<Vec<_>>(), "note": note })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{
        ExecutedBy,
        remote::{CallTerms, EffectClass},
    };

    fn definition(name: &str, description: &str) -> Definition {
        Definition {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({ "type": "object", "properties": {} }),
            usage: None,
            executed_by: ExecutedBy::Server,
            strict: false,
        }
    }

    fn tool(connection: &str, name: &str, description: &str) -> RemoteTool {
        RemoteTool {
            definition: definition(&format!("{connection}__{name}"), description),
            connection: connection.to_owned(),
            revision: 1,
            class: EffectClass::Effect,
            terms: CallTerms::default(),
            target: Value::Null,
        }
    }

    fn many(count: usize) -> Vec<RemoteTool> {
        (0..count).map(|n| tool("hub", &format!("list_repository_{n}"), "Lists a repository.")).collect()
    }

    #[test]
    fn few_tools_are_offered_and_many_are_not_until_they_are_found() {
        for (count, offered_count) in [(MAX_DIRECT_TOOLS, MAX_DIRECT_TOOLS + 1), (MAX_DIRECT_TOOLS + 1, 2)] {
            let remote = many(count);
            let mut definitions: Vec<Definition> =
                remote.iter().map(|tool| tool.definition.clone()).collect();
            definitions.push(definition(FIND_TOOLS, "Find tools."));
            let found = ["hub__list_repository_3".to_owned()];
            assert_eq!(offered(&definitions, &remote, &found, None).len(), offered_count);
            let choice = Some("hub__list_repository_4".to_owned());
            let chosen = offered(&definitions, &remote, &[], choice.as_ref());
            assert!(chosen.iter().any(|tool| Some(&tool.name) == choice.as_ref()));
        }
    }

    #[test]
    fn names_have_a_bounded_size_and_say_how_many_are_missing() {
        let few = with_names(&definition(FIND_TOOLS, "Find tools."), &many(40)).description;
        assert!(
            few.contains("hub__: list_repository_0, list_repository_1,") && !few.contains("more aren't"),
            "{few}"
        );
        let all = with_names(&definition(FIND_TOOLS, "Find tools."), &many(512)).description;
        assert!(all.contains("There are 512 tools.") && all.contains(" more aren't listed"), "{all}");
        assert!(tokens(&all) < NAME_TOKENS + 100, "{}", tokens(&all));
    }

    #[test]
    fn search_finds_names_before_words() {
        let mut remote = many(40);
        remote.push(tool("desk", "create_ticket", "Files a ticket with the help desk.\nSecond line."));
        remote.push(tool("desk", "close", "Closes a ticket."));
        let names = |query: &str| -> Vec<String> {
            find(&remote, query).iter().map(|tool| tool.definition.name.clone()).collect()
        };
        assert_eq!(names("file a ticket"), ["desk__create_ticket", "desk__close"]);
        assert_eq!(names("desk.close")[0], "desk__close");
        assert_eq!(names("hub__list_repository_7")[0], "hub__list_repository_7");
        assert_eq!(names("repository").len(), MAX_MATCHES);
        assert!(names("zzz").is_empty());
        let shown = search_result(&find(&remote, "file a ticket"));
        assert_eq!(shown["tools"][0]["description"], "Files a ticket with the help desk.");
    }
}
