//! The list of models: agents and the models that a response may name.

use serde_json::{Value, json};

use crate::request::AGENT;

/// Returns a model.
#[must_use]
pub fn model(id: &str, owner: &str) -> Value {
    json!({"id": id, "object": "model", "created": 0, "owned_by": owner})
}

/// Returns the list of agents and models.
#[must_use]
pub fn list<'a>(
    agents: impl IntoIterator<Item = &'a str>,
    models: impl IntoIterator<Item = &'a str>,
    owner: &str,
) -> Vec<Value> {
    let agents = agents.into_iter().map(|id| model(&format!("{AGENT}{id}"), owner));
    let models = models.into_iter().map(|id| model(id, "provider"));
    agents.chain(models).collect()
}
