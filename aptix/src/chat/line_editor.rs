//! The line editor: history, multi-line input, and completion of command names.

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

/// Input of the user.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// One or more lines.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of the input.
    End,
}

/// Entries kept in the history.
const MAX_HISTORY: usize = 1_000;
/// History file, relative to the user's home.
const HISTORY_FILE: &str = ".aptix/history";

/// The line editor. It blocks on a thread of its own.
#[derive(Clone)]
pub(crate) struct LineEditor {
    editor: Arc<Mutex<Editor<EditorHelper, FileHistory>>>,
    history: Option<PathBuf>,
}

impl LineEditor {
    pub(crate) fn new() -> rustyline::Result<Self> {
        let config = Config::builder().max_history_size(MAX_HISTORY)?.history_ignore_space(true).build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(EditorHelper));
        let history = std::env::home_dir().map(|home| home.join(HISTORY_FILE));
        if let Some(file) = &history {
            // The chat works without a history too.
            let _ = file.parent().map(std::fs::create_dir_all);
            let _ = editor.load_history(file);
        }
        Ok(Self { editor: Arc::new(Mutex::new(editor)), history })
    }

    /// Reads an instruction, which is added to the history.
    pub(crate) async fn read_instruction(&self) -> rustyline::Result<Input> {
        let input = self.read("> ").await?;
        if let Input::Line(line) = &input
            && let Ok(mut editor) = self.editor.lock()
        {
            let _ = editor.add_history_entry(line);
            let _ = self.history.as_ref().map(|file| editor.append_history(file));
        }
        Ok(input)
    }

    /// Reads the answer to a question, which is not added to the history.
    pub(crate) async fn read_answer(&self, question: &str) -> rustyline::Result<Input> {
        self.read(question).await
    }

    async fn read(&self, prompt: &str) -> rustyline::Result<Input> {
        let (editor, prompt) = (self.editor.clone(), prompt.to_owned());
        let read = move || match editor.lock() {
            Ok(mut editor) => editor.readline(&prompt),
            Err(_) => Err(ReadlineError::Eof),
        };
        match tokio::task::spawn_blocking(read).await.unwrap_or(Err(ReadlineError::Eof)) {
            Ok(line) => Ok(Input::Line(join_continuations(&line))),
            Err(ReadlineError::Interrupted) => Ok(Input::Interrupted),
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(error) => Err(error),
        }
    }
}

/// Joins lines that are continued with a backslash.
fn join_continuations(text: &str) -> String {
    text.replace("\\\n", "\n")
}

/// Validation and completion for the editor.
struct EditorHelper;

impl Helper for EditorHelper {}
impl Highlighter for EditorHelper {}
impl Hinter for EditorHelper {
    type Hint = String;
}

impl Validator for EditorHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if is_incomplete(context.input()) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

/// Returns true if the text is continued on another line.
fn is_incomplete(text: &str) -> bool {
    let fences = text.lines().filter(|line| line.trim_start().starts_with("```")).count();
    text.ends_with('\\') || fences % 2 == 1
}

impl Completer for EditorHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let input = line.get(..cursor).unwrap_or_default();
        let is_command = input.starts_with('/') && !input.contains(char::is_whitespace);
        let names =
            COMMANDS.iter().map(|(name, ..)| *name).filter(|name| is_command && name.starts_with(input));
        Ok((0, names.map(str::to_owned).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backslash_and_open_fence_continue_input() {
        assert!(is_incomplete("one \\") && is_incomplete("```rust\nlet a;"));
        assert!(!is_incomplete("one") && !is_incomplete("```rust\nlet a;\n```"));
        assert_eq!(join_continuations("one \\\ntwo"), "one \ntwo");
    }
}
