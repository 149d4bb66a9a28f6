//! An object in a fence tagged as JSON, which may be a bundle.

use super::{
    bundle::{Bundle, BundleStatus, is_bundle},
    finder::Match,
};

/// The content of a fence so far. Its text is final as it comes, except for files: a bundle keeps them.
#[derive(Debug, Default)]
pub(super) struct FencedObject {
    scanner: Bundle,
    text: String,
    /// Files found in it, which become links if it is not a bundle.
    pub(super) matches: Vec<Match>,
}

impl FencedObject {
    /// Takes the next character of the fence's content. Returns true or false once it is decided that it is a bundle.
    pub(super) fn take(&mut self, c: char) -> Option<bool> {
        if self.text.is_empty() && c.is_whitespace() {
            return None;
        }
        self.text.push(c);
        match self.scanner.take(c) {
            BundleStatus::Pending => None,
            BundleStatus::Complete => Some(is_bundle(&self.text)),
            BundleStatus::NotBundle => Some(false),
        }
    }
}
