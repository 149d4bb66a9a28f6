//! The server's tools by name, checked when the function starts.

use std::{collections::BTreeMap, fmt, sync::OnceLock};

use super::{
    AGENT_CHANGE_MODE, Definition, ExecutedBy, ServerTool,
    definition_check::{Why, check_own},
    schema::Schema,
};
use crate::fault::{Faults, Found};

/// Every tool that this service can run.
#[derive(Debug)]
pub struct Registry {
    tools: BTreeMap<String, Entry>,
}

/// A tool with its schema, which is compiled when the tool is first called.
pub(super) struct Entry {
    pub(super) tool: Box<dyn ServerTool>,
    schema: OnceLock<Option<Schema>>,
}

impl Entry {
    /// What its arguments are held to; none where the schema is no usable one.
    pub(super) fn schema(&self) -> Option<&Schema> {
        let compile = || Schema::compile(&self.tool.definition().parameters).ok();
        self.schema.get_or_init(compile).as_ref()
    }
}

impl Registry {
    /// Checks the tools.
    ///
    /// # Errors
    /// All faults: of every definition, of doubled names, of tools that are not the server's, and of a
    /// missing `agent_change_mode`.
    pub fn new(tools: Vec<Box<dyn ServerTool>>) -> Result<Self, Faults> {
        let mut found = Found::default();
        let mut known: BTreeMap<String, Entry> = BTreeMap::new();
        for tool in tools {
            let name = tool.definition().name.clone();
            let at = place(&name);
            let mut add = |why: Why| found.add(at.as_str(), why);
            if known.contains_key(&name) {
                add(Why::Doubled);
            }
            if tool.definition().executed_by != ExecutedBy::Server {
                add(Why::NotRunByServer);
            }
            check_own(tool.definition()).into_iter().for_each(add);
            known.entry(name).or_insert(Entry { tool, schema: OnceLock::new() });
        }
        if !known.contains_key(AGENT_CHANGE_MODE) {
            found.add(place(AGENT_CHANGE_MODE), Why::Missing);
        }
        found.check().map(|()| Self { tools: known })
    }

    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&dyn ServerTool> {
        self.tools.get(name).map(|entry| entry.tool.as_ref())
    }

    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.tools.get(name)
    }

    /// What the model can be told of them, by name.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.tools.values().map(|entry| entry.tool.definition())
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }
}

/// A tool, as faults name it.
fn place(name: &str) -> String {
    format!("tool {name:?}")
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(self.tool.definition()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{built_in, check, run::tests::Scripted};

    #[test]
    fn the_built_in_tools_are_good() {
        let registry = Registry::new(built_in()).unwrap();
        let names: Vec<&str> = registry.names().collect();
        assert_eq!(
            names,
            [
                "agent_change_mode",
                "agent_list_modes",
                "code_hash_normalized",
                "publish_file",
                "search_context"
            ]
        );
        assert!(registry.definitions().all(|tool| tool.usage.is_some() && check(tool).is_empty()));
        assert!(registry.get("none").is_none());
    }

    #[test]
    fn a_bad_registry_is_refused_with_all_its_faults() {
        let mut of_client = Scripted::named("of_client");
        of_client.definition.executed_by = ExecutedBy::Client;
        let mut open = Scripted::named("open");
        open.definition.parameters = serde_json::json!({ "type": "string" });
        let tools: Vec<Box<dyn ServerTool>> = vec![
            Box::new(Scripted::named("twice")),
            Box::new(Scripted::named("twice")),
            Box::new(of_client),
            Box::new(open),
        ];
        let faults = Registry::new(tools).unwrap_err();
        let told: Vec<(&str, &str)> =
            faults.as_slice().iter().map(|fault| (fault.at.as_str(), fault.what.as_str())).collect();
        let expected = [
            ("tool \"twice\"", "is there more than once"),
            ("tool \"of_client\"", "is said to be run by the client"),
            ("tool \"open\"", "needs a schema with"),
            ("tool \"agent_change_mode\"", "is missing"),
        ];
        assert_eq!(told.len(), expected.len(), "{faults}");
        for ((at, what), (expected_at, expected_what)) in told.into_iter().zip(expected) {
            assert!(at == expected_at && what.starts_with(expected_what), "{at}: {what}");
        }
    }
}
