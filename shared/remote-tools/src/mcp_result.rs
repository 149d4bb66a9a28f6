//! The result of a call at an MCP server, for the model. A result is data: nothing in it is interpreted.

use agent::tool::{Effect, PublishFile, ToolSuccess};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use mcp_client::{CallResult, Content, ResourceBody};
use serde_json::{Value, json};

use crate::{
    file::{self, MAX_FILES},
    secrecy::Secrecy,
};

/// Returns structured content as it is, texts as `text`, and other parts as `content`. Images, sounds and other bytes become
/// files of the turn.
pub(crate) fn of(result: CallResult, tool: &str, secrecy: &Secrecy) -> ToolSuccess {
    let CallResult { is_error, content, structured } = result;
    let mut files = Vec::new();
    let parts: Vec<Value> = content.iter().map(|part| self::part(part, tool, &mut files)).collect();
    let texts: Option<Vec<&str>> = content
        .iter()
        .map(|part| match part {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let value = match (structured, texts) {
        (Some(structured @ Value::Object(_)), _) if !is_error && files.is_empty() => structured,
        (structured, texts) => {
            let mut value = match texts {
                Some(texts) if structured.is_none() => json!({ "text": texts.join("\n") }),
                _ => json!({ "content": parts }),
            };
            if let Value::Object(members) = &mut value {
                members.extend(structured.map(|structured| ("structured".to_owned(), structured)));
                members.extend(is_error.then(|| ("isError".to_owned(), true.into())));
            }
            value
        }
    };
    ToolSuccess {
        result: secrecy.hide_in(value),
        effects: files.into_iter().map(Effect::PublishFile).collect(),
    }
}

fn part(part: &Content, tool: &str, files: &mut Vec<PublishFile>) -> Value {
    let mut media = |base64: &str, media_type: &str| {
        let bytes = BASE64_STANDARD.decode(base64).ok().filter(|_| files.len() < MAX_FILES);
        let file = bytes.and_then(|bytes| file::file(tool, files.len(), media_type, bytes.into()));
        let Some(file) = file else {
            return json!({ "note": format!("A part of the type {media_type}, which can't be stored.") });
        };
        let note = file::note(&file);
        files.push(file);
        note
    };
    match part {
        Content::Text(text) => json!({ "text": text }),
        Content::Media { media_type, base64 } => media(base64, media_type),
        Content::Resource { uri, body: ResourceBody::Text(text), .. } => json!({ "uri": uri, "text": text }),
        Content::Resource { uri, body: ResourceBody::Base64(base64), media_type } => {
            let mut note = media(base64, media_type.as_deref().unwrap_or_default());
            if let Value::Object(members) = &mut note {
                members.insert("uri".to_owned(), uri.as_str().into());
            }
            note
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

    fn shown(is_error: bool, content: Vec<Content>, structured: Option<Value>) -> ToolSuccess {
        of(CallResult { is_error, content, structured }, "draw", &Secrecy::of(Some("s3cret")))
    }

    #[test]
    fn texts_and_structured_content_stay_and_media_become_files() {
        let text = || Content::Text("a s3cret".to_owned());
        let result = |is_error, content, structured| shown(is_error, content, structured).result;
        assert_eq!(result(false, vec![text(), text()], None), json!({ "text": "a [secret]\na [secret]" }));
        assert_eq!(result(false, vec![text()], Some(json!({ "n": 1 }))), json!({ "n": 1 }));
        assert_eq!(result(true, vec![text()], None), json!({ "text": "a [secret]", "isError": true }));
        let image = || Content::Media { media_type: "image/png".to_owned(), base64: "AAECAw==".to_owned() };
        let broken = Content::Media { media_type: "image/png".to_owned(), base64: "?".to_owned() };
        let link = Content::Link { uri: "file:///a".to_owned(), name: "a".to_owned() };
        let success = shown(false, vec![image(), broken, link], None);
        assert_eq!(
            success.result,
            json!({ "content": [
                { "file": "draw-1.png", "mediaType": "image/png", "bytes": 4 },
                { "note": "A part of the type image/png, which can't be stored." },
                { "uri": "file:///a", "name": "a" },
            ] })
        );
        let [Effect::PublishFile(file)] = &success.effects[..] else { panic!("{success:?}") };
        assert_eq!(&file.bytes[..], [0, 1, 2, 3]);
        let structured = shown(false, vec![image()], Some(json!({ "n": 1 })));
        assert_eq!(structured.result["structured"], json!({ "n": 1 }));
        assert_eq!(shown(false, Vec::new(), None).effects, []);
        let many = shown(false, (0..MAX_FILES + 1).map(|_| image()).collect(), None);
        assert_eq!(many.effects.len(), MAX_FILES);
    }
}
