//! The text of PDF and Office documents. A program of its own extracts it, because parsers of these formats can hang, crash
//! or take all memory on a hostile document.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// The name of the program.
pub const PROGRAM: &str = "document-text";
/// The maximum size of a document, in bytes. Most of a large one is pictures.
pub(crate) const MAX_DOCUMENT_BYTES: u64 = 64 << 20;
/// The maximum size of a document's text, in bytes.
const MAX_TEXT_BYTES: u64 = 16 << 20;
/// The time that a document may take. The program limits its processor time to half of it.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The exit status of the program for an encrypted document.
const ENCRYPTED: i32 = 2;
/// The exit status of the program for an invalid document.
const INVALID: i32 = 1;
/// Extensions of the documents that the program reads.
const EXTENSIONS: [&str; 4] = ["docx", "pdf", "pptx", "xlsx"];

/// Returns the extension of a document's name in lower case, or `None` if the file is text.
#[must_use]
pub fn extension(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    EXTENSIONS.into_iter().find(|known| extension.eq_ignore_ascii_case(known))
}

/// The reason a document has no text to index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoText {
    /// The program isn't there.
    NoProgram,
    /// The document is encrypted.
    Encrypted,
    /// It isn't valid.
    Invalid,
    /// It has none, for example scanned pages.
    Empty,
    /// It takes too much time, memory or space to extract, or crashes the parser.
    Limit,
}

impl NoText {
    /// Returns the reason as a short text.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoProgram => "needs the program document-text",
            Self::Encrypted => "encrypted",
            Self::Invalid => "not a valid document",
            Self::Empty => "has no text",
            Self::Limit => "exceeds the limits of a document",
        }
    }
}

/// The program that extracts a document's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentText {
    /// Its path.
    pub program: PathBuf,
}

impl DocumentText {
    /// Returns the document's text as Markdown, with a heading for each page, slide or sheet. Blocks the thread, which must
    /// not be one that runs tasks.
    ///
    /// # Errors
    /// Returns the reason that it has none.
    pub(crate) fn extract(&self, extension: &str, document: Vec<u8>) -> Result<String, NoText> {
        let extract = timeout(TIMEOUT, self.run(extension, document));
        let text = Handle::current().block_on(extract).map_err(|_| NoText::Limit)??;
        if text.trim().is_empty() { Err(NoText::Empty) } else { Ok(text) }
    }

    async fn run(&self, extension: &str, document: Vec<u8>) -> Result<String, NoText> {
        let mut command = Command::new(&self.program);
        command.arg(extension).env_clear().kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|_| NoText::NoProgram)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (mut input, output) = input.zip(output).ok_or(NoText::NoProgram)?;
        // A program that stops reading closes its input. Its status says why.
        let write = async move { _ = input.write_all(&document).await };
        let mut text = Vec::new();
        let mut output = output.take(MAX_TEXT_BYTES + 1);
        let (_, read) = tokio::join!(write, output.read_to_end(&mut text));
        read.map_err(|_| NoText::Limit)?;
        if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_TEXT_BYTES {
            return Err(NoText::Limit);
        }
        let status = child.wait().await.map_err(|_| NoText::Limit)?;
        match status.code() {
            Some(0) => String::from_utf8(text).map_err(|_| NoText::Invalid),
            Some(ENCRYPTED) => Err(NoText::Encrypted),
            Some(INVALID) => Err(NoText::Invalid),
            // A signal or a panic: the document has passed the program's limits, or has crashed a parser.
            _ => Err(NoText::Limit),
        }
    }
}
