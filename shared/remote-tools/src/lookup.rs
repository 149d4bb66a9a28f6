//! The read that finds a call by its key.

use agent::{
    connection::{ConnectionTarget, HttpMethod, Protocol},
    tool::remote::{EffectClass, RemoteTool},
};
use serde_json::json;

/// The argument of the path.
pub(crate) const KEY: &str = "key";

/// Returns the read that finds a call of a tool, as a tool with one argument. `None` if its connection names no way.
pub(crate) fn read_of(tool: &RemoteTool) -> Option<(ConnectionTarget, RemoteTool)> {
    let target: ConnectionTarget = serde_json::from_value(tool.target.clone()).ok()?;
    let path = target.lookup_path.clone().filter(|_| target.protocol == Protocol::Http)?;
    let target = ConnectionTarget {
        method: Some(HttpMethod::Get),
        path: Some(path),
        query: Vec::new(),
        lookup_path: None,
        ..target
    };
    let mut read = RemoteTool { class: EffectClass::Read, ..tool.clone() };
    read.definition.parameters = json!({
        "type": "object", "properties": { KEY: { "type": "string" } }, "required": [KEY],
    });
    Some((target, read))
}
