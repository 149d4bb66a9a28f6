//! The writer of export documents, and the stream that a client reads of it.

use std::future::Future;

use bytes::Bytes;
use futures::{SinkExt, Stream, StreamExt, channel::mpsc, stream};
use serde::Serialize;

use crate::{ports::Unavailable, refusal::Refusal};

/// An error that ends an export early. The document written so far is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The client disconnected.
    #[error("the client disconnected")]
    Disconnected,
    /// A read failed or was refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl From<Unavailable> for ExportError {
    fn from(error: Unavailable) -> Self {
        Self::Refused(error.into())
    }
}

/// The writer of an export. It buffers one chunk that isn't read yet.
#[derive(Debug)]
pub struct ExportWriter {
    sender: mpsc::Sender<Bytes>,
    /// The number of bytes so far.
    pub(super) written: u64,
}

/// Returns the output of `write` as a stream. `write` runs only while the stream is read.
pub fn export_stream<F>(
    write: impl FnOnce(ExportWriter) -> F,
) -> impl Stream<Item = Result<Bytes, ExportError>>
where
    F: Future<Output = Result<(), ExportError>>,
{
    let (pieces, read) = mpsc::channel(0);
    let work = stream::once(write(ExportWriter { sender: pieces, written: 0 }));
    let failed = work.filter_map(|done| async { done.err().map(Err) });
    stream::select(read.map(Ok), failed)
}

impl ExportWriter {
    /// Writes text that is JSON already.
    pub(super) async fn text(&mut self, text: &'static str) -> Result<(), ExportError> {
        self.bytes(Bytes::from_static(text.as_bytes())).await
    }

    async fn bytes(&mut self, bytes: Bytes) -> Result<(), ExportError> {
        self.written = self.written.saturating_add(bytes.len() as u64);
        self.sender.send(bytes).await.map_err(|_| ExportError::Disconnected)
    }

    /// Writes a value as JSON.
    pub(super) async fn json(&mut self, value: &impl Serialize) -> Result<(), ExportError> {
        // The contract's types consist of strings, numbers and lists, so they always serialize.
        self.bytes(serde_json::to_vec(value).unwrap_or_default().into()).await
    }

    /// Writes a value as one line of JSON.
    ///
    /// # Errors
    /// If the client disconnected.
    pub async fn line(&mut self, value: &impl Serialize) -> Result<(), ExportError> {
        self.json(value).await?;
        self.text("\n").await
    }

    /// Starts the items of an array.
    pub(super) fn list(&mut self) -> JsonList<'_> {
        JsonList { out: self, has_items: false }
    }
}

/// A JSON array's items, separated by commas.
pub(super) struct JsonList<'a> {
    out: &'a mut ExportWriter,
    has_items: bool,
}

impl JsonList<'_> {
    /// Returns the number of bytes that the document has so far.
    pub(super) fn written(&self) -> u64 {
        self.out.written
    }

    /// Returns the writer for the next item.
    pub(super) async fn next(&mut self) -> Result<&mut ExportWriter, ExportError> {
        if std::mem::replace(&mut self.has_items, true) {
            self.out.text(",").await?;
        }
        Ok(self.out)
    }

    /// Writes the next item.
    pub(super) async fn item(&mut self, value: &impl Serialize) -> Result<(), ExportError> {
        self.next().await?.json(value).await
    }
}
