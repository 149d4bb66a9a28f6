//! Ids of calls that every server accepts.
//!
//! An id is opaque to most servers, but Mistral's accept nine letters and digits alone, and a session may bring ids from
//! another provider. Some models write structured ids, such as `functions.look:0`, and read them; those stay.

use std::borrow::Cow;

use contracts::ContentHash;

/// The length of a portable id.
const LENGTH: usize = 9;

/// Returns the id, or the start of its hash if it is opaque and has another form than nine letters and digits.
pub(super) fn portable(id: &str) -> Cow<'_, str> {
    let is_portable = id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_portable || id.contains(['.', ':']) {
        return Cow::Borrowed(id);
    }
    let hash = ContentHash::hash_bytes(id.as_bytes()).to_string();
    Cow::Owned(hash.chars().take(LENGTH).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_ids_become_nine_letters_and_digits() {
        for id in ["a1B2c3D4e", "functions.look:0"] {
            assert_eq!(portable(id), id);
        }
        let hashed = portable("call_0123456789abcdef00");
        assert!(
            hashed.len() == LENGTH && hashed.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "{hashed}"
        );
        assert_eq!(hashed, portable("call_0123456789abcdef00"));
        assert_ne!(hashed, portable("call_0123456789abcdef01"));
    }
}
