//! The window: from which turn on a conversation is told, and how the telling began.

use protocol::session::SolutionContext;
use serde::{Deserialize, Serialize};

use crate::text::indented;

/// Where the telling of a conversation begins. It is kept with every turn that was told so, and the next
/// turn's telling begins there too: what the provider has read before it need not read again. When the
/// budget is used up, a quarter of it is made free at once, and the window moves on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Window {
    /// The first turn that is told.
    pub from: u64,
    /// The first turn that is told whole; those before it are told without their files and long values.
    pub whole_from: u64,
    /// The mode that the system message names.
    pub mode: String,
    /// The solution context that it tells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub solution: Option<SolutionContext>,
    /// Files of turns before the first that is told, by path and hash, oldest first; at most [`MOST_FILES`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub files: Vec<String>,
    /// What a model made of turns before the first that is told, where the context asks for that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub summary: Option<Summary>,
}

/// What a model made of turns that are not told any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Summary {
    /// The first turn that is not summed up.
    pub until: u64,
    /// What it says: material, like all that a model wrote. Empty where there was nothing to say.
    pub text: String,
}

/// How many files of turns that are not told any more are named.
pub const MOST_FILES: usize = 32;

impl Window {
    /// The same, with more files of turns that are not told any more. The newest stay.
    #[must_use]
    pub fn without(mut self, files: impl IntoIterator<Item = String>) -> Self {
        for file in files {
            self.files.retain(|named| *named != file);
            self.files.push(file);
        }
        let beyond = self.files.len().saturating_sub(MOST_FILES);
        self.files.drain(..beyond);
        self
    }

    /// The first turn that no summary tells of.
    #[must_use]
    pub fn summed_up_until(&self) -> u64 {
        self.summary.as_ref().map_or(1, |summary| summary.until)
    }

    /// What the first message that is told says of the turns before it; nothing when they came with no files and
    /// were not summed up.
    #[must_use]
    pub fn block(&self) -> Option<String> {
        let listed: String = self.files.iter().map(|file| format!("\n- {file}")).collect();
        let files = (!self.files.is_empty())
            .then(|| format!("These files came with them; Contents: not repeated{listed}"));
        let summary = self.summary.as_ref().filter(|summary| !summary.text.is_empty());
        let summary =
            summary.map(|Summary { text, .. }| format!("A model summed them up:\n\n{}", indented(text)));
        let said: Vec<String> = files.into_iter().chain(summary).collect();
        let said = Some(said.join("\n\n")).filter(|said| !said.is_empty())?;
        Some(format!("[EARLIER_TURNS]\n\nThe turns before this message are left out. {said}"))
    }
}
