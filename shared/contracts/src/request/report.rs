//! What is wrong with a request, gathered in document order, and where in the document we are.

use std::fmt;

use super::limits::MAX_REPORTED_VIOLATIONS;
use crate::error::{Error, ErrorCode};

/// A place in the document.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    parent: Option<&'a At<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Member(&'a str),
    Item(usize),
}

impl At<'_> {
    /// The whole body.
    pub(crate) const ROOT: At<'static> = At { parent: None, step: Step::Root };

    /// A member of the object that is here.
    pub(crate) fn member<'b>(&'b self, name: &'b str) -> At<'b> {
        At { parent: Some(self), step: Step::Member(name) }
    }

    /// An item of the array that is here.
    pub(crate) fn item<'b>(&'b self, index: usize) -> At<'b> {
        At { parent: Some(self), step: Step::Item(index) }
    }

    /// Which item of an array this is, where it is one.
    pub(crate) fn index(&self) -> Option<usize> {
        match self.step {
            Step::Item(index) => Some(index),
            Step::Root | Step::Member(_) => None,
        }
    }

    /// Whether this is the whole body.
    pub(crate) fn is_root(&self) -> bool {
        matches!(self.step, Step::Root)
    }

    /// The path as `Details` names it: `InputArtifacts[2].RelativePath`.
    fn path(&self) -> String {
        let mut path = self.parent.map(At::path).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Member(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.extend(printable(name));
            }
            Step::Item(index) => path.push_str(&format!("[{index}]")),
        }
        path
    }
}

/// A name that a client made up, short and without anything that could break a log line.
fn printable(name: &str) -> impl Iterator<Item = char> {
    name.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).take(64)
}

/// The violations found so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    errors: Vec<Error>,
}

impl Report {
    /// Adds a violation: `{path} {text}`. Past the limit nothing more is kept, nor formatted.
    pub(crate) fn add(&mut self, code: ErrorCode, at: &At<'_>, text: impl fmt::Display) {
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

    /// The value breaks its rule: `{path} must be …`.
    pub(crate) fn invalid(&mut self, at: &At<'_>, rule: impl fmt::Display) {
        self.add(ErrorCode::MemberInvalid, at, rule);
    }

    /// The value is over a limit: `{path} holds 65 items, at most 64 are allowed`.
    pub(crate) fn too_large(&mut self, at: &At<'_>, text: impl fmt::Display) {
        self.add(ErrorCode::MemberTooLarge, at, text);
    }

    /// Whether nothing was wrong so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    /// What was wrong, in document order.
    pub(crate) fn into_errors(self) -> Vec<Error> {
        self.errors
    }
}
