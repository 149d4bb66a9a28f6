//! The list of models: agents and the models that a response may name.

use serde_json::{Value, json};

use crate::request::AGENT;

/// Returns a model. `description` is the purpose of an agent.
#[must_use]
pub fn model(id: &str, owner: &str, description: Option<&str>) -> Value {
    let mut model = json!({"id": id, "object": "model", "created": 0, "owned_by": owner});
    if let (Some(description), Value::Object(members)) = (description, &mut model) {
        members.insert("description".to_owned(), description.into());
    }
    model
}

/// Returns the list of agents, with their descriptions, and models. An agent is listed with its prefix and without, as long as no model has its name:
/// some clients take the part before a slash for a provider.
#[must_use]
pub fn list<'a>(
    agents: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    models: impl IntoIterator<Item = &'a str>,
    owner: &str,
) -> Vec<Value> {
    let (agents, models): (Vec<_>, Vec<&str>) = (agents.into_iter().collect(), models.into_iter().collect());
    let prefixed = agents.iter().map(|(id, about)| model(&format!("{AGENT}{id}"), owner, *about));
    let bare = agents.iter().filter(|(id, _)| !models.contains(id));
    let bare = bare.map(|(id, about)| model(id, owner, *about));
    prefixed.chain(bare).chain(models.iter().map(|id| model(id, "provider", None))).collect()
}
