//! Decompresses a response body: gzip, Brotli or Zstandard, in pushes of any size.
//!
//! No request asks for it, but some gateways compress anyway, or forget the header, or keep it on a plain body. So the
//! body's first bytes decide. Only Brotli has no signature: there the header counts, unless the body starts as a plain one.

use std::fmt;
use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter as BrotliDecoder;
use flate2::write::MultiGzDecoder;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use zstd::stream::write::Decoder as ZstdDecoder;

/// The most bytes that are decompressed at once. Input is decompressed in slices of [`SLICE`] bytes, so only an attack
/// gets there.
const MAX_PIECE: usize = 8 << 20;

/// The most compressed bytes that are decompressed at once.
const SLICE: usize = 1 << 10;

/// The binary logarithm of the largest window of Zstandard, which RFC 9659 gives for HTTP.
const WINDOW_LOG: u32 = 23;

/// The first byte of a gzip stream. No text starts with it.
const GZIP: u8 = 0x1F;

/// The first byte of a Zstandard stream. It is a parenthesis, which starts neither an event nor a document.
const ZSTD: u8 = 0x28;

/// The starts of a plain body, by which a wrong header is recognized.
const PLAIN: [&[u8]; 3] = [b"{", b"data:", b"event:"];

/// The bytes that are needed to recognize a plain body.
const START: usize = 6;

/// The body can't be decompressed, or is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// The decompressor of a body.
pub(crate) struct Decompressor {
    /// Set if the header names Brotli.
    is_brotli_declared: bool,
    /// The start of a body that isn't recognized yet.
    start: Vec<u8>,
    format: Option<Format>,
}

enum Format {
    Plain,
    Gzip(Box<MultiGzDecoder<Piece>>),
    Brotli(Box<BrotliDecoder<Piece>>),
    Zstd(Box<ZstdDecoder<'static, Piece>>),
}

impl Decompressor {
    /// Creates a decompressor of a body whose `Content-Encoding` is this.
    pub(crate) fn new(content_encoding: Option<&str>) -> Self {
        let is_brotli_declared = content_encoding.is_some_and(|it| it.trim().eq_ignore_ascii_case("br"));
        Self { is_brotli_declared, start: Vec::new(), format: None }
    }

    /// Decompresses a chunk, and passes what it holds to `sink` in pieces.
    ///
    /// # Errors
    ///
    /// [`Unreadable`], and the error of `sink`.
    pub(crate) fn push<E: From<Unreadable>>(
        &mut self,
        chunk: &[u8],
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.format.is_some() {
            return self.decode(chunk, sink);
        }
        self.start.extend_from_slice(chunk);
        match self.start.len() {
            0 => Ok(()),
            length if self.is_brotli_declared && length < START => Ok(()),
            _ => self.begin(sink),
        }
    }

    /// Ends the body.
    ///
    /// # Errors
    ///
    /// As in [`Self::push`]. A body that breaks off isn't an error: its reader knows whether anything is missing.
    pub(crate) fn finish<E: From<Unreadable>>(
        &mut self,
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.format.is_none() { self.begin(sink) } else { Ok(()) }
    }

    fn begin<E: From<Unreadable>>(&mut self, sink: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let start = std::mem::take(&mut self.start);
        self.format = Some(match start.first() {
            Some(&GZIP) => Format::Gzip(Box::new(MultiGzDecoder::new(Piece::default()))),
            Some(&ZSTD) => {
                let mut decoder = ZstdDecoder::new(Piece::default()).map_err(|_| Unreadable)?;
                decoder.window_log_max(WINDOW_LOG).map_err(|_| Unreadable)?;
                Format::Zstd(Box::new(decoder))
            }
            Some(_) if self.is_brotli_declared && !PLAIN.iter().any(|plain| start.starts_with(plain)) => {
                Format::Brotli(Box::new(BrotliDecoder::new(Piece::default(), SLICE)))
            }
            _ => Format::Plain,
        });
        self.decode(&start, sink)
    }

    fn decode<E: From<Unreadable>>(
        &mut self,
        chunk: &[u8],
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for slice in chunk.chunks(SLICE) {
            let piece = match &mut self.format {
                None | Some(Format::Plain) => return sink(chunk),
                Some(Format::Gzip(decoder)) => {
                    decoder.write_all(slice).and_then(|()| decoder.flush()).map(|()| decoder.get_mut().take())
                }
                Some(Format::Brotli(decoder)) => {
                    decoder.write_all(slice).and_then(|()| decoder.flush()).map(|()| decoder.get_mut().take())
                }
                Some(Format::Zstd(decoder)) => {
                    decoder.write_all(slice).and_then(|()| decoder.flush()).map(|()| decoder.get_mut().take())
                }
            };
            sink(&piece.map_err(|_| Unreadable)?)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}

/// The decompressed bytes of a slice.
#[derive(Default)]
struct Piece(Vec<u8>);

impl Piece {
    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

impl Write for Piece {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > MAX_PIECE {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A whole body of bounded size, decompressed.
#[derive(Debug)]
pub(crate) struct Body {
    decompressor: Decompressor,
    bytes: Vec<u8>,
    limit: usize,
}

impl Body {
    /// Creates an empty body of a response with these headers, and of at most `limit` bytes.
    pub(crate) fn new(headers: &HeaderMap, limit: usize) -> Self {
        Self { decompressor: Decompressor::new(content_encoding(headers)), bytes: Vec::new(), limit }
    }

    /// Adds a chunk. Beyond the limit, keeps the start.
    ///
    /// # Errors
    ///
    /// [`Unreadable`], also beyond the limit.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<(), Unreadable> {
        let Self { decompressor, bytes, limit } = self;
        decompressor.push(chunk, &mut |piece| append(bytes, piece, *limit))
    }

    /// Returns the bytes.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let Self { decompressor, bytes, limit } = &mut self;
        _ = decompressor.finish::<Unreadable>(&mut |piece| append(bytes, piece, *limit));
        self.bytes
    }
}

/// Returns the header by which a body is decompressed.
pub(crate) fn content_encoding(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_ENCODING)?.to_str().ok()
}

fn append(bytes: &mut Vec<u8>, piece: &[u8], limit: usize) -> Result<(), Unreadable> {
    let room = limit.saturating_sub(bytes.len());
    bytes.extend_from_slice(piece.get(..room).unwrap_or(piece));
    if piece.len() > room { Err(Unreadable) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Decompresses the chunks of a body with this header.
    fn read(declared: Option<&str>, body: &[u8], size: usize, limit: usize) -> (Vec<u8>, bool) {
        let headers = declared.map(|value| (CONTENT_ENCODING, value.parse().unwrap())).into_iter().collect();
        let mut read = Body::new(&headers, limit);
        let is_whole = body.chunks(size).try_for_each(|chunk| read.push(chunk)).is_ok();
        (read.finish(), is_whole)
    }

    #[test]
    fn every_format_is_read_whatever_the_header_says() {
        let brotli = b"\x8b\x06\x80data: {\"a\":1}\n\x03";
        let text = b"data: {\"a\":1}\n".as_slice();
        let zstd = zstd::encode_all(text, 3).unwrap();
        for size in [1, 3, 100] {
            for declared in [None, Some("gzip"), Some("br"), Some("identity")] {
                for body in [text, &gzip(text), &zstd] {
                    assert_eq!(read(declared, body, size, 100), (text.to_vec(), true), "{declared:?} {size}");
                }
            }
            assert_eq!(read(Some(" BR"), brotli, size, 100), (text.to_vec(), true), "{size}");
        }
    }

    #[test]
    fn decompressed_size_is_limited() {
        let zeros = vec![0_u8; 64 << 20];
        // 64 MiB of zeros too, by Brotli.
        let brotli = b"\xcb\xff\xff?\xf8'\0\xe2\xb1@ \xf7\xfe\x8f\xff\xff\x7f\xf0O\0\xc4a\x11\x80\xee";
        assert!(!read(Some("br"), brotli, 7, 1_000).1);
        for bomb in [gzip(&zeros), zstd::encode_all(zeros.as_slice(), 19).unwrap()] {
            let (bytes, is_whole) = read(None, &bomb, bomb.len(), 1_000);
            assert!(bytes.len() <= 1_000 && !is_whole);
        }
        assert_eq!(read(None, b"12345", 2, 3), (b"123".to_vec(), false));
    }

    #[test]
    fn damaged_body_is_unreadable() {
        assert!(!read(None, b"\x1F\x8Bnot gzip at all", 100, 100).1);
        assert!(!read(None, b"(\xB5/\xFDnot zstd at all", 100, 100).1);
        assert_eq!(read(Some("br"), b"", 1, 100), (Vec::new(), true));
    }
}
