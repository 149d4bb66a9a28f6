//! Base64 with the standard alphabet (RFC 4648 §4). Padding is written, but optional when reading.

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::violations::{Location, Violations};

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Encodes bytes, with padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

/// Decodes bytes, or records a violation.
pub(super) fn decode(text: &str, at: &Location<'_>, violations: &mut Violations) -> Option<Vec<u8>> {
    if text.starts_with("data:") {
        violations.invalid(at, "must be the base64 text alone, without data: and media type before it");
        return None;
    }
    let bytes = ENGINE.decode(text).ok();
    if bytes.is_none() {
        violations.invalid(at, "must be base64 of the standard alphabet, without line breaks");
    }
    bytes
}
