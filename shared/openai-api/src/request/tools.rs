//! The tools of a request, and the form in which responses show them and their calls.

use agent::model::freeform;
use contracts::{ContentHash, request::FunctionTool};
use serde_json::{Value, json};

use super::{
    file_search::{FILE_SEARCH, FileSearch},
    ignored::ignore,
    members::Members,
};
use crate::{error::ApiError, json_object::set};

/// The members of a function.
const FUNCTION: &[&str] =
    &["type", "name", "description", "parameters", "strict", "allowed_callers", "async"];
/// The members of a web search. They go to the provider as they are.
const WEB_SEARCH: &[&str] = &[
    "type",
    "filters",
    "search_context_size",
    "user_location",
    "external_web_access",
    "search_content_types",
];
/// The types of a web search.
const WEB_SEARCH_TYPES: &[&str] =
    &["web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"];
/// The type of tools that the client loads later. They are left out, and the response names them: coding agents send them
/// beside their functions, and work without.
const TOOL_SEARCH: &str = "tool_search";
/// The longest name of a tool.
const MAX_NAME_CHARS: usize = 64;
/// The characters of a shortened name before its hash.
const KEPT_CHARS: usize = 55;

/// The tools of a response's request.
#[derive(Debug, Default)]
pub(super) struct Tools {
    /// The tools that the client runs.
    pub(super) tools: Vec<FunctionTool>,
    /// The web search, if a provider of the deployment runs it for clients.
    pub(super) web_search: Option<Value>,
    /// The search in vector stores.
    pub(super) file_search: Option<FileSearch>,
    /// The tools as the response shows them.
    pub(super) shown: Vec<Value>,
}

impl Tools {
    /// Reads `tools`.
    pub(super) fn read(members: &Members<'_>, searches_web: bool) -> Result<Self, ApiError> {
        let mut read = Self::default();
        each(members, |kind, tool, path| {
            match kind {
                "function" | "custom" => {
                    let own = own_tool(kind, tool, path)?;
                    read.shown.push(shown(&own));
                    read.tools.push(own);
                }
                "namespace" => read.namespace(tool, path)?,
                kind if searches_web && WEB_SEARCH_TYPES.contains(&kind) => {
                    let search = Members::read(tool, path, WEB_SEARCH)?;
                    let known = WEB_SEARCH
                        .iter()
                        .filter_map(|name| Some(((*name).to_owned(), search.get(name)?.clone())));
                    let search = Value::Object(known.collect());
                    read.shown.push(search.clone());
                    read.web_search = Some(search);
                }
                FILE_SEARCH if read.file_search.is_some() => {
                    return Err(ApiError::value(path, "is the second file search; name all stores in one"));
                }
                FILE_SEARCH => {
                    read.file_search = Some(FileSearch::read(tool, path)?);
                    read.shown.push(tool.clone());
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(read)
    }

    /// Reads a namespace. The model gets its tools with the namespace in their names.
    fn namespace(&mut self, tool: &Value, path: &str) -> Result<(), ApiError> {
        let members = Members::read(tool, path, &["type", "name", "description", "tools"])?;
        let namespace = members.required_text("name")?;
        let mut inner = Vec::new();
        for (n, tool) in members.list("tools")?.iter().enumerate() {
            let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
            let own = own_tool(kind, tool, &format!("{path}.tools[{n}]"))?;
            inner.push(shown(&own));
            self.tools.push(FunctionTool { name: flat_name(Some(namespace), &own.name), ..own });
        }
        let description = members.text("description")?.unwrap_or_default();
        self.shown.push(
            json!({"type": "namespace", "name": namespace, "description": description, "tools": inner}),
        );
        Ok(())
    }
}

/// Reads each tool, with its type and its path. `read` returns false for a type that it doesn't know.
pub(crate) fn each(
    members: &Members<'_>,
    mut read: impl FnMut(&str, &Value, &str) -> Result<bool, ApiError>,
) -> Result<(), ApiError> {
    for (n, tool) in members.list("tools")?.iter().enumerate() {
        let path = format!("tools[{n}]");
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
        let is_left_out = kind == TOOL_SEARCH || kind == "namespace" || WEB_SEARCH_TYPES.contains(&kind);
        if !(read(kind, tool, &path)? || is_left_out && ignore(path.clone())) {
            let alternative = format!(
                "'{kind}' tools come with the agent's context; send tools of type 'function' or 'custom'."
            );
            return Err(ApiError::unsupported(&format!("{path}.type"), &alternative));
        }
    }
    Ok(())
}

/// Reads a tool that the client runs.
fn own_tool(kind: &str, tool: &Value, path: &str) -> Result<FunctionTool, ApiError> {
    match kind {
        "function" => function(tool, path, FUNCTION),
        "custom" => {
            let known = ["type", "name", "description", "format", "allowed_callers", "async"];
            let members = Members::read(tool, path, &known)?;
            custom(&members, members.get("format"))
        }
        _ => Err(ApiError::value(&format!("{path}.type"), "must be 'function' or 'custom'")),
    }
}

/// Reads a function, which may have these members.
pub(crate) fn function(function: &Value, path: &str, known: &[&str]) -> Result<FunctionTool, ApiError> {
    let members = Members::read(function, path, known)?;
    let name = members.required_text("name")?.to_owned();
    let description = members.text("description")?.filter(|text| !text.trim().is_empty());
    let no_arguments = json!({"type": "object", "properties": {}, "additionalProperties": false});
    Ok(FunctionTool {
        // A model can't choose a tool without a description.
        description: description.unwrap_or(&name).to_owned(),
        parameters: members.get("parameters").cloned().unwrap_or(no_arguments),
        strict: members.flag("strict")?.unwrap_or_default(),
        name,
        format: None,
    })
}

/// Reads a freeform tool with this format.
pub(crate) fn custom(members: &Members<'_>, format: Option<&Value>) -> Result<FunctionTool, ApiError> {
    let name = members.required_text("name")?.to_owned();
    let description = members.text("description")?.filter(|text| !text.trim().is_empty());
    let text = json!({"type": "text"});
    let format = format.unwrap_or(&text);
    let path = members.param("format");
    let format = match format.get("type").and_then(Value::as_str) {
        Some("text") => text,
        Some("grammar") => {
            let grammar = Members::read(format, &path, &["type", "syntax", "definition"])?;
            let syntax = grammar.required_text("syntax")?;
            if !matches!(syntax, "lark" | "regex") {
                return Err(grammar.rule("syntax", "must be 'lark' or 'regex'"));
            }
            json!({"type": "grammar", "syntax": syntax, "definition": grammar.required_text("definition")?})
        }
        _ => return Err(ApiError::value(&format!("{path}.type"), "must be 'text' or 'grammar'")),
    };
    Ok(FunctionTool {
        description: description.unwrap_or(&name).to_owned(),
        parameters: freeform::parameters(),
        strict: false,
        name,
        format: Some(format),
    })
}

/// Returns a tool as a response shows it.
fn shown(tool: &FunctionTool) -> Value {
    let FunctionTool { name, description, parameters, strict, format } = tool;
    match format {
        Some(format) => {
            json!({"type": "custom", "name": name, "description": description, "format": format})
        }
        None => json!({
            "type": "function", "name": name, "description": description, "parameters": parameters, "strict": strict,
        }),
    }
}

/// Returns the name under which the model knows a tool: of a namespace, both names. A long one ends with a hash.
pub(crate) fn flat_name(namespace: Option<&str>, name: &str) -> String {
    let Some(namespace) = namespace else { return name.to_owned() };
    let flat = format!("{namespace}__{name}");
    if flat.chars().count() <= MAX_NAME_CHARS {
        return flat;
    }
    let kept: String = flat.chars().take(KEPT_CHARS).collect();
    let hash: String = ContentHash::hash_bytes(flat.as_bytes()).to_string().chars().take(8).collect();
    format!("{kept}_{hash}")
}

/// A tool of the client that a model called, as its request had it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CalledTool<'a> {
    /// True if its input is a text.
    pub(crate) is_freeform: bool,
    /// The namespace.
    namespace: Option<&'a str>,
    /// The name within the namespace.
    name: &'a str,
}

impl<'a> CalledTool<'a> {
    /// Finds a tool among those that a response shows. The one of a name that isn't there is a function.
    pub(crate) fn find(shown: Option<&'a Value>, called: &'a str) -> Self {
        let text = |tool: &'a Value, name: &str| tool.get(name).and_then(Value::as_str);
        let list = |tool: &'a Value| tool.as_array().into_iter().flatten();
        let own = shown.into_iter().flat_map(list).flat_map(|tool| match text(tool, "type") {
            Some("namespace") => {
                let inner = tool.get("tools").into_iter().flat_map(list);
                inner.map(|inner| (text(tool, "name"), inner)).collect()
            }
            _ => vec![(None, tool)],
        });
        let mut found = own.filter_map(|(namespace, tool)| {
            let name = text(tool, "name")?;
            let is_freeform = text(tool, "type") == Some("custom");
            (flat_name(namespace, name) == called).then_some(Self { is_freeform, namespace, name })
        });
        found.next().unwrap_or(Self { is_freeform: false, namespace: None, name: called })
    }

    /// Returns the type of an item with a call.
    pub(crate) fn call_type(self) -> &'static str {
        if self.is_freeform { "custom_tool_call" } else { "function_call" }
    }

    /// Returns what a call has, as its item shows it.
    pub(crate) fn content(self, arguments: &str) -> String {
        if self.is_freeform { freeform::input(arguments).into_owned() } else { arguments.to_owned() }
    }

    /// Adds the names and the content of a call to an item.
    pub(crate) fn write(self, item: &mut Value, content: &str) {
        set(item, "name", json!(self.name));
        if let Some(namespace) = self.namespace {
            set(item, "namespace", json!(namespace));
        }
        set(item, if self.is_freeform { "input" } else { "arguments" }, json!(content));
    }
}

/// Returns the names of the freeform tools among these.
pub(crate) fn freeform_names(tools: &[FunctionTool]) -> Vec<String> {
    tools.iter().filter(|tool| tool.format.is_some()).map(|tool| tool.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_namespace_fits_and_finds_its_tool() {
        let long = "n".repeat(60);
        let names = [flat_name(Some(&long), "alpha"), flat_name(Some(&long), "beta")];
        assert!(names[0] != names[1] && names.iter().all(|name| name.len() == MAX_NAME_CHARS), "{names:?}");
        let shown = json!([
            {"type": "namespace", "name": long, "tools": [
                {"type": "function", "name": "alpha"}, {"type": "custom", "name": "beta"}]},
            {"type": "custom", "name": "patch"},
        ]);
        let found = CalledTool::find(Some(&shown), &names[1]);
        assert_eq!(found, CalledTool { is_freeform: true, namespace: Some(&long), name: "beta" });
        let found = CalledTool::find(Some(&shown), "look");
        assert_eq!(found, CalledTool { is_freeform: false, namespace: None, name: "look" });
    }
}
