//! Violations of a request, collected in document order, and locations in the document.

use std::fmt;

use super::limits::MAX_REPORTED_VIOLATIONS;
use crate::error::{Error, ErrorCode};

/// A location in the document.
#[derive(Clone, Copy)]
pub(crate) struct Location<'a> {
    parent: Option<&'a Location<'a>>,
    segment: Segment<'a>,
}

#[derive(Clone, Copy)]
enum Segment<'a> {
    Root,
    Member(&'a str),
    Item(usize),
}

impl Location<'_> {
    /// The whole body.
    pub(crate) const ROOT: Location<'static> = Location { parent: None, segment: Segment::Root };

    /// A member of the object at this location.
    pub(crate) fn member<'b>(&'b self, name: &'b str) -> Location<'b> {
        Location { parent: Some(self), segment: Segment::Member(name) }
    }

    /// An item of the array at this location.
    pub(crate) fn item<'b>(&'b self, index: usize) -> Location<'b> {
        Location { parent: Some(self), segment: Segment::Item(index) }
    }

    /// True if this is the whole body.
    pub(crate) fn is_root(&self) -> bool {
        matches!(self.segment, Segment::Root)
    }

    /// The path as `Details` shows it: `InputArtifacts[2].RelativePath`.
    fn path(&self) -> String {
        let mut path = self.parent.map(Location::path).unwrap_or_default();
        match self.segment {
            Segment::Root => {}
            Segment::Member(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.extend(printable(name));
            }
            Segment::Item(index) => path.push_str(&format!("[{index}]")),
        }
        path
    }
}

/// Sanitizes a name from a client: truncated, and without characters that could break a log line.
fn printable(name: &str) -> impl Iterator<Item = char> {
    name.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).take(64)
}

/// The violations found so far.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    errors: Vec<Error>,
}

impl Violations {
    /// Adds a violation: `{path} {text}`. Violations beyond the limit are neither stored nor formatted.
    pub(crate) fn add(&mut self, code: ErrorCode, at: &Location<'_>, text: impl fmt::Display) {
        if self.errors.len() >= MAX_REPORTED_VIOLATIONS {
            return;
        }
        let path = at.path();
        self.errors.push(if path.is_empty() {
            Error::new(code, format!("The body {text}"))
        } else {
            Error::new(code, format!("{path} {text}")).with_details(path)
        });
    }

    /// Adds a violation of a rule: `{path} must be …`.
    pub(crate) fn invalid(&mut self, at: &Location<'_>, rule: impl fmt::Display) {
        self.add(ErrorCode::MemberInvalid, at, rule);
    }

    /// Adds a violation of a limit: `{path} holds 65 items, at most 64 are allowed`.
    pub(crate) fn too_large(&mut self, at: &Location<'_>, text: impl fmt::Display) {
        self.add(ErrorCode::MemberTooLarge, at, text);
    }

    /// True if there are no violations so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    /// Returns the violations, in document order.
    pub(crate) fn into_errors(self) -> Vec<Error> {
        self.errors
    }
}
