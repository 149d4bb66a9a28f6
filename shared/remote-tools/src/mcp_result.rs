//! The result of a call at an MCP server, for the model. A result is data: nothing in it is interpreted.

use agent::text::truncate;
use mcp_client::{CallResult, Content, ResourceBody};
use serde_json::{Value, json};

use crate::{result_text::MAX_RESULT_BYTES, secrecy::Secrecy};

/// Returns structured content as it is, texts as `text`, and other parts as `content`. Media are said in words.
pub(crate) fn of(result: CallResult, secrecy: &Secrecy) -> Value {
    let CallResult { is_error, content, structured } = result;
    let value = match structured {
        Some(structured @ Value::Object(_)) if !is_error => structured,
        structured => parts(is_error, &content, structured),
    };
    let value = secrecy.hide_in(value);
    let text = value.to_string();
    if text.len() <= MAX_RESULT_BYTES {
        return value;
    }
    let note = format!(
        "The result was cut: it has {} bytes, and only the first {MAX_RESULT_BYTES} are shown.",
        text.len()
    );
    json!({ "text": truncate(text, MAX_RESULT_BYTES), "note": note })
}

fn parts(is_error: bool, content: &[Content], structured: Option<Value>) -> Value {
    let texts: Option<Vec<&str>> = content
        .iter()
        .map(|part| match part {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let mut value = match texts {
        Some(texts) if structured.is_none() => json!({ "text": texts.join("\n") }),
        _ => json!({ "content": content.iter().map(part).collect::<Vec<_>>() }),
    };
    if let Value::Object(members) = &mut value {
        members.extend(structured.map(|structured| ("structured".to_owned(), structured)));
        if is_error {
            members.insert("isError".to_owned(), true.into());
        }
    }
    value
}

fn part(part: &Content) -> Value {
    let note = |base64: &str, media_type: &str| {
        let bytes = base64.trim_end_matches('=').len() * 3 / 4;
        format!("{bytes} bytes of {media_type}, which can't be shown.")
    };
    match part {
        Content::Text(text) => json!({ "text": text }),
        Content::Media { media_type, base64 } => json!({ "note": note(base64, media_type) }),
        Content::Resource { uri, body: ResourceBody::Text(text), .. } => json!({ "uri": uri, "text": text }),
        Content::Resource { uri, body: ResourceBody::Base64(base64), media_type } => {
            let media_type = media_type.as_deref().unwrap_or("no media type");
            json!({ "uri": uri, "note": note(base64, media_type) })
        }
        Content::Link { uri, name } => json!({ "uri": uri, "name": name }),
        Content::Other(kind) => {
            json!({ "note": format!("A part of the type {kind}, which can't be shown.") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(is_error: bool, content: Vec<Content>, structured: Option<Value>) -> Value {
        of(CallResult { is_error, content, structured }, &Secrecy::of(Some("s3cret")))
    }

    #[test]
    fn texts_and_structured_content_stay_and_media_are_said_in_words() {
        let text = || Content::Text("a s3cret".to_owned());
        assert_eq!(shown(false, vec![text(), text()], None), json!({ "text": "a [secret]\na [secret]" }));
        assert_eq!(shown(false, vec![text()], Some(json!({ "n": 1 }))), json!({ "n": 1 }));
        assert_eq!(shown(true, vec![text()], None), json!({ "text": "a [secret]", "isError": true }));
        let image = Content::Media { media_type: "image/png".to_owned(), base64: "AAECAw==".to_owned() };
        let link = Content::Link { uri: "file:///a".to_owned(), name: "a".to_owned() };
        assert_eq!(
            shown(false, vec![image, link], None),
            json!({ "content": [
                { "note": "4 bytes of image/png, which can't be shown." },
                { "uri": "file:///a", "name": "a" },
            ] })
        );
    }

    #[test]
    fn long_result_is_cut_and_says_so() {
        let long = shown(false, vec![Content::Text("é".repeat(MAX_RESULT_BYTES))], None);
        assert!(long["text"].as_str().unwrap().len() <= MAX_RESULT_BYTES + 60);
        assert!(long["note"].as_str().unwrap().starts_with("The result was cut"));
    }
}
