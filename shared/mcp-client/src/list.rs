//! The list of a server's tools.

use std::collections::HashSet;

use serde_json::Value;

use crate::tool::{self, ExcludedTool, Tool};

/// The largest number of pages.
pub(crate) const MAX_PAGES: usize = 64;
/// The largest number of tools.
const MAX_TOOLS: usize = 1000;
/// The longest cursor, in bytes.
const MAX_CURSOR: usize = 4096;

/// The tools of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolList {
    /// The tools that can be called, in the server's order.
    pub tools: Vec<Tool>,
    /// The other tools of the server.
    pub excluded: Vec<ExcludedTool>,
}

/// Reads the pages of a list.
#[derive(Default)]
pub(crate) struct Pages {
    list: ToolList,
    names: HashSet<String>,
    cursors: HashSet<String>,
}

impl Pages {
    /// Adds a page, and returns the cursor of the next one. A page that breaks a bound fails the list, since a part of
    /// it would look like the whole.
    pub(crate) fn add(&mut self, mut page: Value) -> Result<Option<String>, &'static str> {
        let Some(Value::Array(tools)) = page.get_mut("tools").map(Value::take) else {
            return Err("the list of tools has no array `tools`");
        };
        if self.list.tools.len() + self.list.excluded.len() + tools.len() > MAX_TOOLS {
            return Err("the server has more than 1000 tools");
        }
        for entry in tools {
            match tool::parse(entry) {
                Ok(tool) if self.names.insert(tool.name.clone()) => self.list.tools.push(tool),
                Ok(tool) => self.list.excluded.push(ExcludedTool {
                    name: tool.name,
                    reason: "another tool of the server has the same name".to_owned(),
                }),
                Err(excluded) => self.list.excluded.push(excluded),
            }
        }
        let cursor = match page.get("nextCursor") {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(cursor)) if cursor.len() <= MAX_CURSOR => cursor.clone(),
            Some(_) => return Err("the list of tools has an invalid cursor"),
        };
        if self.cursors.len() + 1 >= MAX_PAGES {
            return Err("the list of tools has more than 64 pages");
        }
        if !self.cursors.insert(cursor.clone()) {
            return Err("the list of tools repeats a cursor");
        }
        Ok(Some(cursor))
    }

    pub(crate) fn into_list(self) -> ToolList {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(names: &[&str], cursor: Option<&str>) -> Value {
        let tools: Vec<_> =
            names.iter().map(|name| json!({ "name": name, "inputSchema": { "type": "object" } })).collect();
        json!({ "tools": tools, "nextCursor": cursor })
    }

    #[test]
    fn pages_add_up_and_exclude_repeated_names() {
        let mut pages = Pages::default();
        assert_eq!(pages.add(page(&["a", "b"], Some("2"))), Ok(Some("2".to_owned())));
        assert_eq!(pages.add(page(&["b", "c"], None)), Ok(None));
        let list = pages.into_list();
        let names: Vec<_> = list.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(list.excluded.len(), 1);
    }

    #[test]
    fn list_without_an_end_fails() {
        let mut pages = Pages::default();
        pages.add(page(&["a"], Some("1"))).unwrap();
        assert_eq!(pages.add(page(&["b"], Some("1"))), Err("the list of tools repeats a cursor"));

        let mut pages = Pages::default();
        let fault = (0..).find_map(|n: usize| pages.add(page(&[], Some(&n.to_string()))).err());
        assert_eq!(fault, Some("the list of tools has more than 64 pages"));

        let many: Vec<String> = (0..=MAX_TOOLS).map(|n| format!("t{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(Pages::default().add(page(&many, None)), Err("the server has more than 1000 tools"));
    }
}
