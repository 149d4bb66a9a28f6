//! The `[ACTIVE_FILES]` block: what came with the turn, in the manner of AGN-002's `[CONTEXT]`.
//!
//! The header line `[ACTIVE_FILES]`, a blank line, then per file `=== FILE n ===` (n is its place in the
//! request, from 1), and in this order, one line each:
//!
//! - `Path:` the path, relative to the folder that is open in the client; of one over 1,024 bytes its end;
//! - `Language:` as the client says, where it does;
//! - `ContentHash:` the hash that results and later turns name it by (IDX-016);
//! - `SizeBytes:`;
//! - `Changed: since the previous turn`, where the session's previous turn carried the path with other contents;
//! - `Contents:` `below`, `attached` (as an image or a document of its own) or `not readable`.
//!
//! Contents that are below follow in a fenced block tagged with the language. A fence is one backtick longer
//! than any run of backticks inside, so no contents can end it (I15); every other value stands on a line that
//! begins with its own label. A blank line ends each file. A file that was too large is not in the block: the
//! user is warned instead.

use contracts::{
    ContentHash,
    read::AgentSessionActiveFileRef,
    request::{Artifact, ClipboardImage},
};

use super::kind::Kind;
use crate::{
    block::{fenced, is_word, one_line},
    text::tokens,
};

/// The block of these files; none when there is nothing to show.
pub(super) fn block<'a>(
    files: impl Iterator<Item = (&'a Artifact, &'a AgentSessionActiveFileRef)>,
) -> Option<String> {
    let shown: String = (1..)
        .zip(files)
        .filter(|(_, (artifact, chosen))| chosen.was_sent_to_llm || Kind::of(artifact) == Kind::Unreadable)
        .map(|(number, (artifact, chosen))| entry(number, artifact, chosen))
        .collect();
    (!shown.is_empty()).then(|| format!("[ACTIVE_FILES]\n\n{}", shown.trim_end_matches('\n')))
}

/// The block of the same files and of pasted images, all of them named alone: an earlier turn's message, told
/// again without them.
pub(super) fn named<'a>(
    files: impl Iterator<Item = (&'a Artifact, &'a AgentSessionActiveFileRef)>,
    images: impl Iterator<Item = &'a ClipboardImage>,
) -> Option<String> {
    let files = (1..).zip(files).filter(|(_, (_, chosen))| chosen.was_sent_to_llm);
    let files = files.map(|(number, (artifact, chosen))| {
        format!("{}\n", header_of(number, artifact, chosen, "not repeated"))
    });
    let images = (1..).zip(images).map(|(number, image)| {
        let (id, hash) = (one_line(&image.id), ContentHash::of_bytes(&image.bytes));
        let size = image.bytes.len();
        format!(
            "=== PASTED IMAGE {number} ===\nId: {id}\nContentHash: {hash}\nSizeBytes: {size}\nContents: not repeated\n\n"
        )
    });
    let shown: String = files.chain(images).collect();
    (!shown.is_empty()).then(|| format!("[ACTIVE_FILES]\n\n{}", shown.trim_end_matches('\n')))
}

/// What a file's entry costs beside its contents.
pub(super) fn tokens_of_header(artifact: &Artifact, chosen: &AgentSessionActiveFileRef) -> u32 {
    tokens(&header(usize::MAX, artifact, chosen)).saturating_add(FENCES)
}

/// Two fences and their tag, generously.
const FENCES: u32 = 16;

fn entry(number: usize, artifact: &Artifact, chosen: &AgentSessionActiveFileRef) -> String {
    let header = header(number, artifact, chosen);
    match Kind::of(artifact) {
        Kind::Text(text) => format!("{header}\n{}\n", fenced(text, &tag(artifact))),
        Kind::Image(_) | Kind::Pdf | Kind::Unreadable => format!("{header}\n"),
    }
}

fn header(number: usize, artifact: &Artifact, chosen: &AgentSessionActiveFileRef) -> String {
    let contents = match Kind::of(artifact) {
        Kind::Text(_) => "below",
        Kind::Image(_) | Kind::Pdf => "attached",
        Kind::Unreadable => "not readable",
    };
    header_of(number, artifact, chosen, contents)
}

fn header_of(
    number: usize,
    artifact: &Artifact,
    chosen: &AgentSessionActiveFileRef,
    contents: &str,
) -> String {
    let language = artifact.language.as_deref().map(|language| format!("Language: {}\n", one_line(language)));
    let changed = if chosen.is_touched { "Changed: since the previous turn\n" } else { "" };
    format!(
        "=== FILE {number} ===\nPath: {}\n{}ContentHash: {}\nSizeBytes: {}\n{changed}Contents: {contents}\n",
        one_line(&chosen.path),
        language.unwrap_or_default(),
        chosen.content_hash,
        chosen.size_bytes,
    )
}

/// A fence's tag is one word; a language that is none is told in the header alone.
fn tag(artifact: &Artifact) -> String {
    artifact.language.clone().filter(|language| is_word(language)).unwrap_or_default()
}
