//! JSON that came as bytes.

use serde::{Deserialize, de::Error};

/// Reads it as text, as JSON that came as text is read: `serde_json` has a reader of bytes too, and every type that both
/// read would be compiled twice (docs/decisions/0019-small-programs.md).
///
/// # Errors
/// When it is no UTF-8, no JSON, or not of this type.
pub fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> serde_json::Result<T> {
    serde_json::from_str(std::str::from_utf8(bytes).map_err(serde_json::Error::custom)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_the_text_that_they_are() {
        assert_eq!(read::<Vec<&str>>("[\"ä\"]".as_bytes()).unwrap(), ["ä"]);
        assert!(read::<Vec<String>>(b"[\"\xe4\"]").unwrap_err().to_string().contains("utf-8"));
        assert!(read::<Vec<String>>(b"[1]").is_err());
    }
}
