use serde_json::{Value, json};

use super::*;

fn of(status: u16, error: Value) -> Error {
    of_status(status, json!({ "error": error }).to_string().as_bytes(), None)
}

#[test]
fn a_status_alone_is_enough() {
    for (status, expected) in [
        (400, Error::Rejected { status: 400 }),
        (401, Error::Unauthenticated),
        (402, Error::QuotaExceeded),
        (403, Error::Unauthenticated),
        (404, Error::Rejected { status: 404 }),
        (408, Error::Unavailable),
        (409, Error::Unavailable),
        (413, Error::ContextTooLong),
        (422, Error::Rejected { status: 422 }),
        (429, Error::RateLimited { retry_after: None }),
        (500, Error::Unavailable),
        (503, Error::Unavailable),
        (529, Error::Unavailable),
    ] {
        for body in ["", "<html>", "{}", r#"{"error":"words"}"#, r#"{"error":{}}"#] {
            assert_eq!(of_status(status, body.as_bytes(), None), expected, "{status} {body}");
        }
    }
}

#[test]
fn a_code_tells_more_than_the_status() {
    let code = |status, code: &str| of(status, json!({ "code": code, "type": "invalid_request_error" }));
    assert_eq!(code(429, "insufficient_quota"), Error::QuotaExceeded);
    assert_eq!(code(400, "context_length_exceeded"), Error::ContextTooLong);
    assert_eq!(code(400, "content_filter"), Error::ContentFiltered);
    assert_eq!(code(400, "previous_response_not_found"), Error::ChainLost);
    assert_eq!(code(404, "previous_response_not_found"), Error::ChainLost);
    assert_eq!(code(404, "model_not_found"), Error::ModelNotFound);
    assert_eq!(code(400, "invalid_value"), Error::Rejected { status: 400 });
}

#[test]
fn the_parameter_and_the_type_tell_when_the_code_does_not() {
    let zero_retention = json!({ "code": "unsupported_value", "param": "previous_response_id" });
    assert_eq!(of(400, zero_retention), Error::ChainLost);
    assert_eq!(of(404, json!({ "param": "model", "code": null })), Error::ModelNotFound);
    assert_eq!(of(429, json!({ "type": "insufficient_quota" })), Error::QuotaExceeded);
}

#[test]
fn a_full_context_may_be_told_in_words() {
    let words = "This model's maximum context length is 8192 tokens.";
    assert_eq!(of(400, json!({ "message": words, "code": 400 })), Error::ContextTooLong);
}

#[test]
fn the_wait_is_kept_for_the_caller() {
    let wait = Some(Duration::from_secs(7));
    assert_eq!(of_status(429, b"", wait), Error::RateLimited { retry_after: wait });
}

#[test]
fn the_providers_words_never_show() {
    let secret = "sk-secret and the whole prompt";
    for status in [400, 401, 404, 429, 500] {
        let error = of(status, json!({ "code": secret, "type": secret, "param": secret, "message": secret }));
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}
