//! The guard on a text that is still being written.

use super::{Blob, fence::last_break, guard_after, settled};

/// Taking a text apart costs a pass over it, which is worth it once it is this long.
const WORTH_A_BREAK_BYTES: usize = 2 * 1024;

/// A text that is guarded while it is written: what [`push`](Self::push) returns, joined, is a prefix of
/// what [`guard`](super::guard) makes of the whole text.
///
/// Only what follows the last break between paragraphs is looked at again, so that a long text costs
/// no more per piece than a short one.
#[derive(Debug, Default)]
pub struct Stream {
    /// The text since the last break.
    rest: String,
    /// How much of the guarded rest was returned.
    returned: usize,
    /// How many files were embedded before the rest.
    blobs: usize,
}

impl Stream {
    /// Takes the next piece, and returns what has become final.
    pub fn push(&mut self, piece: &str, mut url_of: impl FnMut(&Blob) -> String) -> String {
        self.rest.push_str(piece);
        let settled = settled(&self.rest);
        let final_part = self.rest.get(..settled).unwrap_or_default();
        let guarded = guard_after(self.blobs, final_part, &mut url_of).text;
        // What was final stays so, though less may be known of it by itself: a fence that closes may
        // have held lines that look like the beginning of a run.
        let new = guarded.get(self.returned..).unwrap_or_default().to_owned();
        self.returned += new.len();
        if self.rest.len() >= WORTH_A_BREAK_BYTES {
            self.break_off(settled, url_of);
        }
        new
    }

    fn break_off(&mut self, settled: usize, url_of: impl FnMut(&Blob) -> String) {
        let Some(at) = last_break(&self.rest, settled) else { return };
        let before = guard_after(self.blobs, self.rest.get(..at).unwrap_or_default(), url_of);
        // Never more than was returned, since it ends within the settled part.
        self.returned = self.returned.saturating_sub(before.text.len());
        self.blobs += before.blobs.len();
        self.rest.drain(..at);
    }
}
