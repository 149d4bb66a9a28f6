//! Decodes the bytes of a file: by its byte order mark, as UTF-8, or as the encoding that its bytes suggest.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

/// The number of bytes by which an encoding is detected.
const MAX_DETECTION_BYTES: usize = 64 << 10;

/// The maximum share of control characters in a text: one of this many. Other bytes are not text, in any encoding.
const CONTROL_SHARE: usize = 200;

/// Decodes a text. `None` if the bytes are not a text.
pub(crate) fn decode(bytes: Vec<u8>) -> Option<String> {
    if let Some((encoding, length)) = Encoding::for_bom(&bytes) {
        return decode_as(encoding, bytes.get(length..)?);
    }
    if bytes.contains(&0) {
        return decode_as(utf_16_without_mark(&bytes)?, &bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let bytes = error.into_bytes();
            let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
            detector
                .feed(bytes.get(..MAX_DETECTION_BYTES).unwrap_or(&bytes), bytes.len() <= MAX_DETECTION_BYTES);
            decode_as(detector.guess(None, Utf8Detection::Deny), &bytes)
        }
    }
}

/// Decodes without errors and with few control characters, or returns `None`.
fn decode_as(encoding: &'static Encoding, bytes: &[u8]) -> Option<String> {
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    let is_control = |c: &char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}');
    let controls = text.chars().filter(is_control).count();
    (controls * CONTROL_SHARE <= text.len()).then(|| text.into_owned())
}

/// Returns the byte order of UTF-16 without a mark: most characters of a text have a zero byte, in the same place.
fn utf_16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    let zeros = |skip: usize| bytes.iter().skip(skip).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let is_most = |count: usize| count * 4 > bytes.len();
    match (even, odd) {
        (0, odd) if is_most(odd) => Some(UTF_16LE),
        (even, 0) if is_most(even) => Some(UTF_16BE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{GBK, SHIFT_JIS, WINDOWS_1252};

    use super::*;

    #[test]
    fn encodings_are_detected() {
        let german = "Die Größe des Gerüsts, für das über die Straße geprüft wird.";
        let chinese = "租约到期之前必须续订，否则会话将被其他进程接管。请先阅读本手册的第一章。";
        let japanese = "リースの期限が切れる前に更新しなければなりません。まず本書の第一章をお読みください。";
        for (encoding, text) in [(WINDOWS_1252, german), (GBK, chinese), (SHIFT_JIS, japanese)] {
            let bytes = encoding.encode(text).0.into_owned();
            assert_eq!(decode(bytes).as_deref(), Some(text), "{}", encoding.name());
        }
        let utf_16 =
            |to_bytes: fn(u16) -> [u8; 2]| german.encode_utf16().flat_map(to_bytes).collect::<Vec<u8>>();
        assert_eq!(decode(utf_16(u16::to_le_bytes)).as_deref(), Some(german));
        assert_eq!(decode(utf_16(u16::to_be_bytes)).as_deref(), Some(german));
        let marked: Vec<u8> = [0xff, 0xfe].into_iter().chain(utf_16(u16::to_le_bytes)).collect();
        assert_eq!(decode(marked).as_deref(), Some(german));
        assert_eq!(decode(b"\xef\xbb\xbfa".to_vec()).as_deref(), Some("a"));
    }

    #[test]
    fn other_bytes_are_not_text() {
        let image: Vec<u8> = (0..4_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let without_zeros = image.iter().map(|byte| (*byte).max(1)).collect();
        assert_eq!((decode(image), decode(without_zeros)), (None, None));
    }
}
