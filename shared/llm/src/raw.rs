//! What is kept of the wire where an operator wants it: bodies, never a header, and bounded.

use agent::model::Observer;
use bytes::Bytes;
use serde_json::{Value, json};

/// A larger body is told of, not kept.
const MOST_KEPT: usize = 8 << 20;

/// The request is about to be sent.
pub(crate) fn sent(observer: &mut Observer<'_>, body: &Bytes) {
    if let Some(raw) = &mut observer.raw {
        raw.request = bounded(body.clone());
    }
}

/// The response is whole, well or not.
pub(crate) fn received(observer: &mut Observer<'_>, response: &str) {
    if let Some(raw) = &mut observer.raw {
        raw.response = bounded(Bytes::copy_from_slice(response.as_bytes()));
    }
}

/// An error status came in place of a response. Of a refused key nothing but the status is kept, since
/// providers repeat parts of the key in their words.
pub(crate) fn refused(observer: &mut Observer<'_>, status: u16, body: &[u8]) {
    let Some(raw) = &mut observer.raw else { return };
    let said: Option<Value> = contracts::json_bytes::read(body).ok().filter(|_| !matches!(status, 401 | 403));
    raw.response = Bytes::from(json!({ "Status": status, "Body": said }).to_string());
}

fn bounded(body: Bytes) -> Bytes {
    if body.len() <= MOST_KEPT {
        return body;
    }
    Bytes::from(json!({ "NotKept": "the body is too large", "Bytes": body.len() }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_or_about_a_key_is_not_kept_and_nothing_is_kept_unasked() {
        let mut ignore = |_: &str| {};
        let mut observer = Observer::of(&mut ignore);
        sent(&mut observer, &Bytes::from_static(b"{}"));
        assert_eq!(observer.raw, None);

        let mut observer = observer.keeping_raw(true);
        sent(&mut observer, &Bytes::from(vec![b' '; MOST_KEPT + 1]));
        refused(&mut observer, 401, br#"{"error":{"message":"Incorrect API key provided: sk-1"}}"#);
        let raw = observer.raw.clone().unwrap();
        assert_eq!(raw.request, r#"{"Bytes":8388609,"NotKept":"the body is too large"}"#);
        assert_eq!(raw.response, r#"{"Body":null,"Status":401}"#);

        refused(&mut observer, 400, br#"{"error":{"code":"x"}}"#);
        assert_eq!(observer.raw.unwrap().response, r#"{"Body":{"error":{"code":"x"}},"Status":400}"#);
    }
}
