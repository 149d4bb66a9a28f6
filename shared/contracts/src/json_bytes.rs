//! Parsing of JSON bytes.

use serde::{Deserialize, de::Error};

/// Parses JSON bytes as text. `serde_json` also has a reader of bytes, but every type that used both readers would
/// be compiled twice (docs/internals/decisions/0019-small-programs.md).
///
/// # Errors
/// If the bytes are not UTF-8, not JSON, or not of this type.
pub fn from_slice<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> serde_json::Result<T> {
    serde_json::from_str(std::str::from_utf8(bytes).map_err(serde_json::Error::custom)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_parse_as_utf8_text() {
        assert_eq!(from_slice::<Vec<&str>>("[\"ä\"]".as_bytes()).unwrap(), ["ä"]);
        assert!(from_slice::<Vec<String>>(b"[\"\xe4\"]").unwrap_err().to_string().contains("utf-8"));
        assert!(from_slice::<Vec<String>>(b"[1]").is_err());
    }
}
