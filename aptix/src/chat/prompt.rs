//! The line that is typed: history, several lines, and the names of commands.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, Helper};

use super::command::COMMANDS;

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A line, or several.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of the input.
    End,
}

/// How many lines are remembered.
const REMEMBERED: usize = 1_000;
/// Where they are kept, below the user's home.
const HISTORY: &str = ".aptix/history";

/// The editor. It waits on a thread of its own.
#[derive(Clone)]
pub(crate) struct Prompt {
    editor: Arc<Mutex<Editor<Lines, FileHistory>>>,
    history: Option<PathBuf>,
}

impl Prompt {
    pub(crate) fn new() -> rustyline::Result<Self> {
        let config = Config::builder().max_history_size(REMEMBERED)?.history_ignore_space(true).build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Lines));
        let history = std::env::home_dir().map(|home| home.join(HISTORY));
        if let Some(file) = &history {
            // Without a history the chat goes on all the same.
            let _ = file.parent().map(std::fs::create_dir_all);
            let _ = editor.load_history(file);
        }
        Ok(Self { editor: Arc::new(Mutex::new(editor)), history })
    }

    /// An instruction. It is remembered.
    pub(crate) async fn instruction(&self) -> rustyline::Result<Typed> {
        let typed = self.read("> ").await?;
        if let Typed::Line(line) = &typed
            && let Ok(mut editor) = self.editor.lock()
        {
            let _ = editor.add_history_entry(line);
            let _ = self.history.as_ref().map(|file| editor.append_history(file));
        }
        Ok(typed)
    }

    /// An answer to a question. It is not remembered.
    pub(crate) async fn answer(&self, question: &str) -> rustyline::Result<Typed> {
        self.read(question).await
    }

    async fn read(&self, prompt: &str) -> rustyline::Result<Typed> {
        let (editor, prompt) = (self.editor.clone(), prompt.to_owned());
        let read = move || match editor.lock() {
            Ok(mut editor) => editor.readline(&prompt),
            Err(_) => Err(ReadlineError::Eof),
        };
        match tokio::task::spawn_blocking(read).await.unwrap_or(Err(ReadlineError::Eof)) {
            Ok(line) => Ok(Typed::Line(joined(&line))),
            Err(ReadlineError::Interrupted) => Ok(Typed::Interrupted),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(error),
        }
    }
}

/// Lines that go on after a backslash are one instruction without it.
fn joined(text: &str) -> String {
    text.replace("\\\n", "\n")
}

/// What the editor knows of the lines.
struct Lines;

impl Helper for Lines {}
impl Highlighter for Lines {}
impl Hinter for Lines {
    type Hint = String;
}

impl Validator for Lines {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if goes_on(context.input()) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

/// Whether a text waits for another line.
fn goes_on(text: &str) -> bool {
    let fences = text.lines().filter(|line| line.trim_start().starts_with("```")).count();
    text.ends_with('\\') || fences % 2 == 1
}

impl Completer for Lines {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..at).unwrap_or_default();
        let is_command = typed.starts_with('/') && !typed.contains(char::is_whitespace);
        let names =
            COMMANDS.iter().map(|(name, ..)| *name).filter(|name| is_command && name.starts_with(typed));
        Ok((0, names.map(str::to_owned).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_and_an_open_fence_wait_for_another_line() {
        assert!(goes_on("one \\") && goes_on("```rust\nlet a;"));
        assert!(!goes_on("one") && !goes_on("```rust\nlet a;\n```"));
        assert_eq!(joined("one \\\ntwo"), "one \ntwo");
    }
}
