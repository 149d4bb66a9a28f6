//! The registry of the server's tools, checked when the function starts.

use std::{collections::BTreeMap, fmt, sync::OnceLock};

use super::{
    AGENT_CHANGE_MODE, Definition, ExecutedBy, ServerTool, built_in,
    check::{DefinitionFault, check_built_in},
    schema::Schema,
};
use crate::fault::{FaultCollector, Faults};

/// The tools that this service can run, by name.
#[derive(Debug)]
pub struct Registry {
    tools: BTreeMap<String, Entry>,
    /// The tools that come with tools of connections.
    of_connections: BTreeMap<String, Entry>,
}

/// A tool with its schema, which is compiled at the tool's first call.
pub(super) struct Entry {
    pub(super) tool: Box<dyn ServerTool>,
    schema: OnceLock<Option<Schema>>,
}

impl Entry {
    /// Returns the compiled schema of the arguments, or `None` if it is invalid.
    pub(super) fn schema(&self) -> Option<&Schema> {
        let compile = || Schema::compile(&self.tool.definition().parameters).ok();
        self.schema.get_or_init(compile).as_ref()
    }
}

impl Registry {
    /// Checks the tools and creates the registry.
    ///
    /// # Errors
    /// Returns all faults: of every definition, of duplicate names, of tools that the client should run, and of a
    /// missing `agent_change_mode`.
    pub fn new(tools: Vec<Box<dyn ServerTool>>) -> Result<Self, Faults> {
        let mut faults = FaultCollector::default();
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        for tool in tools {
            let name = tool.definition().name.clone();
            let at = fault_location(&name);
            let mut add = |fault: DefinitionFault| faults.add(at.as_str(), fault);
            if entries.contains_key(&name) {
                add(DefinitionFault::Duplicate);
            }
            if tool.definition().executed_by != ExecutedBy::Server {
                add(DefinitionFault::NotRunByServer);
            }
            check_built_in(tool.definition()).into_iter().for_each(add);
            entries.entry(name).or_insert(Entry { tool, schema: OnceLock::new() });
        }
        if !entries.contains_key(AGENT_CHANGE_MODE) {
            faults.add(fault_location(AGENT_CHANGE_MODE), DefinitionFault::Missing);
        }
        let of_connections = built_in::of_connections()
            .into_iter()
            .map(|tool| (tool.definition().name.clone(), Entry { tool, schema: OnceLock::new() }));
        faults.finish().map(|()| Self { tools: entries, of_connections: of_connections.collect() })
    }

    /// Returns the tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&dyn ServerTool> {
        self.tools.get(name).map(|entry| entry.tool.as_ref())
    }

    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.tools.get(name).or_else(|| self.of_connections.get(name))
    }

    /// Returns the definition of a tool that comes with tools of connections.
    #[must_use]
    pub fn of_connections(&self, name: &str) -> Option<&Definition> {
        self.of_connections.get(name).map(|entry| entry.tool.definition())
    }

    /// Returns the definitions, ordered by name.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.tools.values().map(|entry| entry.tool.definition())
    }

    /// Returns the names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }
}

/// Returns a tool's location for faults.
fn fault_location(name: &str) -> String {
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
    use crate::tool::{built_in, check, fake_tool::FakeTool};

    #[test]
    fn built_in_tools_are_valid() {
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
    fn invalid_registry_reports_all_faults() {
        let mut of_client = FakeTool::named("of_client");
        of_client.definition.executed_by = ExecutedBy::Client;
        let mut not_object = FakeTool::named("open");
        not_object.definition.parameters = serde_json::json!({ "type": "string" });
        let tools: Vec<Box<dyn ServerTool>> = vec![
            Box::new(FakeTool::named("twice")),
            Box::new(FakeTool::named("twice")),
            Box::new(of_client),
            Box::new(not_object),
        ];
        let faults = Registry::new(tools).unwrap_err();
        let actual: Vec<(&str, &str)> =
            faults.as_slice().iter().map(|fault| (fault.path.as_str(), fault.message.as_str())).collect();
        let expected = [
            ("tool \"twice\"", "is registered more than once"),
            ("tool \"of_client\"", "is declared as a client tool"),
            ("tool \"open\"", "needs a schema with"),
            ("tool \"agent_change_mode\"", "is missing"),
        ];
        assert_eq!(actual.len(), expected.len(), "{faults}");
        for ((at, what), (expected_at, expected_what)) in actual.into_iter().zip(expected) {
            assert!(at == expected_at && what.starts_with(expected_what), "{at}: {what}");
        }
    }
}
