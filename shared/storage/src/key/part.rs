//! Parts of a key.

use contracts::paths::RESERVED;
use percent_encoding::{percent_decode_str, utf8_percent_encode};
use protocol::id::SessionKey;

/// The limit of S3 for a key and of DynamoDB for a sort key.
pub(crate) const MAX_KEY_BYTES: usize = 1_024;

/// The partition key of a session's items.
pub(super) fn partition(session: &SessionKey) -> String {
    format!("O#{}#S#{}", encode_part(session.org.as_str()), encode_part(session.session.as_str()))
}

/// Encodes a part, so that it contains no separator.
pub(crate) fn encode_part(raw: &str) -> String {
    utf8_percent_encode(raw, RESERVED).to_string()
}

/// Decodes a part.
pub(crate) fn decode_part(encoded: &str) -> Option<String> {
    percent_decode_str(encoded).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}
