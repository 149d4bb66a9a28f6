//! The part of a conversation that is replayed to the model.

use protocol::session::SolutionContext;
use serde::{Deserialize, Serialize};

use crate::text::indent;

/// The start of the replayed part of a conversation. It is stored with every turn that replayed it, and the next
/// turn's window starts at the same place, which keeps the provider's prompt cache valid. When the token budget is
/// used up, the window moves and frees a quarter of it at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct HistoryWindow {
    /// Depth of the first turn in the window.
    pub from: u64,
    /// Depth of the first turn in full. Turns before it omit their files and long values.
    pub full_from: u64,
    /// The mode in the system message.
    pub mode: String,
    /// The solution context in the system message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub solution: Option<SolutionContext>,
    /// Files of turns before the window, by path and hash, oldest first; at most [`MAX_FILES`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub files: Vec<String>,
    /// A model's summary of turns before the window, if the context enables compaction.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub summary: Option<HistorySummary>,
}

/// A model's summary of turns before the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct HistorySummary {
    /// Depth of the first turn that it doesn't cover.
    pub until: u64,
    /// The text, which is untrusted like everything that a model wrote. Empty if there was nothing to summarize.
    pub text: String,
}

/// Maximum number of listed files of turns before the window.
pub const MAX_FILES: usize = 32;

impl HistoryWindow {
    /// Adds files of turns before the window. The newest stay.
    #[must_use]
    pub fn with_omitted_files(mut self, files: impl IntoIterator<Item = String>) -> Self {
        for file in files {
            self.files.retain(|listed_file| *listed_file != file);
            self.files.push(file);
        }
        let excess = self.files.len().saturating_sub(MAX_FILES);
        self.files.drain(..excess);
        self
    }

    /// Returns the depth of the first turn that no summary covers.
    #[must_use]
    pub fn compacted_until(&self) -> u64 {
        self.summary.as_ref().map_or(1, |summary| summary.until)
    }

    /// Returns the block about the turns before the window, for the first message in it, or `None` if they have neither
    /// files nor a summary.
    #[must_use]
    pub fn earlier_turns_block(&self) -> Option<String> {
        let listed: String = self.files.iter().map(|file| format!("\n- {file}")).collect();
        let files = (!self.files.is_empty())
            .then(|| format!("These files came with them; Contents: not repeated{listed}"));
        let summary = self.summary.as_ref().filter(|summary| !summary.text.is_empty());
        let summary =
            summary.map(|HistorySummary { text, .. }| format!("A model summed them up:\n\n{}", indent(text)));
        let parts: Vec<String> = files.into_iter().chain(summary).collect();
        let parts = Some(parts.join("\n\n")).filter(|parts| !parts.is_empty())?;
        Some(format!("[EARLIER_TURNS]\n\nThe turns before this message are left out. {parts}"))
    }
}
