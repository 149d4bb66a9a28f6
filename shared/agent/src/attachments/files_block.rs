//! The `[ACTIVE_FILES]` block with the files of a turn.
//!
//! It has the line `[ACTIVE_FILES]`, a blank line, and per file `=== FILE n ===` (n is its position in the request,
//! from 1) and these lines, in this order:
//!
//! - `Path:` relative to the folder that is open in the client; of a path over 1,024 bytes its end;
//! - `FileName:` its last part;
//! - `Origin:` `ide` (attached by the editor) or `user`;
//! - `Language:` as the client reports it, if it does;
//! - `ContentHash:` the hash that results and later turns refer to;
//! - `SizeBytes:`;
//! - `Changed: since the previous turn`, if the session's previous turn had the path with other contents;
//! - `Contents:` `below`, `attached` (as an image or a document of its own) or `not readable`.
//!
//! Contents that are `below` follow in a fenced block tagged with the language. The fence is one backtick longer than
//! any run of backticks inside, so the contents can't close it (I15). Every other value is on a line that starts with
//! its own label. A blank line ends each file. A file that was too large is not in the block; the user gets a warning
//! instead.
//!
//! Pasted images follow as `=== PASTED IMAGE n ===` with `Id:`, `ContentHash:`, `SizeBytes:` and `Contents:`.

use contracts::{
    ContentHash,
    read::AgentSessionActiveFileRef,
    request::{Artifact, ClipboardImage},
};

use super::kind::FileKind;
use crate::text::{
    block::{fenced, is_word, one_line},
    tokens,
};

/// Returns the block of these files and pasted images, or `None` if it would be empty.
pub(super) fn block<'a>(
    files: impl Iterator<Item = (&'a Artifact, &'a AgentSessionActiveFileRef)>,
    images: impl Iterator<Item = &'a ClipboardImage>,
) -> Option<String> {
    let files = (1..)
        .zip(files)
        .filter(|(_, (artifact, chosen))| {
            chosen.was_sent_to_llm || FileKind::detect(artifact) == FileKind::Unreadable
        })
        .map(|(number, (artifact, chosen))| entry(number, artifact, chosen));
    let shown: String = files.chain(image_entries(images, "attached")).collect();
    (!shown.is_empty()).then(|| format!("[ACTIVE_FILES]\n\n{}", shown.trim_end_matches('\n')))
}

/// Returns the block with only the names of the same files and of pasted images, for an earlier turn's message that
/// is replayed without them.
pub(super) fn names_block<'a>(
    files: impl Iterator<Item = (&'a Artifact, &'a AgentSessionActiveFileRef)>,
    images: impl Iterator<Item = &'a ClipboardImage>,
) -> Option<String> {
    let files = (1..).zip(files).filter(|(_, (_, chosen))| chosen.was_sent_to_llm);
    let files = files.map(|(number, (artifact, chosen))| {
        format!("{}\n", header_with(number, artifact, chosen, "not repeated"))
    });
    let shown: String = files.chain(image_entries(images, "not repeated")).collect();
    (!shown.is_empty()).then(|| format!("[ACTIVE_FILES]\n\n{}", shown.trim_end_matches('\n')))
}

fn image_entries<'a>(
    images: impl Iterator<Item = &'a ClipboardImage>,
    contents: &str,
) -> impl Iterator<Item = String> {
    (1..).zip(images).map(move |(number, image)| {
        let (id, hash) = (one_line(&image.id), ContentHash::hash_bytes(&image.bytes));
        let size = image.bytes.len();
        format!(
            "=== PASTED IMAGE {number} ===\nId: {id}\nContentHash: {hash}\nSizeBytes: {size}\nContents: {contents}\n\n"
        )
    })
}

/// Estimates the tokens of a file's entry without its contents.
pub(super) fn header_tokens(artifact: &Artifact, chosen: &AgentSessionActiveFileRef) -> u32 {
    tokens(&header(usize::MAX, artifact, chosen)).saturating_add(FENCE_TOKENS)
}

/// Upper estimate for two fences and a tag.
const FENCE_TOKENS: u32 = 16;

fn entry(number: usize, artifact: &Artifact, chosen: &AgentSessionActiveFileRef) -> String {
    let header = header(number, artifact, chosen);
    match FileKind::detect(artifact) {
        FileKind::Text(text) => format!("{header}\n{}\n", fenced(text, &tag(artifact))),
        FileKind::Image(_) | FileKind::Pdf | FileKind::Unreadable => format!("{header}\n"),
    }
}

fn header(number: usize, artifact: &Artifact, chosen: &AgentSessionActiveFileRef) -> String {
    let contents = match FileKind::detect(artifact) {
        FileKind::Text(_) => "below",
        FileKind::Image(_) | FileKind::Pdf => "attached",
        FileKind::Unreadable => "not readable",
    };
    header_with(number, artifact, chosen, contents)
}

fn header_with(
    number: usize,
    artifact: &Artifact,
    chosen: &AgentSessionActiveFileRef,
    contents: &str,
) -> String {
    let language = artifact.language.as_deref().map(|language| format!("Language: {}\n", one_line(language)));
    let changed = if chosen.is_touched { "Changed: since the previous turn\n" } else { "" };
    format!(
        "=== FILE {number} ===\nPath: {}\nFileName: {}\nOrigin: {}\n{}ContentHash: {}\nSizeBytes: {}\n\
         {changed}Contents: {contents}\n",
        one_line(&chosen.path),
        one_line(artifact.file_name.as_str()),
        artifact.origin.as_str(),
        language.unwrap_or_default(),
        chosen.content_hash,
        chosen.size_bytes,
    )
}

/// Returns the fence's tag, which is one word. Another language appears only in the header.
fn tag(artifact: &Artifact) -> String {
    artifact.language.clone().filter(|language| is_word(language)).unwrap_or_default()
}
