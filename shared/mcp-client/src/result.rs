//! Results of calls.

use serde_json::Value;

use crate::text::excerpt;

/// The largest number of parts of a result.
const MAX_PARTS: usize = 256;
/// The longest name, URI or media type of a part, in bytes.
const MAX_LABEL: usize = 2048;

/// The result of a call. The size of the response bounds it. Its texts are data for the model, as the server sent them.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// The tool reports a failure of its own, which the model can correct.
    pub is_error: bool,
    /// The parts for the model.
    pub content: Vec<Content>,
    /// The result as JSON.
    pub structured: Option<Value>,
}

/// A part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text(String),
    /// An image or a sound.
    Media {
        /// The media type, as the server declares it.
        media_type: String,
        /// The bytes, in Base64 as they came.
        base64: String,
    },
    /// A resource in full.
    Resource {
        /// The URI that names it.
        uri: String,
        /// The media type, if the server declares one.
        media_type: Option<String>,
        /// The text, or the bytes in Base64.
        body: ResourceBody,
    },
    /// A reference to a resource. This client doesn't load it.
    Link {
        /// The URI that names it.
        uri: String,
        /// The name for people.
        name: String,
    },
    /// A part of a type that this client doesn't have.
    Other(String),
}

/// The body of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceBody {
    /// A text.
    Text(String),
    /// Bytes in Base64.
    Base64(String),
}

/// Returns the result in a response, or the rule that it breaks.
pub(crate) fn parse(mut result: Value) -> Result<CallResult, &'static str> {
    if !result.is_object() {
        return Err("the result isn't an object");
    }
    let mut taken = |member: &str| result.get_mut(member).map(Value::take).filter(|value| !value.is_null());
    let is_error = match taken("isError") {
        None => false,
        Some(Value::Bool(is_error)) => is_error,
        Some(_) => return Err("the member `isError` of the result isn't a boolean"),
    };
    let structured = taken("structuredContent");
    let content = match taken("content") {
        Some(Value::Array(parts)) => parts,
        None if structured.is_some() => Vec::new(),
        _ => return Err("the result has no array `content`"),
    };
    if content.len() > MAX_PARTS {
        return Err("the result has more than 256 parts");
    }
    let content = content.into_iter().map(part).collect::<Option<_>>();
    Ok(CallResult { is_error, content: content.ok_or("a part of the result is invalid")?, structured })
}

fn part(mut part: Value) -> Option<Content> {
    let label = |part: &Value, member: &str| {
        part.get(member).and_then(Value::as_str).map(|text| excerpt(text, MAX_LABEL))
    };
    let text = |part: &mut Value, member: &str| match part.get_mut(member).map(Value::take) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    Some(match label(&part, "type")?.as_str() {
        "text" => Content::Text(text(&mut part, "text")?),
        "image" | "audio" => {
            Content::Media { media_type: label(&part, "mimeType")?, base64: text(&mut part, "data")? }
        }
        "resource" => {
            let resource = part.get_mut("resource")?;
            let body = match (text(resource, "text"), text(resource, "blob")) {
                (Some(text), _) => ResourceBody::Text(text),
                (None, Some(blob)) => ResourceBody::Base64(blob),
                (None, None) => return None,
            };
            Content::Resource { uri: label(resource, "uri")?, media_type: label(resource, "mimeType"), body }
        }
        "resource_link" => {
            Content::Link { uri: label(&part, "uri")?, name: label(&part, "name").unwrap_or_default() }
        }
        other => Content::Other(other.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_of_every_type_are_read() {
        let result = parse(json!({
            "content": [
                { "type": "text", "text": "done" },
                { "type": "image", "mimeType": "image/png", "data": "iVBO" },
                { "type": "resource", "resource": { "uri": "file:///a", "mimeType": "text/plain", "text": "a" } },
                { "type": "resource", "resource": { "uri": "file:///b", "blob": "AAE=" } },
                { "type": "resource_link", "uri": "file:///c", "name": "c" },
                { "type": "hologram", "data": 1 },
            ],
            "structuredContent": { "n": 1 },
            "isError": true,
        }))
        .unwrap();
        assert!(result.is_error);
        assert_eq!(result.structured, Some(json!({ "n": 1 })));
        assert_eq!(result.content.len(), 6);
        assert_eq!(result.content[0], Content::Text("done".to_owned()));
        assert_eq!(result.content[5], Content::Other("hologram".to_owned()));
    }

    #[test]
    fn result_that_breaks_the_protocol_is_rejected() {
        let many = vec![json!({ "type": "text", "text": "" }); MAX_PARTS + 1];
        let cases = [
            json!("done"),
            json!({}),
            json!({ "content": "done" }),
            json!({ "content": [{ "type": "text" }] }),
            json!({ "content": [{ "text": "no type" }] }),
            json!({ "content": [{ "type": "image", "data": "iVBO" }] }),
            json!({ "content": [{ "type": "resource", "resource": { "uri": "file:///a" } }] }),
            json!({ "content": [], "isError": "no" }),
            json!({ "content": many }),
        ];
        for result in cases {
            assert!(parse(result.clone()).is_err(), "{result}");
        }
    }
}
