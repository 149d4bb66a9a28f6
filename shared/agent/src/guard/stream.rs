//! The guard on a text that is still being written.

use super::{Blob, fence::Scan, find::wrapped_before, guard_after, settled_after};

/// Taking a text apart costs a pass over it, which is worth it once it is this long.
const WORTH_A_BREAK_BYTES: usize = 1024;

/// A text that is guarded while it is written: what [`push`](Self::push) returns, joined, is a prefix of
/// what [`guard`](super::guard) makes of the whole text.
///
/// Only what follows the last break is looked at again, so that a long text costs no more per piece than a
/// short one. A break is wherever what follows can be guarded by itself, knowing what is open there.
#[derive(Debug, Default)]
pub struct Stream {
    /// What is open where the rest begins.
    scan: Scan,
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
        let settled = settled_after(self.scan, &self.rest);
        let final_part = self.rest.get(..settled).unwrap_or_default();
        let guarded = guard_after(self.scan, self.blobs, final_part, &mut url_of).text;
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
        let Some((at, scan)) = last_break(self.scan, self.rest.get(..settled).unwrap_or_default()) else {
            return;
        };
        let before = guard_after(self.scan, self.blobs, self.rest.get(..at).unwrap_or_default(), url_of);
        // Never more than was returned, since it ends within the settled part.
        self.returned = self.returned.saturating_sub(before.text.len());
        self.blobs += before.blobs.len();
        self.scan = scan;
        self.rest.drain(..at);
    }
}

/// The last place of a settled text that nothing reaches over: a line's start where no wrapped run may go
/// on, or a word's within a line of prose.
fn last_break(mut scan: Scan, text: &str) -> Option<(usize, Scan)> {
    let mut found = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if line.ends_with('\n') {
            scan.line(line);
            if scan.is_open() || wrapped_before(text, at) == at {
                found = Some((at, scan));
            }
        } else if !scan.is_open() {
            found = word_start(scan, line).map(|(at, scan)| (start + at, scan)).or(found);
        }
    }
    found
}

/// The start of an unfinished line's last word, unless what stands before it decides what the word is.
fn word_start(mut scan: Scan, line: &str) -> Option<(usize, Scan)> {
    let at = line.rfind(' ')? + 1;
    let before = line.get(..at)?;
    let is_reference = before.trim_end_matches([' ', '<']).ends_with("]:");
    if is_reference || !scan.is_prose(before) {
        return None;
    }
    scan.line(before);
    Some((at, scan.within_line()))
}
