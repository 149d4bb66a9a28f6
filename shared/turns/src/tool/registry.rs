//! The server's tools by name, checked when the function starts.

use std::{collections::BTreeMap, fmt};

use contracts::NonEmpty;

use super::{
    AGENT_CHANGE_MODE, Definition, ExecutedBy, ServerTool,
    check::{Fault, Faults, Why, inspect},
    schema::Schema,
};

/// Every tool that this service can run.
#[derive(Debug)]
pub struct Registry {
    tools: BTreeMap<String, Entry>,
}

/// A tool with its compiled schema.
pub(super) struct Entry {
    pub(super) tool: Box<dyn ServerTool>,
    pub(super) schema: Schema,
}

impl Registry {
    /// Checks the tools.
    ///
    /// # Errors
    /// All faults: of every definition, of doubled names, of tools that are not the server's, and of a
    /// missing `agent_change_mode`.
    pub fn new(tools: Vec<Box<dyn ServerTool>>) -> Result<Self, Faults> {
        let mut faults = Vec::new();
        let mut known: BTreeMap<String, Entry> = BTreeMap::new();
        for tool in tools {
            let name = tool.definition().name.clone();
            let mut add = |why| faults.push(Fault { tool: name.clone(), why });
            if known.contains_key(&name) {
                add(Why::Doubled);
            }
            if tool.definition().executed_by != ExecutedBy::Server {
                add(Why::NotRunByServer);
            }
            let (schema, its) = inspect(tool.definition());
            faults.extend(its);
            if let Some(schema) = schema {
                known.entry(name).or_insert(Entry { tool, schema });
            }
        }
        if !known.contains_key(AGENT_CHANGE_MODE) {
            faults.push(Fault { tool: AGENT_CHANGE_MODE.to_owned(), why: Why::Missing });
        }
        match NonEmpty::new(faults) {
            Ok(faults) => Err(Faults(faults)),
            Err(_) => Ok(Self { tools: known }),
        }
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

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(self.tool.definition()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{built_in, run::tests::Scripted};

    #[test]
    fn the_built_in_tools_are_good() {
        let registry = Registry::new(built_in()).unwrap();
        let names: Vec<&str> = registry.names().collect();
        assert_eq!(names, ["agent_change_mode", "agent_list_modes", "code_hash_normalized", "publish_file"]);
        assert!(registry.definitions().all(|tool| tool.usage.is_some()));
        assert!(registry.get("none").is_none());
    }

    #[test]
    fn a_bad_registry_is_refused_with_all_its_faults() {
        let mut of_client = Scripted::named("of_client");
        of_client.definition.executed_by = ExecutedBy::Client;
        let mut open = Scripted::named("open");
        open.definition.parameters = serde_json::json!({ "type": "objekt" });
        let tools: Vec<Box<dyn ServerTool>> = vec![
            Box::new(Scripted::named("twice")),
            Box::new(Scripted::named("twice")),
            Box::new(of_client),
            Box::new(open),
        ];
        let faults = Registry::new(tools).unwrap_err();
        let told: Vec<(&str, &Why)> =
            faults.0.iter().map(|fault| (fault.tool.as_str(), &fault.why)).collect();
        assert_eq!(told[0], ("twice", &Why::Doubled));
        assert_eq!(told[1], ("of_client", &Why::NotRunByServer));
        assert_eq!(told[2], ("open", &Why::NotAnObject));
        assert!(matches!(told[3], ("open", Why::Schema(_))));
        assert_eq!(told[4], (AGENT_CHANGE_MODE, &Why::Missing));
        assert!(faults.to_string().contains("tool \"twice\" is there more than once; "), "{faults}");
    }
}
