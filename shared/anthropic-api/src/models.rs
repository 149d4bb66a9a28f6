//! The list of models: agents and the models that a message may name.

use serde_json::{Value, json};

/// The release date of every model, which the service doesn't know.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// Returns a model, or the list of models in one page, from the form that OpenAI's API gives them.
#[must_use]
pub fn from_openai(models: &Value) -> Value {
    let Some(list) = models["data"].as_array() else { return model(&models["id"]) };
    let data: Vec<Value> = list.iter().map(|listed| model(&listed["id"])).collect();
    let id = |model: Option<&Value>| model.map_or(Value::Null, |model| model["id"].clone());
    json!({"data": data, "has_more": false, "first_id": id(data.first()), "last_id": id(data.last())})
}

fn model(id: &Value) -> Value {
    json!({
        "type": "model", "id": id, "display_name": id, "created_at": CREATED, "lifecycle": "active",
        "deprecated_at": null, "retires_at": null, "line": null,
        "max_input_tokens": null, "max_tokens": null, "capabilities": null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_one_page_of_models() {
        let page =
            from_openai(&json!({"object": "list", "data": [{"id": "agent/default"}, {"id": "gpt-x"}]}));
        assert_eq!(
            (&page["has_more"], &page["first_id"], &page["last_id"]),
            (&json!(false), &json!("agent/default"), &json!("gpt-x"))
        );
        assert_eq!(
            (&page["data"][1]["type"], &page["data"][1]["display_name"]),
            (&json!("model"), &json!("gpt-x"))
        );
        assert_eq!(from_openai(&json!({"id": "gpt-x", "object": "model"}))["id"], "gpt-x");
        assert_eq!(from_openai(&json!({"data": []}))["last_id"], Value::Null);
    }
}
