//! What an operator is told of a failure: names that a provider uses for its errors and for the request, and no
//! word of its own (I14). Whatever does not look like a name is left out, since it could be a key or a prompt.

use reqwest::header::HeaderMap;

use crate::wire::error::ErrorObject;

/// Headers that name a request, for whoever asks the provider about it.
const REQUEST_IDS: [&str; 5] =
    ["x-request-id", "apim-request-id", "request-id", "x-generation-id", "x-ms-request-id"];

/// Names that may be logged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// What the provider calls the error, or its class.
    pub code: Option<String>,
    /// The parameter at fault.
    pub param: Option<String>,
    /// What the provider calls the request.
    pub request_id: Option<String>,
}

impl Told {
    /// The name of the request.
    pub fn of_headers(headers: &HeaderMap) -> Self {
        let named = REQUEST_IDS.iter().find_map(|name| headers.get(*name)?.to_str().ok());
        Self { request_id: named.filter(|id| is_request_id(id)).map(str::to_owned), ..Self::default() }
    }

    /// The same, with what an error says of itself.
    #[must_use]
    pub fn with(self, error: &ErrorObject) -> Self {
        let codes = [&error.code, &error.kind].into_iter().flatten();
        let code = codes.map(String::as_str).find(|code| is_code(code));
        let param = error.param.as_deref().filter(|param| is_param(param));
        Self { code: code.map(str::to_owned), param: param.map(str::to_owned), ..self }
    }
}

/// Letters and underscores, or a status. Keys have digits.
fn is_code(text: &str) -> bool {
    let is_name = text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    !text.is_empty() && (is_name || text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Names joined by dots, each with an index or without.
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

    fn told(code: &str, param: &str) -> (Option<String>, Option<String>) {
        let error = ErrorObject {
            code: Some(code.to_owned()),
            param: Some(param.to_owned()),
            ..ErrorObject::default()
        };
        let Told { code, param, .. } = Told::default().with(&error);
        (code, param)
    }

    #[test]
    fn names_are_told() {
        for (code, param) in [
            ("context_length_exceeded", "input"),
            ("DeploymentNotFound", "input[0].content[12].image_url"),
            ("404", "tools[3].parameters"),
        ] {
            assert_eq!(told(code, param), (Some(code.to_owned()), Some(param.to_owned())));
        }
    }

    #[test]
    fn what_could_be_a_word_or_a_key_is_not() {
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
            assert_eq!(told(text, text), (None, None), "{text}");
        }
        let kind = ErrorObject { kind: Some("NotFoundError".to_owned()), ..ErrorObject::default() };
        assert_eq!(Told::default().with(&kind).code.as_deref(), Some("NotFoundError"), "or else the class");
    }

    #[test]
    fn a_request_is_named_by_the_first_header_that_does() {
        let named = |name: &'static str, value: &'static str| {
            let headers = [(name.parse().unwrap(), value.parse().unwrap())].into_iter().collect();
            Told::of_headers(&headers).request_id
        };
        assert_eq!(named("x-request-id", "req_0123456789").as_deref(), Some("req_0123456789"));
        assert_eq!(named("request-id", "req_0123456789").as_deref(), Some("req_0123456789"));
        assert_eq!(named("x-request-id", "words of the provider"), None);
        assert_eq!(named("x-request-id", "sk-0123456789"), None);
    }
}
