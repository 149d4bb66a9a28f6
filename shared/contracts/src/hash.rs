//! Hashes of content and of requests.
//!
//! Every content hash in the system is computed here. Deliberately absent: hashes for keys or signatures. These
//! hashes detect equal content and protect no secret.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::text::single_spaced;

/// Characters of a line that are hashed, in UTF-16 code units.
const MAX_LINE_UNITS: usize = 500;

/// The string is not a SHA-256 in lowercase hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 64 lowercase hexadecimal digits")]
pub struct InvalidHash;

/// Defines a newtype over a SHA-256 that is written as 64 lowercase hexadecimal digits.
macro_rules! sha256_hex {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name([u8; 32]);

        impl $name {
            /// Hashes exactly these bytes.
            #[must_use]
            pub fn hash_bytes(bytes: &[u8]) -> Self {
                Self(Sha256::digest(bytes).into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = InvalidHash;
            fn from_str(text: &str) -> Result<Self, InvalidHash> {
                if text.bytes().any(|b| b.is_ascii_uppercase()) {
                    return Err(InvalidHash);
                }
                let mut bytes = [0; 32];
                hex::decode_to_slice(text, &mut bytes).map_err(|_| InvalidHash)?;
                Ok(Self(bytes))
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidHash;
            fn try_from(text: String) -> Result<Self, InvalidHash> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(hash: $name) -> Self {
                hash.to_string()
            }
        }
    };
}

sha256_hex! {
    /// The content hash of a file or a chunk. Equal for texts that differ only in line endings.
    ContentHash
}

sha256_hex! {
    /// The SHA-256 of a file's bytes, which addresses it among the files of a turn. Differs from its
    /// [`ContentHash`], which is equal for two texts that differ only in line endings.
    FileAddress
}

sha256_hex! {
    /// The hash of a request's canonical form. Distinguishes a retry from a conflict (I9).
    Fingerprint
}

/// Returns the bytes as text if they are text: UTF-8 without NUL. The media type and the encoding of the upload
/// don't matter.
#[must_use]
pub fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

impl Fingerprint {
    /// Hashes the words of a text. White space between them doesn't count.
    #[must_use]
    pub fn hash_words(text: &str) -> Self {
        Self::hash_bytes(single_spaced(text).as_bytes())
    }
}

impl ContentHash {
    /// Hashes a file: [`hash_text`](Self::hash_text) if it is [text](as_text), else its bytes. Every file hash that
    /// the API shows is computed this way.
    #[must_use]
    pub fn hash_file(bytes: &[u8]) -> Self {
        as_text(bytes).map_or_else(|| Self::hash_bytes(bytes), Self::hash_text)
    }

    /// Hashes text. Line endings of any kind give the same hash, and only the first 500 UTF-16 code units of a line
    /// count.
    ///
    /// If the limit splits a surrogate pair, the lone half counts as U+FFFD. .NET encodes it that way in UTF-8, and
    /// the existing indexes were built with .NET.
    ///
    /// # Examples
    ///
    /// ```
    /// use contracts::ContentHash;
    ///
    /// let hash = ContentHash::hash_text("one\r\ntwo");
    /// assert_eq!(hash, ContentHash::hash_text("one\ntwo"));
    /// // Each line counts with an LF at its end, the last one too.
    /// assert_eq!(hash, ContentHash::hash_bytes(b"one\ntwo\n"));
    /// // On the wire it is 64 hexadecimal digits.
    /// assert_eq!(hash.to_string().parse(), Ok(hash));
    /// ```
    #[must_use]
    pub fn hash_text(text: &str) -> Self {
        let mut hasher = Sha256::new();
        for line in lines(text) {
            let (prefix, splits_pair) = truncate_line(line);
            hasher.update(prefix);
            if splits_pair {
                hasher.update("\u{FFFD}");
            }
            hasher.update("\n");
        }
        Self(hasher.finalize().into())
    }
}

/// Splits text at CRLF, CR and LF. Returns one more line than there are line endings.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some((line, tail)) = text.split_once(['\r', '\n']) else {
            rest = None;
            return Some(text);
        };
        let ends_in_cr = text.as_bytes().get(line.len()) == Some(&b'\r');
        rest = Some(match tail.strip_prefix('\n') {
            Some(after) if ends_in_cr => after,
            _ => tail,
        });
        Some(line)
    })
}

/// Truncates a line to the limit. The flag is true if the limit splits a surrogate pair.
fn truncate_line(line: &str) -> (&str, bool) {
    let mut units = 0;
    for (at, char) in line.char_indices() {
        let with_this = units + char.len_utf16();
        if with_this > MAX_LINE_UNITS {
            return (line.get(..at).unwrap_or(line), units < MAX_LINE_UNITS);
        }
        units = with_this;
    }
    (line, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(bytes: &[u8]) -> ContentHash {
        ContentHash::hash_bytes(bytes)
    }

    #[test]
    fn text_files_detected_by_bytes() {
        assert_eq!(ContentHash::hash_file(b"a\r\nb"), ContentHash::hash_text("a\nb"));
        assert_eq!(ContentHash::hash_file(b""), ContentHash::hash_text(""));
        for binary in [&b"a\0b"[..], b"\xFF\xFEa"] {
            assert_eq!((as_text(binary), ContentHash::hash_file(binary)), (None, hash(binary)));
        }
    }

    #[test]
    fn line_endings_normalize_to_lf() {
        let expected = hash(b"a\nb\n\nc\n");
        assert_eq!(ContentHash::hash_text("a\nb\n\nc"), expected);
        assert_eq!(ContentHash::hash_text("a\r\nb\r\n\r\nc"), expected);
        assert_eq!(ContentHash::hash_text("a\rb\r\rc"), expected);
        assert_eq!(ContentHash::hash_text("a\r\nb\n\rc"), expected);
    }

    #[test]
    fn trailing_newline_adds_empty_line() {
        assert_eq!(ContentHash::hash_text("a\n"), hash(b"a\n\n"));
        assert_eq!(ContentHash::hash_text(""), hash(b"\n"));
    }

    #[test]
    fn line_hashed_up_to_500_utf16_units() {
        let kept = "x".repeat(500);
        let expected = hash(format!("{kept}\nnext\n").as_bytes());
        assert_eq!(ContentHash::hash_text(&format!("{kept}tail\nnext")), expected);
        assert_ne!(ContentHash::hash_text(&format!("{}\nnext", "x".repeat(499))), expected);
    }

    #[test]
    fn split_surrogate_pair_becomes_replacement_character() {
        let whole = format!("{}😀", "x".repeat(498));
        assert_eq!(ContentHash::hash_text(&format!("{whole}tail")), hash(format!("{whole}\n").as_bytes()));
        let cut = "x".repeat(499);
        let mut expected = cut.clone().into_bytes();
        expected.extend([0xEF, 0xBF, 0xBD, b'\n']);
        assert_eq!(ContentHash::hash_text(&format!("{cut}😀tail")), hash(&expected));
    }

    #[test]
    fn hash_round_trips_as_lowercase_hex() {
        let hash = ContentHash::hash_bytes(b"");
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash.to_string(), text);
        assert_eq!(text.parse(), Ok(hash));
        for wrong in ["", "e3", &text.to_uppercase(), &format!("{text}00"), &"g".repeat(64)] {
            assert_eq!(wrong.parse::<ContentHash>(), Err(InvalidHash), "{wrong}");
        }
    }
}
