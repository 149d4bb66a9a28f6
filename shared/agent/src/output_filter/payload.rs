//! Content and media type of embedded files.

use contracts::request::{ImageType, is_mime_type};
use percent_encoding::percent_decode;

use super::{embedded_file::is_run_byte, run::WIDE_CHARS};

/// A file's media type and its bytes, or the literal text if that can't be decoded.
pub(super) type Payload = (String, Vec<u8>);

/// Decodes a run of base64. In a wrapped one, the longest word of each line belongs to it.
pub(super) fn of_run(run: &str) -> Payload {
    // In a string of JSON, line breaks are escaped.
    let unescaped = run.replace("\\n", "\n");
    let words = |line| str::split(line, |c: char| !u8::try_from(c).is_ok_and(is_run_byte));
    let lines: Vec<&str> =
        unescaped.lines().filter_map(|line| words(line).max_by_key(|word| word.len())).collect();
    let signs: Vec<Option<char>> = lines.iter().map(|line| line.chars().next()).collect();
    // A patch has a sign before every line.
    let is_patch = |sign| signs.len() > 1 && signs.iter().all(|other| *other == Some(sign));
    let skipped = usize::from(is_patch('+') || is_patch('-'));
    let lines = || lines.iter().filter_map(|line| line.get(skipped..));
    // No encoder breaks lines like that. It may be a list of names, which is to stay readable.
    let inner = || lines().skip(1).take(signs.len().saturating_sub(2));
    let is_list = inner().any(|line| line.len() < WIDE_CHARS && line.len() % 4 != 0);
    match decode(lines().flat_map(str::bytes)).filter(|_| !is_list) {
        Some(bytes) => (sniff(&bytes).to_owned(), bytes),
        None => ("text/plain".to_owned(), run.as_bytes().to_vec()),
    }
}

/// Decodes a `data:` URI (RFC 2397).
pub(super) fn of_uri(uri: &str) -> Payload {
    let (head, data) = uri.split_once(',').unwrap_or_default();
    let head = head.get("data:".len()..).unwrap_or_default();
    let (mime_type, is_base64) = match head.strip_suffix(";base64") {
        Some(mime_type) => (mime_type, true),
        None => (head, false),
    };
    let plain = || "text/plain".to_owned();
    let raw: Vec<u8> = percent_decode(data.as_bytes()).collect();
    let bytes = if is_base64 { decode(raw.iter().copied()) } else { Some(raw) };
    match bytes {
        Some(bytes) if is_mime_type(mime_type) => (mime_type.to_owned(), bytes),
        Some(bytes) => (plain(), bytes),
        None => (plain(), data.as_bytes().to_vec()),
    }
}

/// Decodes either base64 alphabet, padded or not, as models write it.
fn decode(run: impl Iterator<Item = u8>) -> Option<Vec<u8>> {
    use base64::{
        Engine as _,
        alphabet::STANDARD,
        engine::{GeneralPurpose, general_purpose::NO_PAD},
    };
    let engine = GeneralPurpose::new(&STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));
    let standard: Vec<u8> = run
        .filter(|b| *b != b'=')
        .map(|b| match b {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        })
        .collect();
    engine.decode(standard).ok()
}

/// Detects the media type of bytes by their signature.
fn sniff(bytes: &[u8]) -> &'static str {
    match bytes {
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        [b'P', b'K', 3, 4, ..] => "application/zip",
        _ => ImageType::from_signature(bytes).map_or("application/octet-stream", ImageType::mime_type),
    }
}
