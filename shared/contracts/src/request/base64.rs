//! How bytes are spelled in text: standard alphabet (RFC 4648 §4), padding written, but not demanded.

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::report::{At, Report};

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Writes bytes, padded.
pub(crate) fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

/// Reads bytes, or says what to send instead.
pub(super) fn decode(text: &str, at: &At<'_>, report: &mut Report) -> Option<Vec<u8>> {
    if text.starts_with("data:") {
        report.invalid(at, "must be the base64 text alone, without data: and media type before it");
        return None;
    }
    let bytes = ENGINE.decode(text).ok();
    if bytes.is_none() {
        report.invalid(at, "must be base64 of the standard alphabet, without line breaks");
    }
    bytes
}
