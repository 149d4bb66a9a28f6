//! The terminal: shows streamed answers and status messages.
//!
//! Markdown is shown as it arrives, and laid out once its block is complete. If standard output is not a terminal,
//! only final answers are written.

use std::io::{self, IsTerminal, Write};

use client::Event;
use console::Term;
use serde_json::Value;

use super::advice::sentence;
use super::blocks::{Blocks, rows};
use super::markdown;
use crate::escape::{deception_warning, escape_line, escape_text};

const DIM: &str = "\x1b[2m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const RESET: &str = "\x1b[0m";
/// Moves to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[2K";

/// The screen.
pub(crate) struct Screen {
    is_terminal: bool,
    has_colour: bool,
    blocks: Blocks,
    /// The answer since its last restart.
    answer: String,
    /// Set if a status line is shown at the position where the answer continues.
    has_status: bool,
    /// The newest line of the model's reasoning.
    reasoning: String,
    /// The last failure that was shown while it was retried.
    last_retry: String,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let is_terminal = io::stdout().is_terminal();
        let has_colour = is_terminal && std::env::var_os("NO_COLOR").is_none();
        Self {
            is_terminal,
            has_colour,
            blocks: Blocks::default(),
            answer: String::new(),
            has_status: false,
            reasoning: String::new(),
            last_retry: String::new(),
        }
    }

    /// Shows an event of a turn.
    pub(crate) fn event(&mut self, event: Event) {
        match event {
            Event::Delta(text) => self.delta(&text),
            Event::Reset(reason) => self.reset(reason.as_deref()),
            Event::Status(status) => self.status(&status_text(&status)),
            Event::Reasoning { text, is_start } => self.reasoning(&text, is_start),
            Event::Retry(error) => self.retry(&format!("{} Retrying.", sentence(&error))),
        }
    }

    /// Shows the end of the newest line of the model's reasoning, on a status line.
    fn reasoning(&mut self, text: &str, is_start: bool) {
        if is_start {
            self.reasoning.clear();
        }
        for character in text.chars() {
            match character {
                '\n' => self.reasoning.clear(),
                // Emphasis of a title.
                '*' => {}
                character => self.reasoning.push(character),
            }
        }
        let (width, _) = size();
        let room = usize::from(width).saturating_sub(4);
        let skipped = self.reasoning.chars().count().saturating_sub(room);
        let end: String = self.reasoning.chars().skip(skipped).collect();
        self.status(&end);
        if skipped > 0 {
            self.reasoning = end;
        }
    }

    /// Shows a failure that is retried, on a status line or else once.
    fn retry(&mut self, text: &str) {
        if self.is_terminal {
            self.status(text);
        } else if self.last_retry != text {
            self.note(text);
            text.clone_into(&mut self.last_retry);
        }
    }

    fn delta(&mut self, text: &str) {
        let text = display_text(text);
        self.answer.push_str(&text);
        if !self.is_terminal {
            return;
        }
        self.clear_status();
        for piece in text.split_inclusive('\n') {
            self.write(piece);
            if let Some(block) = self.blocks.push(piece) {
                self.lay_out(&block);
            }
        }
    }

    /// Restarts the answer. The text so far stays, since a terminal can't remove lines that have scrolled away.
    fn reset(&mut self, reason: Option<&str>) {
        self.end_block();
        self.answer.clear();
        if let Some(cause) = reason.and_then(restart_cause) {
            self.note(&format!("(answer restarted: {cause})"));
        }
    }

    /// Shows the final answer. `text` is authoritative, whatever was streamed before.
    pub(crate) fn finish(&mut self, text: &str) {
        let warning = deception_warning("The answer", text);
        let text = display_text(text);
        if !self.is_terminal {
            self.write(&text);
            if !text.ends_with('\n') {
                self.write("\n");
            }
        } else if self.answer == text {
            self.end_block();
        } else {
            self.end_block();
            self.write_markdown(&text);
        }
        self.answer.clear();
        warning.inspect(|warning| self.note(&format!("! {warning}")));
    }

    /// Ends a turn without an answer. The text so far stays.
    pub(crate) fn stop(&mut self) {
        self.end_block();
        self.answer.clear();
    }

    /// Shows complete Markdown.
    pub(crate) fn markdown(&mut self, text: &str) {
        self.write_markdown(&display_text(text));
    }

    /// Lays out text that is already escaped.
    fn write_markdown(&mut self, text: &str) {
        let (width, _) = size();
        self.write(&markdown::lay_out(text, usize::from(width), self.has_colour));
    }

    /// Shows a note on standard error, so that a pipe only gets answers.
    pub(crate) fn note(&mut self, text: &str) {
        self.clear_status();
        let (dim, reset) = self.colours(DIM);
        print_line(&format!("{dim}{}{reset}", display_text(text)));
    }

    /// Shows an error.
    pub(crate) fn error(&mut self, text: &str) {
        self.stop();
        let (red, reset) = self.colours(RED);
        print_line(&format!("{red}{}{reset}", display_text(text)));
    }

    /// Shows lines of a patch in colour. Tabs stay as they are, and a carriage return is shown.
    pub(crate) fn patch<'a>(&mut self, lines: impl IntoIterator<Item = &'a str>) {
        self.clear_status();
        for line in lines {
            let (colour, reset) = match line.as_bytes().first() {
                Some(b'+') => self.colours(GREEN),
                Some(b'-') => self.colours(RED),
                _ => self.colours(DIM),
            };
            print_line(&format!("{colour}{}{reset}", escape_text(line)));
        }
    }

    /// Returns the number of the first lines that fit on the screen together, at least one.
    pub(crate) fn page_length(lines: &[&str]) -> usize {
        let (width, height) = size();
        // Leave room for the question.
        let height = usize::from(height).saturating_sub(3);
        let mut taken = 0;
        let fits = |line: &&&str| {
            taken += rows(&display_text(line), width).max(1);
            taken <= height
        };
        lines.iter().take_while(fits).count().max(1)
    }

    /// Shows a status line, which the next output replaces.
    fn status(&mut self, text: &str) {
        if !self.is_terminal || text.is_empty() || !self.blocks.is_empty() {
            return;
        }
        let (width, _) = size();
        let text: String =
            format!("· {}", escape_line(text)).chars().take(usize::from(width).saturating_sub(1)).collect();
        let (dim, reset) = self.colours(DIM);
        self.write(&format!("{CLEAR_LINE}{dim}{text}{reset}"));
        self.has_status = true;
    }

    fn clear_status(&mut self) {
        if std::mem::take(&mut self.has_status) {
            self.write(CLEAR_LINE);
        }
    }

    fn end_block(&mut self) {
        self.clear_status();
        if let Some(block) = self.blocks.finish() {
            if !block.ends_with('\n') {
                self.write("\n");
            }
            self.lay_out(&block);
        }
    }

    /// Replaces a block's raw text with its layout, unless it has scrolled away.
    fn lay_out(&mut self, block: &str) {
        let (width, height) = size();
        let rows = rows(block, width);
        if rows < usize::from(height) {
            self.write(&format!("\x1b[{rows}A\r\x1b[J"));
            self.write_markdown(block);
            if block.ends_with("\n\n") {
                self.write("\n");
            }
        }
    }

    fn colours(&self, colour: &'static str) -> (&'static str, &'static str) {
        if self.has_colour { (colour, RESET) } else { ("", "") }
    }

    fn write(&mut self, text: &str) {
        let mut out = io::stdout();
        // A closed pipe does not stop a turn.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

fn print_line(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Returns the terminal's columns and lines: 80 and 24 if they can't be determined.
fn size() -> (u16, u16) {
    match Term::stdout().size() {
        (0, _) | (_, 0) => (80, 24),
        (height, width) => (width, height),
    }
}

/// Escapes control and invisible characters, and expands tabs.
fn display_text(text: &str) -> String {
    escape_text(text).replace('\t', "    ")
}

/// Returns the cause of an answer that starts anew, or `None` if no answer follows the text so far.
fn restart_cause(reason: &str) -> Option<&'static str> {
    match reason {
        "retry" => Some("the model is called again"),
        "taken_over" => Some("another attempt took over"),
        "restated" | "replaced" | "corrected" => Some("the text was corrected"),
        _ => None,
    }
}

/// Formats the status of a turn.
fn status_text(status: &Value) -> String {
    let text = |name: &str| status.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (phase, tool) = (text("Phase"), text("Name"));
    let tool = if tool.is_empty() { text("ToolName") } else { tool };
    format!("{} {tool}", phase.replace('_', " ")).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use contracts::stream::ResetReason;

    use super::*;

    #[test]
    fn restarted_answer_shows_its_cause() {
        let cause = |reason: ResetReason| {
            let name = serde_json::to_value(reason).unwrap();
            restart_cause(name.as_str().unwrap())
        };
        for reason in
            [ResetReason::Retry, ResetReason::Restated, ResetReason::TakenOver, ResetReason::Replaced]
        {
            assert!(cause(reason).is_some(), "{reason:?}");
        }
        // The client's own reason, which is not on the wire.
        assert!(restart_cause("corrected").is_some());
        // A tool call or the error that follows says enough.
        for reason in [ResetReason::Tools, ResetReason::Failed] {
            assert_eq!(cause(reason), None, "{reason:?}");
        }
    }

    #[test]
    fn displayed_text_has_no_terminal_commands() {
        assert_eq!(
            display_text("a\x1b]0;title\x07\tb\n\u{9b}31m"),
            "a\\u{1b}]0;title\\u{7}    b\n\\u{9b}31m"
        );
    }

    #[test]
    fn long_patch_takes_several_pages() {
        let wide = "x".repeat(100);
        assert_eq!(Screen::page_length(&["+short"; 3]), 3);
        assert!(Screen::page_length(&vec!["+short"; 500]) < 500);
        assert!(Screen::page_length(&vec![wide.as_str(); 500]) < Screen::page_length(&vec!["+short"; 500]));
    }
}
