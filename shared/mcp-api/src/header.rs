//! Headers that repeat members of the body.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::HeaderMap;

use crate::error::RpcError;

/// Marks a value that a header can't hold as it is.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// Reads a header that may be sent once.
///
/// # Errors
/// If it is sent more than once, or isn't visible ASCII.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let value = value.to_str().ok().filter(|_| values.next().is_none());
    value.map(Some).ok_or_else(|| {
        RpcError::header_mismatch(format!("The header {name} must be sent once, in visible ASCII."))
    })
}

/// Checks that a header repeats a value of the body.
///
/// # Errors
/// If it is missing or differs.
pub(crate) fn check(headers: &HeaderMap, name: &str, value: &str) -> Result<(), RpcError> {
    let Some(sent) = single(headers, name)? else {
        return Err(RpcError::header_mismatch(format!("The header {name} is missing.")));
    };
    if decoded(sent).as_deref() == Some(value) {
        return Ok(());
    }
    Err(RpcError::header_mismatch(format!("The header {name} differs from the body.")))
}

/// Decodes the value of a header. `None` if it is marked as encoded and isn't.
fn decoded(value: &str) -> Option<String> {
    let encoded = value.strip_prefix(ENCODED.0).and_then(|rest| rest.strip_suffix(ENCODED.1));
    match encoded {
        None => Some(value.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn encoded_values_are_decoded_before_the_comparison() {
        let check = |sent: &'static str, value| {
            let headers =
                HeaderMap::from_iter([("mcp-name".parse().unwrap(), HeaderValue::from_static(sent))]);
            super::check(&headers, "mcp-name", value).is_ok()
        };
        assert!(check("agent", "agent") && !check("agent", "Agent"));
        assert!(check("=?base64?SGVsbG8sIOS4lueVjA==?=", "Hello, 世界"));
        assert!(!check("=?base64?SGVsbG8*?=", "=?base64?SGVsbG8*?="));
        assert!(super::check(&HeaderMap::new(), "mcp-name", "agent").is_err());
    }
}
