//! Error details that are safe to log: the provider's error code, parameter name and request id, and none of its prose
//! (I14). Drops everything that doesn't look like an identifier, since it could be a key or a prompt.

use reqwest::header::HeaderMap;

use crate::error_object::ErrorObject;

/// Headers with the request id, for support requests to the provider.
const REQUEST_IDS: [&str; 5] =
    ["x-request-id", "apim-request-id", "request-id", "x-generation-id", "x-ms-request-id"];

/// Details of an error that may be logged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorInfo {
    /// The provider's error code, or else its error type.
    pub code: Option<String>,
    /// The invalid parameter.
    pub param: Option<String>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
}

impl ErrorInfo {
    /// Reads the request id.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let request_id = REQUEST_IDS.iter().find_map(|name| headers.get(*name)?.to_str().ok());
        Self { request_id: request_id.filter(|id| is_request_id(id)).map(str::to_owned), ..Self::default() }
    }

    /// Adds the code and the parameter of `error`.
    #[must_use]
    pub fn with_error(self, error: &ErrorObject) -> Self {
        let codes = [&error.code, &error.kind].into_iter().flatten();
        let code = codes.map(String::as_str).find(|code| is_code(code));
        let param = error.param.as_deref().filter(|param| is_param(param));
        Self { code: code.map(str::to_owned), param: param.map(str::to_owned), ..self }
    }
}

/// True for letters and underscores, or for a status. Keys contain digits.
fn is_code(text: &str) -> bool {
    let is_name = text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    !text.is_empty() && (is_name || text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// True for names joined by dots, each with an optional index.
fn is_param(text: &str) -> bool {
    let is_part = |part: &str| match part.split_once('[') {
        None => is_code(part) && !part.starts_with(|first: char| first.is_ascii_digit()),
        Some((name, index)) => {
            let digits = index.strip_suffix(']');
            is_code(name)
                && digits
                    .is_some_and(|index| index.len() <= 4 && index.bytes().all(|byte| byte.is_ascii_digit()))
        }
    };
    text.len() <= 128 && text.split('.').all(is_part)
}

fn is_request_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    (8..=128).contains(&text.len()) && text.bytes().all(allowed) && !text.starts_with("sk-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_and_param(code: &str, param: &str) -> (Option<String>, Option<String>) {
        let error = ErrorObject {
            code: Some(code.to_owned()),
            param: Some(param.to_owned()),
            ..ErrorObject::default()
        };
        let ErrorInfo { code, param, .. } = ErrorInfo::default().with_error(&error);
        (code, param)
    }

    #[test]
    fn identifiers_are_logged() {
        for (code, param) in [
            ("context_length_exceeded", "input"),
            ("DeploymentNotFound", "input[0].content[12].image_url"),
            ("404", "tools[3].parameters"),
        ] {
            assert_eq!(code_and_param(code, param), (Some(code.to_owned()), Some(param.to_owned())));
        }
    }

    #[test]
    fn text_that_could_be_prose_or_a_key_is_dropped() {
        let long = "a".repeat(65);
        for text in [
            "",
            "sk-abc",
            "sk_live_4eC39HqLyjWD",
            "two words",
            "Ünicode",
            "a.b c",
            "[0]",
            "a[b]",
            "12345",
            &long,
        ] {
            assert_eq!(code_and_param(text, text), (None, None), "{text}");
        }
        let kind = ErrorObject { kind: Some("NotFoundError".to_owned()), ..ErrorObject::default() };
        assert_eq!(
            ErrorInfo::default().with_error(&kind).code.as_deref(),
            Some("NotFoundError"),
            "or else the class"
        );
    }

    #[test]
    fn request_id_comes_from_the_first_matching_header() {
        let named = |name: &'static str, value: &'static str| {
            let headers = [(name.parse().unwrap(), value.parse().unwrap())].into_iter().collect();
            ErrorInfo::from_headers(&headers).request_id
        };
        assert_eq!(named("x-request-id", "req_0123456789").as_deref(), Some("req_0123456789"));
        assert_eq!(named("request-id", "req_0123456789").as_deref(), Some("req_0123456789"));
        assert_eq!(named("x-request-id", "words of the provider"), None);
        assert_eq!(named("x-request-id", "sk-0123456789"), None);
    }
}
