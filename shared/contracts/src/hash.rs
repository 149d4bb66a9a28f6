//! Hashes of content (IDX-016) and of requests.
//!
//! Every content hash in the system comes from here. Deliberately absent: hashes for keys or signatures;
//! these recognize content that is the same, and keep nothing secret.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How much of a line counts, in UTF-16 code units (IDX-016).
const LINE_UNITS: usize = 500;

/// The string is not a SHA-256 in lowercase hex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 64 lowercase hexadecimal digits")]
pub struct InvalidHash;

/// Makes a newtype over a SHA-256 that is written as 64 lowercase hexadecimal digits.
macro_rules! sha256_hex {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name([u8; 32]);

        impl $name {
            /// The hash of exactly these bytes.
            #[must_use]
            pub fn of_bytes(bytes: &[u8]) -> Self {
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
    /// The hash of a file's or a chunk's content (AGN-033 §6.3, DD-002B).
    ContentHash
}

sha256_hex! {
    /// The hash of a file's bytes: its address among the files of a turn. Not its [`ContentHash`], which is
    /// the same for two texts that differ in their line ends.
    FileAddress
}

sha256_hex! {
    /// The hash of a request's canonical form, which tells a retry from a conflict (I9).
    Fingerprint
}

/// A file as text, if it is text: UTF-8 without NUL. Its bytes alone decide that, whatever its media type
/// says and in whatever encoding it came.
#[must_use]
pub fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

impl ContentHash {
    /// The hash of a file: [`of_text`](Self::of_text) where it is [text](as_text), else that of its bytes
    /// (IDX-016). Wherever a file's hash is shown, it is this one.
    #[must_use]
    pub fn of_file(bytes: &[u8]) -> Self {
        as_text(bytes).map_or_else(|| Self::of_bytes(bytes), Self::of_text)
    }

    /// The hash of text. It is the same for every kind of line end, and ignores what a line holds beyond its
    /// first 500 UTF-16 code units (IDX-016).
    ///
    /// Where that limit cuts a surrogate pair in two, the lone half counts as U+FFFD. That is what .NET
    /// writes for it in UTF-8, and the existing indexes were built that way.
    ///
    /// # Examples
    ///
    /// ```
    /// use contracts::ContentHash;
    ///
    /// let hash = ContentHash::of_text("one\r\ntwo");
    /// assert_eq!(hash, ContentHash::of_text("one\ntwo"));
    /// // Each line counts with an LF at its end, the last one too.
    /// assert_eq!(hash, ContentHash::of_bytes(b"one\ntwo\n"));
    /// // On the wire it is 64 hexadecimal digits.
    /// assert_eq!(hash.to_string().parse(), Ok(hash));
    /// ```
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        let mut hasher = Sha256::new();
        for line in lines(text) {
            let (kept, cut_in_two) = first_units(line);
            hasher.update(kept);
            if cut_in_two {
                hasher.update("\u{FFFD}");
            }
            hasher.update("\n");
        }
        Self(hasher.finalize().into())
    }
}

/// The lines between CRLF, CR and LF: always one more than there are line ends.
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

/// The part of a line that counts, and whether the limit cut a surrogate pair in two.
fn first_units(line: &str) -> (&str, bool) {
    let mut units = 0;
    for (at, char) in line.char_indices() {
        let with_this = units + char.len_utf16();
        if with_this > LINE_UNITS {
            return (line.get(..at).unwrap_or(line), units < LINE_UNITS);
        }
        units = with_this;
    }
    (line, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(bytes: &[u8]) -> ContentHash {
        ContentHash::of_bytes(bytes)
    }

    #[test]
    fn a_file_is_text_when_its_bytes_are() {
        assert_eq!(ContentHash::of_file(b"a\r\nb"), ContentHash::of_text("a\nb"));
        assert_eq!(ContentHash::of_file(b""), ContentHash::of_text(""));
        for binary in [&b"a\0b"[..], b"\xFF\xFEa"] {
            assert_eq!((as_text(binary), ContentHash::of_file(binary)), (None, normalized(binary)));
        }
    }

    #[test]
    fn every_line_end_is_lf_and_the_last_line_gets_one_too() {
        let expected = normalized(b"a\nb\n\nc\n");
        assert_eq!(ContentHash::of_text("a\nb\n\nc"), expected);
        assert_eq!(ContentHash::of_text("a\r\nb\r\n\r\nc"), expected);
        assert_eq!(ContentHash::of_text("a\rb\r\rc"), expected);
        assert_eq!(ContentHash::of_text("a\r\nb\n\rc"), expected);
    }

    #[test]
    fn text_that_ends_in_a_line_end_has_an_empty_last_line() {
        assert_eq!(ContentHash::of_text("a\n"), normalized(b"a\n\n"));
        assert_eq!(ContentHash::of_text(""), normalized(b"\n"));
    }

    #[test]
    fn a_line_counts_up_to_its_500th_utf16_unit() {
        let kept = "x".repeat(500);
        let expected = normalized(format!("{kept}\nnext\n").as_bytes());
        assert_eq!(ContentHash::of_text(&format!("{kept}tail\nnext")), expected);
        assert_ne!(ContentHash::of_text(&format!("{}\nnext", "x".repeat(499))), expected);
    }

    #[test]
    fn a_pair_that_fits_is_whole_and_a_pair_that_is_cut_becomes_the_replacement_character() {
        let whole = format!("{}😀", "x".repeat(498));
        assert_eq!(
            ContentHash::of_text(&format!("{whole}tail")),
            normalized(format!("{whole}\n").as_bytes())
        );
        let cut = "x".repeat(499);
        let mut expected = cut.clone().into_bytes();
        expected.extend([0xEF, 0xBF, 0xBD, b'\n']);
        assert_eq!(ContentHash::of_text(&format!("{cut}😀tail")), normalized(&expected));
    }

    #[test]
    fn is_written_and_read_as_lowercase_hex() {
        let hash = ContentHash::of_bytes(b"");
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash.to_string(), text);
        assert_eq!(text.parse(), Ok(hash));
        for wrong in ["", "e3", &text.to_uppercase(), &format!("{text}00"), &"g".repeat(64)] {
            assert_eq!(wrong.parse::<ContentHash>(), Err(InvalidHash), "{wrong}");
        }
    }
}
