//! Captures request and response bodies if the operator enables it. Bodies are limited in size, and headers are never
//! captured.

use agent::model::Observer;
use bytes::Bytes;
use serde_json::{Value, json};

/// The most bytes of a captured body. Only the size of a larger body is recorded.
const MAX_BYTES: usize = 8 << 20;

/// Captures the body of a request.
pub(crate) fn capture_request(observer: &mut Observer<'_>, body: &Bytes) {
    if let Some(raw) = &mut observer.raw {
        raw.request = bounded(body.clone());
    }
}

/// Captures the body of a response.
pub(crate) fn capture_response(observer: &mut Observer<'_>, response: &str) {
    if let Some(raw) = &mut observer.raw {
        raw.response = bounded(Bytes::copy_from_slice(response.as_bytes()));
    }
}

/// Captures an error response. For a rejected key, captures only the status, since providers repeat parts of the key in
/// their messages.
pub(crate) fn capture_error(observer: &mut Observer<'_>, status: u16, body: &[u8]) {
    let Some(raw) = &mut observer.raw else { return };
    let parsed: Option<Value> =
        contracts::json_bytes::from_slice(body).ok().filter(|_| !matches!(status, 401 | 403));
    raw.response = Bytes::from(json!({ "Status": status, "Body": parsed }).to_string());
}

fn bounded(body: Bytes) -> Bytes {
    if body.len() <= MAX_BYTES {
        return body;
    }
    Bytes::from(json!({ "Omitted": "the body is too large", "Bytes": body.len() }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capture_omits_large_bodies_and_key_errors_and_is_opt_in() {
        let mut ignore = |_: &str| {};
        let mut observer = Observer::new(&mut ignore);
        capture_request(&mut observer, &Bytes::from_static(b"{}"));
        assert_eq!(observer.raw, None);

        let mut observer = observer.with_raw_payloads(true);
        capture_request(&mut observer, &Bytes::from(vec![b' '; MAX_BYTES + 1]));
        capture_error(&mut observer, 401, br#"{"error":{"message":"Incorrect API key provided: sk-1"}}"#);
        let raw = observer.raw.clone().unwrap();
        assert_eq!(raw.request, r#"{"Bytes":8388609,"Omitted":"the body is too large"}"#);
        assert_eq!(raw.response, r#"{"Body":null,"Status":401}"#);

        capture_error(&mut observer, 400, br#"{"error":{"code":"x"}}"#);
        assert_eq!(observer.raw.unwrap().response, r#"{"Body":{"error":{"code":"x"}},"Status":400}"#);
    }
}
