//! The result of a call for the model, from the body of its response. A result is data: nothing in it is interpreted.

use agent::tool::{Effect, ToolSuccess};
use egress::Response;
use http::header;
use serde_json::{Value, json};

use crate::{file, secrecy::Secrecy};

/// Returns a JSON body as it is, and another text as `text`. Other bytes become a file of the turn.
pub(crate) fn of(response: &Response, tool: &str, secrecy: &Secrecy) -> ToolSuccess {
    let body = &response.body;
    if body.is_empty() {
        return json!({ "status": response.status.as_u16() }).into();
    }
    let Ok(text) = std::str::from_utf8(body) else {
        let media_type = response.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let file = file::file(tool, 0, media_type.unwrap_or_default(), body.clone());
        return match file {
            Some(file) => ToolSuccess { result: file::note(&file), effects: vec![Effect::PublishFile(file)] },
            None => json!({ "note": format!("The result is {} bytes, which can't be stored.", body.len()) })
                .into(),
        };
    };
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => secrecy.hide_in(value),
        Ok(_) | Err(_) => json!({ "text": secrecy.hide(text) }),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn success(body: &[u8]) -> ToolSuccess {
        let body = Bytes::copy_from_slice(body);
        let response = Response { status: StatusCode::OK, headers: HeaderMap::new(), body };
        of(&response, "export", &Secrecy::of(Some("s3cret")))
    }

    fn result(body: &[u8]) -> Value {
        success(body).result
    }

    #[test]
    fn json_stays_and_other_text_becomes_a_member() {
        assert_eq!(result(br#"{"id":7,"key":"s3cret"}"#), json!({ "id": 7, "key": "[secret]" }));
        assert_eq!(result(b"[1]"), json!([1]));
        assert_eq!(result(b"<p>s3cret</p>"), json!({ "text": "<p>[secret]</p>" }));
        assert_eq!(result(b"7"), json!({ "text": "7" }));
        assert_eq!(result(b""), json!({ "status": 200 }));
    }

    #[test]
    fn bytes_become_a_file_and_long_text_stays_whole() {
        let long = result(format!("[{}]", vec!["\"s3cret\""; 50_000].join(",")).as_bytes());
        assert_eq!(long.as_array().unwrap().len(), 50_000);
        assert_eq!(long[0], "[secret]");
        let file = success(&[0xff, 0xfe]);
        assert_eq!(
            file.result,
            json!({ "file": "export-1.bin", "mediaType": "application/octet-stream", "bytes": 2 })
        );
        assert!(matches!(&file.effects[..], [Effect::PublishFile(file)] if file.bytes[..] == [0xff, 0xfe]));
    }
}
