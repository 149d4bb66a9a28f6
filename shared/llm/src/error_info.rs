//! Error details that are safe to log: the provider's error code, parameter name and request id, and none of its prose
//! (I14). Drops everything that doesn't look like an identifier, since it could be a key or a prompt.

use reqwest::header::HeaderMap;

use crate::error_object::ErrorObject;

/// Headers with the request id, for support requests to the provider.
const REQUEST_IDS: [&str; 6] = [
    "x-request-id",
    "apim-request-id",
    "request-id",
    "x-generation-id",
    "x-ms-request-id",
    "x-amzn-requestid",
];

/// Header with the error code of AWS, which may have a URL after a colon.
const AWS_ERROR_CODE: &str = "x-amzn-errortype";

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
    /// Reads the request id, and the error code of AWS.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let code = headers.get(AWS_ERROR_CODE).and_then(|code| code.to_str().ok()?.split(':').next());
        let code = code.filter(|code| is_code(code)).map(str::to_owned);
        let request_id = REQUEST_IDS.iter().find_map(|name| headers.get(*name)?.to_str().ok());
        let request_id = request_id.filter(|id| is_request_id(id)).map(str::to_owned);
        Self { code, request_id, ..Self::default() }
    }

    /// Adds the code and the parameter of `error`.
    #[must_use]
    pub fn with_error(self, error: &ErrorObject) -> Self {
        let codes = [&error.code, &error.kind].into_iter().flatten();
        let code = codes.map(String::as_str).find(|code| is_code(code));
        let param = error.param.as_deref().filter(|param| is_param(param));
        Self { code: code.map(str::to_owned).or(self.code), param: param.map(str::to_owned), ..self }
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
    fn code_of_aws_is_in_a_header_unless_the_body_has_one() {
        let value = "ExpiredTokenException:http://internal.amazon.com/coral/".parse().unwrap();
        let headers: HeaderMap = [("x-amzn-errortype".parse().unwrap(), value)].into_iter().collect();
        let code = |error: &ErrorObject| ErrorInfo::from_headers(&headers).with_error(error).code;
        assert_eq!(code(&ErrorObject::default()).as_deref(), Some("ExpiredTokenException"));
        let body = ErrorObject { code: Some("access_denied".to_owned()), ..ErrorObject::default() };
        assert_eq!(code(&body).as_deref(), Some("access_denied"));
    }

    #[test]
    fn request_id_comes_from_the_first_matching_header() {
        let named = |name: &'static str, value: &'static str| {
            let headers = [(name.parse().unwrap(), value.parse().unwrap())].into_iter().collect();
            ErrorInfo::from_headers(&headers).request_id
        };
        assert_eq!(named("x-request-id", "req_0123456789").as_deref(), Some("req_0123456789"));
        assert_eq!(named("request-id", "req_0123456789").as_deref(), Some("req_0123456789"));
        assert_eq!(named("x-amzn-requestid", "d2f1-0123456789").as_deref(), Some("d2f1-0123456789"));
        assert_eq!(named("x-request-id", "words of the provider"), None);
        assert_eq!(named("x-request-id", "sk-0123456789"), None);
    }
}
