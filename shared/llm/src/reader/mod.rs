//! From the bytes of a stream to a reply: the decoder and the fold, one after the other. Pure.

use agent::model::{Error, Observer, Reply};

use crate::fold::{Fold, Memory, Progress};
use crate::sse::{self, Decoder};
use crate::wire::error::ErrorObject;

/// What a whole stream may have. Many times the longest answer, since each word of it comes in an
/// event of its own and the terminal event repeats it.
const MOST_BYTES: usize = 256 << 20;

/// A stream that is being read.
#[derive(Debug)]
pub struct Reader {
    decoder: Decoder,
    fold: Fold,
    bytes: usize,
}

impl Reader {
    /// A reader at the start of the response to a request that asks this of the provider's memory. The nonce is
    /// another one for each response.
    pub fn new(limits: sse::Limits, memory: Memory, nonce: u64) -> Self {
        Self { decoder: Decoder::new(limits), fold: Fold::of(memory, nonce), bytes: 0 }
    }

    /// Whether any text was handed on.
    pub fn has_text(&self) -> bool {
        self.fold.has_text()
    }

    /// Whether anything of the output was there.
    pub fn has_output(&self) -> bool {
        self.fold.has_output()
    }

    /// What the stream said that went wrong.
    pub fn error(&self) -> Option<&ErrorObject> {
        self.fold.error()
    }

    /// Reads a piece and hands the text in it on. What follows the terminal event is ignored. A stream
    /// that ends before [`Progress::Done`] has no reply.
    ///
    /// # Errors
    ///
    /// What the stream says went wrong; [`Error::Malformed`] when it can't be read.
    pub fn push(&mut self, piece: &[u8], observer: &mut Observer<'_>) -> Result<Progress, Error> {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > MOST_BYTES {
            return Err(Error::Malformed);
        }
        let fold = &mut self.fold;
        let mut progress = Ok(Progress::More);
        let decoded = self.decoder.push(piece, &mut |event| {
            if progress == Ok(Progress::More) {
                progress = fold.push(&event.kind, &event.data, observer);
            }
        });
        match (progress, decoded) {
            (Ok(Progress::More), Err(sse::TooLong)) => Err(Error::Malformed),
            (progress, _) => progress,
        }
    }

    /// The stream ended. Its last event may lack the blank line that would have ended it.
    ///
    /// # Errors
    ///
    /// As of [`Reader::push`]; [`Error::Malformed`] when the response is not whole.
    pub fn end(&mut self, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        match self.push(b"\n\n", observer)? {
            Progress::Done(reply) => Ok(reply),
            Progress::More => Err(Error::Malformed),
        }
    }

    /// Reads a response that came whole, where a stream was asked for.
    ///
    /// # Errors
    ///
    /// As of [`Reader::end`].
    pub fn whole(&mut self, body: &[u8], observer: &mut Observer<'_>) -> Result<Reply, Error> {
        let body = std::str::from_utf8(body).map_err(|_| Error::Malformed)?;
        match self.fold.push("", body, observer)? {
            Progress::Done(reply) => Ok(reply),
            Progress::More => Err(Error::Malformed),
        }
    }
}

#[cfg(test)]
mod tests;
