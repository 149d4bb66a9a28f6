//! The terminal: an answer while it is written, and what happens around it.
//!
//! Markdown is shown as it comes, and once more, laid out, when its block is complete. Where standard output is no
//! terminal nothing is there but the answers, each when it is final.

use std::io::{self, IsTerminal, Write};

use client::Event;
use serde_json::Value;
use termimad::{Alignment, MadSkin};

use super::blocks::Blocks;

/// What a terminal's line is where it does not say.
const USUAL: (u16, u16) = (80, 24);
const DIM: &str = "\x1b[2m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const PLAIN: &str = "\x1b[0m";
/// To the beginning of the line, and nothing on it.
const CLEARED: &str = "\r\x1b[2K";

/// Where everything is written.
pub(crate) struct Screen {
    is_terminal: bool,
    has_colour: bool,
    skin: MadSkin,
    blocks: Blocks,
    /// The answer since it last began anew.
    answer: String,
    /// A line that says what the turn is at stands where the answer goes on.
    has_status: bool,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let is_terminal = io::stdout().is_terminal();
        let has_colour = is_terminal && std::env::var_os("NO_COLOR").is_none();
        let mut skin = if has_colour { MadSkin::default() } else { MadSkin::no_style() };
        skin.headers.iter_mut().for_each(|header| header.align = Alignment::Left);
        Self {
            is_terminal,
            has_colour,
            skin,
            blocks: Blocks::default(),
            answer: String::new(),
            has_status: false,
        }
    }

    /// What happens in a turn.
    pub(crate) fn event(&mut self, event: Event) {
        match event {
            Event::Delta(text) => self.delta(&text),
            Event::Reset(reason) => self.reset(reason.as_deref()),
            Event::Status(status) => self.status(&phase(&status)),
            Event::Retry(error) => self.status(&format!("{error}; trying again")),
        }
    }

    fn delta(&mut self, text: &str) {
        let text = shown(text);
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

    /// What was shown is not the answer. It stays, since a terminal can't take back what has scrolled away.
    fn reset(&mut self, reason: Option<&str>) {
        self.end_block();
        self.answer.clear();
        if let Some(reason @ ("attempt" | "mended" | "retry")) = reason {
            self.note(&format!("(the answer begins anew: {reason})"));
        }
    }

    /// What a turn came to. `text` counts, whatever was shown.
    pub(crate) fn finish(&mut self, text: &str) {
        let text = shown(text);
        if !self.is_terminal {
            self.write(&text);
            if !text.ends_with('\n') {
                self.write("\n");
            }
        } else if self.answer == text {
            self.end_block();
        } else {
            self.end_block();
            self.markdown(&text);
        }
        self.answer.clear();
    }

    /// A turn that did not come to an answer: what was shown stays.
    pub(crate) fn stop(&mut self) {
        self.end_block();
        self.answer.clear();
    }

    /// Markdown in one piece.
    pub(crate) fn markdown(&mut self, text: &str) {
        let laid_out = self.skin.term_text(&shown(text)).to_string();
        self.write(&laid_out);
        if !laid_out.ends_with('\n') {
            self.write("\n");
        }
    }

    /// A line about what happens; on standard error, so that a pipe has the answers alone.
    pub(crate) fn note(&mut self, text: &str) {
        self.clear_status();
        let (dim, plain) = self.colours(DIM);
        tell(&format!("{dim}{}{plain}", shown(text)));
    }

    /// What went wrong.
    pub(crate) fn error(&mut self, text: &str) {
        self.stop();
        let (red, plain) = self.colours(RED);
        tell(&format!("{red}{}{plain}", shown(text)));
    }

    /// A patch, with what goes and what comes told apart.
    pub(crate) fn patch(&mut self, patch: &str) {
        self.clear_status();
        for line in shown(patch).lines() {
            let (colour, plain) = match line.as_bytes().first() {
                Some(b'+') => self.colours(GREEN),
                Some(b'-') => self.colours(RED),
                _ => self.colours(DIM),
            };
            tell(&format!("{colour}{line}{plain}"));
        }
    }

    /// A line that the next thing replaces.
    fn status(&mut self, text: &str) {
        if !self.is_terminal || text.is_empty() || !self.blocks.is_empty() {
            return;
        }
        let (width, _) = size();
        let text: String =
            format!("· {}", shown(text)).chars().take(usize::from(width).saturating_sub(1)).collect();
        let (dim, plain) = self.colours(DIM);
        self.write(&format!("{CLEARED}{dim}{text}{plain}"));
        self.has_status = true;
    }

    fn clear_status(&mut self) {
        if std::mem::take(&mut self.has_status) {
            self.write(CLEARED);
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

    /// Puts a block's layout in the place of its text, unless that has scrolled away.
    fn lay_out(&mut self, block: &str) {
        let (width, height) = size();
        let rows = super::blocks::rows(block, width);
        if rows < usize::from(height) {
            self.write(&format!("\x1b[{rows}A\r\x1b[J"));
            self.markdown(block);
            if block.ends_with("\n\n") {
                self.write("\n");
            }
        }
    }

    fn colours(&self, colour: &'static str) -> (&'static str, &'static str) {
        if self.has_colour { (colour, PLAIN) } else { ("", "") }
    }

    fn write(&mut self, text: &str) {
        let mut out = io::stdout();
        // A closed pipe is no reason to stop a turn.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn size() -> (u16, u16) {
    match termimad::terminal_size() {
        (0, _) | (_, 0) => USUAL,
        size => size,
    }
}

/// Text of a model or a tool as a terminal may be shown it: nothing in it is a command to the terminal.
pub(crate) fn shown(text: &str) -> String {
    let expanded = text.replace('\t', "    ");
    expanded.chars().filter(|letter| *letter == '\n' || !letter.is_control()).collect()
}

/// What a turn is at, in a few words.
fn phase(status: &Value) -> String {
    let text = |name: &str| status.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (phase, tool) = (text("Phase"), text("Name"));
    let tool = if tool.is_empty() { text("ToolName") } else { tool };
    format!("{} {tool}", phase.replace('_', " ")).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_a_command_to_the_terminal() {
        assert_eq!(shown("a\x1b]0;title\x07\tb\r\n\u{9b}31m"), "a]0;title    b\n31m");
    }
}
