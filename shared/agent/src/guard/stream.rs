//! The guard on a text that is still being written, or that is whole.
//!
//! Each character is looked at once for fences and, unless it is fenced, once for files. What may be a bundle
//! is looked at before that, and waits until it is one or not. Where marks at a
//! line's beginning may yet open a fence, the search for files waits until that is decided; what it waits
//! for, and what may yet turn out to belong to a file, is held back. All else is final at once. So the
//! cost of a text is linear in its length, in whatever pieces it comes.

use super::{
    Blob, Guarded,
    before::Place,
    bundle::{self, Bundle, Fate},
    extension,
    fence::{Fences, Line},
    find::{Finder, Found},
    payload,
    rest::Rest,
};

/// A text that is guarded while it is written: the texts that [`push`](Self::push) returns, joined, are a
/// prefix of what [`guard`](super::guard) makes of the whole text.
#[derive(Debug, Default)]
pub struct Stream {
    pub(super) rest: Rest,
    fences: Fences,
    finder: Finder,
    /// What may be a bundle; it begins where the text is read next.
    bundle: Option<Bundle>,
    /// Whether a bundle's closing fence is the last line so far.
    closes_bundle: bool,
    /// A blank or a line end of our own that comes before what is final next.
    owes: Option<char>,
    /// Up to where it was looked at for bundles.
    looked: usize,
    /// Up to where the text was read for fences.
    read: usize,
    /// Up to where it was searched for files.
    searched: usize,
    /// Up to where it is final.
    settled: usize,
    /// How many files were embedded in that.
    blobs: usize,
}

impl Stream {
    /// Takes the next piece, and returns what has become final, with the files that were taken out of it.
    pub fn push(&mut self, piece: &str, mut url_of: impl FnMut(&Blob) -> String) -> Guarded {
        let mut out = Guarded { text: String::new(), blobs: Vec::new() };
        self.take(piece, &mut out, &mut url_of);
        out
    }

    /// Takes the next piece; what has become final goes `out`.
    pub(super) fn take(&mut self, piece: &str, out: &mut Guarded, url_of: &mut dyn FnMut(&Blob) -> String) {
        self.rest.push(piece);
        while let Some(c) = self.rest.char(self.looked) {
            self.end_bundle(c, out);
            if self.bundle.is_none() && c == '{' && self.fences.begins_line() {
                self.bundle = Some(Bundle::default());
            }
            self.looked += c.len_utf8();
            match self.bundle.as_mut().map(|bundle| bundle.take(c)) {
                None => self.read_on(c, out, url_of),
                Some(Fate::Open) => {}
                Some(Fate::Closed) => self.decide(out, url_of),
                Some(Fate::Other) => self.release(out, url_of),
            }
        }
        self.settle(self.finder.holds().unwrap_or(self.searched), out);
        self.rest.forget(self.settled);
    }

    /// The text is whole: all of it is final.
    pub(super) fn end(&mut self, out: &mut Guarded, url_of: &mut dyn FnMut(&Blob) -> String) {
        self.release(out, url_of);
        self.follow(self.fences.end(), out, url_of);
        if let Some(found) = self.finder.end(self.searched) {
            self.embed(&found, out, url_of);
        }
        self.settle(self.read, out);
    }

    /// How much of the text is final.
    pub(super) fn settled(&self) -> usize {
        self.settled
    }

    /// Reads the next character.
    fn read_on(&mut self, c: char, out: &mut Guarded, url_of: &mut dyn FnMut(&Blob) -> String) {
        self.read += c.len_utf8();
        let line = self.fences.take(c);
        self.follow(line, out, url_of);
    }

    /// What was held back as a bundle is none: it is read as anything else.
    fn release(&mut self, out: &mut Guarded, url_of: &mut dyn FnMut(&Blob) -> String) {
        self.bundle = None;
        while self.read < self.looked
            && let Some(c) = self.rest.char(self.read)
        {
            self.read_on(c, out, url_of);
        }
    }

    /// What was held back is a whole object: it gets a fence if it is a bundle.
    fn decide(&mut self, out: &mut Guarded, url_of: &mut dyn FnMut(&Blob) -> String) {
        let Some(fenced) = bundle::fenced(self.rest.get(self.read..self.looked)) else {
            return self.release(out, url_of);
        };
        self.bundle = None;
        // The line before may have ended a file.
        self.follow(Line::Fenced, out, url_of);
        self.settle(self.read, out);
        self.pay(out);
        fenced.chars().for_each(|c| _ = self.fences.take(c));
        out.text.push_str(&fenced);
        (self.read, self.searched, self.settled) = (self.looked, self.looked, self.looked);
        self.closes_bundle = true;
    }

    /// Behind a closing fence there is nothing else on its line.
    fn end_bundle(&mut self, next: char, out: &mut Guarded) {
        if self.closes_bundle && !matches!(next, ' ' | '\t' | '\r' | '\n') {
            self.settle(self.read, out);
            self.fences.take('\n');
            self.owes = Some('\n');
        }
        self.closes_bundle &= matches!(next, ' ' | '\t' | '\r');
    }

    fn pay(&mut self, out: &mut Guarded) {
        out.text.extend(self.owes.take());
    }

    /// Searches what was read, or passes over it.
    fn follow(&mut self, line: Line, out: &mut Guarded, url_of: &mut dyn FnMut(&Blob) -> String) {
        match line {
            Line::Undecided => {}
            Line::Fenced => {
                if let Some(found) = self.finder.end(self.searched) {
                    self.embed(&found, out, url_of);
                }
                self.searched = self.read;
            }
            Line::Unfenced => {
                while self.searched < self.read
                    && let Some(c) = self.rest.char(self.searched)
                {
                    if let Some(found) = self.finder.take(c, self.searched) {
                        self.embed(&found, out, url_of);
                    }
                    self.searched += c.len_utf8();
                }
            }
        }
    }

    /// Puts a link in a file's place.
    fn embed(&mut self, found: &Found, out: &mut Guarded, url_of: &mut dyn FnMut(&Blob) -> String) {
        let replaced = found.replaced();
        self.settle(replaced.start, out);
        self.pay(out);
        let text = self.rest.get(found.range.clone());
        let (mime_type, bytes) = if found.is_uri { payload::of_uri(text) } else { payload::of_run(text) };
        self.blobs += 1;
        let name = format!("embedded-{}.{}", self.blobs, extension(&mime_type));
        let blob = Blob { name, mime_type, bytes };
        let url = url_of(&blob);
        match found.place {
            Place::Url => out.text.push_str(&url),
            _ => out.text.push_str(&format!("[{}]({url})", blob.name)),
        }
        out.blobs.push(blob);
        self.settled = replaced.end;
        self.owes = found.needs_blank.then_some(' ');
    }

    /// The text is final up to here.
    fn settle(&mut self, until: usize, out: &mut Guarded) {
        if until > self.settled {
            self.pay(out);
            out.text.push_str(self.rest.get(self.settled..until));
            self.settled = until;
        }
    }
}
