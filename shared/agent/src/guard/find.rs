//! Finds what embeds a file in unfenced text: `data:` URIs and runs of base64.

use std::ops::Range;

use contracts::request::{ImageType, is_mime_type};
use percent_encoding::percent_decode;

/// How long a run or a URI has to be before it counts as an embedded file
/// (ruling: no inline code blobs).
pub const MIN_EMBEDDED_CHARS: usize = 512;

/// A line of a wrapped run is at least that long; words of prose are not.
const MIN_WRAPPED_CHARS: usize = 60;

/// The longest head of a `data:` URI that is taken for one.
const MAX_URI_HEAD: usize = 256;

/// An embedded file and where it stands.
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) mime_type: String,
    pub(super) bytes: Vec<u8>,
}

/// Finds the first embedded file at or after a place.
pub(super) fn first(text: &str, from: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        if let Some(uri) = Uri::at(text, at).filter(|_| !before.is_some_and(u8::is_ascii_alphanumeric)) {
            if uri.range.len() >= MIN_EMBEDDED_CHARS {
                return Some(uri.found());
            }
            at = uri.range.end;
        } else if is_run_byte(*byte) {
            let run = Run::at(bytes, at);
            if run.chars >= MIN_EMBEDDED_CHARS && run.says_something {
                return Some(run.found(text));
            }
            // A URI may begin at the run's end, as in `a/data:`.
            at = match run.end.checked_sub("data".len()) {
                Some(scheme) if scheme > at && Uri::at(text, scheme).is_some() => scheme,
                _ => run.end,
            };
        } else {
            at += 1;
        }
    }
    None
}

/// A byte of the standard or the URL-safe alphabet.
fn is_run_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// A run of base64: unbroken, or wrapped into lines.
struct Run {
    start: usize,
    end: usize,
    chars: usize,
    // A rule of dashes or underscores is no base64.
    says_something: bool,
}

impl Run {
    fn at(bytes: &[u8], start: usize) -> Self {
        let mut run = Self { start, end: start, chars: 0, says_something: false };
        loop {
            let line = length(bytes, run.end, is_run_byte);
            let part = bytes.get(run.end..run.end + line).unwrap_or_default();
            run.says_something |= part.iter().any(u8::is_ascii_alphanumeric);
            run.chars += line;
            run.end += line;
            let padding = length(bytes, run.end, |b| b == b'=').min(2);
            run.end += padding;
            let wraps = padding == 0 && line >= MIN_WRAPPED_CHARS;
            match next_line(bytes, run.end).filter(|next| wraps && continues(bytes, *next)) {
                Some(next) => run.end = next,
                None => return run,
            }
        }
    }

    fn found(&self, text: &str) -> Found {
        let range = self.start..self.end;
        let run = text.get(range.clone()).unwrap_or_default();
        match decode(run.bytes().filter(|b| !b.is_ascii_whitespace())) {
            Some(bytes) => Found { range, mime_type: sniff(&bytes).to_owned(), bytes },
            None => Found { range, mime_type: "text/plain".to_owned(), bytes: run.as_bytes().to_vec() },
        }
    }
}

fn length(bytes: &[u8], from: usize, is: fn(u8) -> bool) -> usize {
    bytes.get(from..).unwrap_or_default().iter().take_while(|b| is(**b)).count()
}

fn next_line(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at..)? {
        [b'\r', b'\n', ..] => Some(at + 2),
        [b'\n', ..] => Some(at + 1),
        _ => None,
    }
}

/// Whether a line goes on with a wrapped run: by its length, or as the run's last, shorter line.
fn continues(bytes: &[u8], line: usize) -> bool {
    let chars = length(bytes, line, is_run_byte);
    let after = bytes.get(line + chars);
    chars >= MIN_WRAPPED_CHARS || (chars > 0 && matches!(after, None | Some(b'=' | b'\r' | b'\n')))
}

/// Where the last word of visible ASCII begins; nothing that embeds a file holds anything else.
pub(super) fn last_word(text: &str) -> usize {
    text.trim_end_matches(|c: char| c.is_ascii_graphic()).len()
}

/// How far back a wrapped run that reaches `line` may begin, for text that is not finished.
pub(super) fn wrapped_before(text: &str, line: usize) -> usize {
    let mut start = line;
    for before in text.get(..line).unwrap_or_default().split_inclusive('\n').rev() {
        let content = before.trim_end_matches(['\r', '\n']);
        let run = content.bytes().rev().take_while(|b| is_run_byte(*b)).count();
        if run < MIN_WRAPPED_CHARS {
            break;
        }
        // The whole word, since the run may be the tail of a URI.
        let word = last_word(content);
        start = start - before.len() + word;
        if word > 0 {
            break;
        }
    }
    start
}

/// A `data:` URI (RFC 2397).
struct Uri<'a> {
    range: Range<usize>,
    mime_type: &'a str,
    is_base64: bool,
    data: &'a str,
}

impl<'a> Uri<'a> {
    fn at(text: &'a str, start: usize) -> Option<Self> {
        let rest = text.get(start..)?;
        let scheme = rest.get(.."data:".len())?;
        if !scheme.eq_ignore_ascii_case("data:") {
            return None;
        }
        let body = rest.get(scheme.len()..)?;
        let comma = body.bytes().take(MAX_URI_HEAD).position(|b| b == b',')?;
        let (head, data) = (body.get(..comma)?, body.get(comma + 1..)?);
        if head.bytes().any(|b| !b.is_ascii_graphic() || b"()<>`".contains(&b)) {
            return None;
        }
        let (mime_type, is_base64) = match head.rsplit_once(';') {
            Some((mime_type, "base64")) => (mime_type, true),
            _ => (head, false),
        };
        let length = if is_base64 { base64_length(data) } else { text_length(data) };
        let data = data.get(..length)?;
        let end = start + scheme.len() + comma + 1 + length;
        Some(Self { range: start..end, mime_type, is_base64, data })
    }

    fn found(self) -> Found {
        let plain = || "text/plain".to_owned();
        let raw: Vec<u8> = percent_decode(self.data.as_bytes()).collect();
        let bytes = if self.is_base64 { decode(raw.iter().copied()) } else { Some(raw) };
        match bytes {
            Some(bytes) if is_mime_type(self.mime_type) => {
                Found { range: self.range, mime_type: self.mime_type.to_owned(), bytes }
            }
            Some(bytes) => Found { range: self.range, mime_type: plain(), bytes },
            None => Found { range: self.range, mime_type: plain(), bytes: self.data.as_bytes().to_vec() },
        }
    }
}

fn base64_length(data: &str) -> usize {
    data.bytes().take_while(|b| is_run_byte(*b) || matches!(b, b'=' | b'%')).count()
}

/// Up to what ends a URI in Markdown or HTML; a closing parenthesis does where none was opened.
fn text_length(data: &str) -> usize {
    let mut open = 0_usize;
    data.bytes()
        .take_while(|b| match b {
            b'(' => {
                open += 1;
                true
            }
            b')' => {
                let closes = open > 0;
                open = open.saturating_sub(1);
                closes
            }
            b'"' | b'<' | b'>' | b'`' => false,
            _ => b.is_ascii_graphic(),
        })
        .count()
}

/// Decodes either alphabet, padded or not, as models write it.
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

/// What bytes without a declared type are, by their signature.
fn sniff(bytes: &[u8]) -> &'static str {
    match bytes {
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        [b'P', b'K', 3, 4, ..] => "application/zip",
        _ => ImageType::of_bytes(bytes).map_or("application/octet-stream", ImageType::mime_type),
    }
}
