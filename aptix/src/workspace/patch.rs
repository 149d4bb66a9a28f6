//! A unified diff of one file.

use diffy::Line;

use super::error::Error;
use super::folder::MAX_FILE_BYTES;

/// Lines that may precede the first hunk. Only `/dev/null` in them has an effect.
const HEADERS: [&str; 6] =
    ["diff --git ", "index ", "new file mode 100644", "deleted file mode ", "--- ", "+++ "];
const NO_NEWLINE: &str = "\\ No newline at end of file";

/// A change to a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Write this text.
    Write(String),
    /// Delete the file.
    Delete,
}

/// A parsed patch.
#[derive(Debug)]
pub(crate) struct Patch<'a> {
    diff: diffy::Patch<'a, str>,
    /// Set if it creates a file.
    pub(crate) is_new: bool,
    is_deletion: bool,
}

impl<'a> Patch<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, Error> {
        let diff = diffy::Patch::from_str(text)
            .map_err(|error| Error::Patch(format!("the patch is not a unified diff of one file: {error}")))?;
        if diff.hunks().is_empty() {
            return Err(Error::Patch("the patch has no hunk; a hunk starts with an @@ line".to_owned()));
        }
        if let Some(line) = unapplied_line(text, &diff) {
            return Err(Error::Patch(format!(
                "line {line} of the patch belongs to no hunk; send headers and hunks of one file only"
            )));
        }
        let is_dev_null = |name: Option<&str>| name == Some("/dev/null");
        Ok(Self { is_new: is_dev_null(diff.original()), is_deletion: is_dev_null(diff.modified()), diff })
    }

    /// Applies the hunks to a text. Returns the change, and its hunks with the lines at which they apply.
    pub(crate) fn apply(&self, path: &str, before: &str) -> Result<(Change, String), Error> {
        let (after, hunks) = apply_hunks(before, &self.diff).ok_or_else(|| {
            Error::Patch(format!("the patch does not apply to {path}; read the file again"))
        })?;
        if self.is_deletion && !after.is_empty() {
            return Err(Error::Patch(format!(
                "the patch deletes {path}, but does not remove all of its lines"
            )));
        }
        if self.is_deletion {
            return Ok((Change::Delete, hunks));
        }
        if after.len() as u64 > MAX_FILE_BYTES {
            return Err(Error::Patch(format!("{path} would be larger than {MAX_FILE_BYTES} bytes")));
        }
        Ok((Change::Write(after), hunks))
    }
}

/// Returns the number of the first line that is neither a header nor part of a hunk. The parser skips such lines, but a
/// reader would take them for part of the change.
fn unapplied_line(text: &str, diff: &diffy::Patch<'_, str>) -> Option<usize> {
    let is_blank = |line: &str| line.trim_end_matches(['\r', '\n']).is_empty();
    let mut lines = (1_usize..).zip(text.split_inclusive('\n')).peekable();
    while let Some((number, line)) = lines.next_if(|(_, line)| !line.starts_with("@@ ")) {
        if !is_blank(line) && !HEADERS.iter().any(|header| line.starts_with(header)) {
            return Some(number);
        }
    }
    for hunk in diff.hunks() {
        lines.next();
        for _ in hunk.lines() {
            lines.next();
            while lines.next_if(|(_, line)| line.starts_with(NO_NEWLINE)).is_some() {}
        }
    }
    lines.find(|(_, line)| !is_blank(line)).map(|(number, _)| number)
}

/// Applies hunks in order, each at the matching lines nearest to its header. Returns the new text and the applied hunks.
fn apply_hunks(before: &str, diff: &diffy::Patch<'_, str>) -> Option<(String, String)> {
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let (mut after, mut hunks) = (Vec::with_capacity(lines.len()), String::new());
    let mut next = 0;
    for hunk in diff.hunks() {
        let old: Vec<&str> = hunk.lines().iter().filter_map(old_line).collect();
        let new: Vec<&str> = hunk.lines().iter().filter_map(new_line).collect();
        let start = hunk.new_range().start();
        let start = if new.is_empty() { start } else { start.saturating_sub(1) };
        let at = position(&lines, &old, next, start.saturating_add(next).saturating_sub(after.len()))?;
        after.extend(lines.get(next..at)?);
        let number = |start: usize, count: usize| if count == 0 { start } else { start + 1 };
        hunks.push_str(&format!(
            "@@ -{},{} +{},{} @@\n",
            number(at, old.len()),
            old.len(),
            number(after.len(), new.len()),
            new.len()
        ));
        hunks.extend(hunk.lines().iter().map(format_line));
        after.extend(new);
        next = at + old.len();
    }
    after.extend(lines.get(next..)?);
    // Only the last line may lack its line break.
    let is_complete = after.iter().rev().skip(1).all(|line| line.ends_with('\n'));
    is_complete.then(|| (after.concat(), hunks))
}

/// Returns the position of lines that is nearest to a target.
fn position(lines: &[&str], expected: &[&str], from: usize, target: usize) -> Option<usize> {
    let last = lines.len().checked_sub(expected.len()).filter(|last| *last >= from)?;
    let target = target.clamp(from, last);
    (0..=last - from)
        .flat_map(|distance| [target.checked_sub(distance), target.checked_add(distance)])
        .flatten()
        .filter(|at| (from..=last).contains(at))
        .find(|at| lines.get(*at..at + expected.len()) == Some(expected))
}

fn old_line<'a>(line: &Line<'a, str>) -> Option<&'a str> {
    match line {
        Line::Context(text) | Line::Delete(text) => Some(text),
        Line::Insert(_) => None,
    }
}

fn new_line<'a>(line: &Line<'a, str>) -> Option<&'a str> {
    match line {
        Line::Context(text) | Line::Insert(text) => Some(text),
        Line::Delete(_) => None,
    }
}

fn format_line(line: &Line<'_, str>) -> String {
    let (sign, text) = match line {
        Line::Context(text) => (' ', text),
        Line::Delete(text) => ('-', text),
        Line::Insert(text) => ('+', text),
    };
    if text.ends_with('\n') { format!("{sign}{text}") } else { format!("{sign}{text}\n{NO_NEWLINE}\n") }
}
