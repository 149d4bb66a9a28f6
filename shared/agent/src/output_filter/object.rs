//! An object in a text that may be a bundle.

use std::ops::Range;

use super::{
    bundle::{Bundle, BundleStatus, TAG, is_bundle, is_json},
    embedded_file::Match,
};

/// The tag of a fence around JSON.
pub(super) const JSON_TAG: &str = "json";

/// An object that isn't complete yet. It waits for the decision, or only its files do.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) location: Location,
    scanner: Bundle,
    /// Its characters, without the prefixes of its lines.
    pub(super) text: String,
    /// Files found in it, which become links unless it is a bundle.
    pub(super) matches: Vec<Match>,
}

/// Location of an object.
#[derive(Debug)]
pub(super) enum Location {
    /// The content of a fence, with the position of the fence's tag if a bundle needs another one.
    Fence { tag: Option<Range<usize>> },
    /// Text outside of fences.
    Text(TextLocation),
}

/// Location of an object outside of fences.
#[derive(Debug)]
pub(super) struct TextLocation {
    /// Start of the text that the fence replaces: the object with the indentation before it.
    pub(super) from: usize,
    /// Start of the text to hold back.
    pub(super) held_from: usize,
    /// True if nothing precedes the object on its line.
    pub(super) starts_line: bool,
    /// Length of the indentation.
    pub(super) indent: usize,
    /// The containers of the line, and the prefix that continues them.
    pub(super) continuation: (usize, String),
}

impl Object {
    pub(super) fn new(location: Location) -> Self {
        Self { location, scanner: Bundle::default(), text: String::new(), matches: Vec::new() }
    }

    pub(super) fn take(&mut self, c: char) -> BundleStatus {
        self.text.push(c);
        self.scanner.take(c)
    }

    /// Adds blanks before a line. The scanner doesn't need them.
    pub(super) fn push_blanks(&mut self, blanks: &str) {
        self.text.push_str(blanks);
    }

    /// Returns the tag of the fence that a complete object belongs into.
    pub(super) fn tag(&self, is_json_wanted: bool) -> Option<&'static str> {
        if is_bundle(&self.text) {
            return Some(TAG);
        }
        let is_text = matches!(self.location, Location::Text(_));
        (is_text && is_json_wanted && is_json(&self.text)).then_some(JSON_TAG)
    }

    /// Returns the start of the text to hold back.
    pub(super) fn held_from(&self) -> Option<usize> {
        match &self.location {
            Location::Text(location) => Some(location.held_from),
            Location::Fence { tag: Some(tag) } => Some(tag.start),
            Location::Fence { tag: None } => self.matches.first().map(|file| file.replaced_range().start),
        }
    }
}
