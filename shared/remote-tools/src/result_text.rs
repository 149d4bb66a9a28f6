//! The result of a call for the model, from the body of its response. A result is data: nothing in it is interpreted.

use agent::text::truncate;
use egress::Response;
use http::header;
use serde_json::{Value, json};

use crate::secrecy::Secrecy;

/// The most bytes of a result.
pub(crate) const MAX_RESULT_BYTES: usize = 256 * 1024;

/// Returns a JSON body as it is, another text as `text`, and says in words what can't be shown.
pub(crate) fn of(response: &Response, secrecy: &Secrecy) -> Value {
    let body = &response.body;
    if body.is_empty() {
        return json!({ "status": response.status.as_u16() });
    }
    let Ok(text) = std::str::from_utf8(body) else {
        let media_type = response.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = truncate(media_type.unwrap_or("no media type").to_owned(), 100);
        return json!({ "note": format!("The result is {} bytes of {media_type}, which can't be shown.", body.len()) });
    };
    if body.len() > MAX_RESULT_BYTES {
        let head: String = truncate(secrecy.hide(text), MAX_RESULT_BYTES);
        let note = format!(
            "The result was cut: it has {} bytes, and only the first {MAX_RESULT_BYTES} are shown.",
            body.len()
        );
        return json!({ "text": head, "note": note });
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => secrecy.hide_in(value),
        Ok(_) | Err(_) => json!({ "text": secrecy.hide(text) }),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn result(body: &[u8]) -> Value {
        let body = Bytes::copy_from_slice(body);
        let response = Response { status: StatusCode::OK, headers: HeaderMap::new(), body };
        of(&response, &Secrecy::of(Some("s3cret")))
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
    fn long_and_binary_results_are_said_in_words() {
        let long = result(format!("[{}]", "\"s3cret\",".repeat(50_000)).as_bytes());
        assert!(long["note"].as_str().unwrap().contains("was cut: it has 450002 bytes"), "{}", long["note"]);
        let text = long["text"].as_str().unwrap();
        assert!(text.len() <= MAX_RESULT_BYTES + 100 && !text.contains("s3cret"), "{}", text.len());
        assert_eq!(
            result(&[0xff, 0xfe]),
            json!({ "note": "The result is 2 bytes of no media type, which can't be shown." })
        );
    }
}
