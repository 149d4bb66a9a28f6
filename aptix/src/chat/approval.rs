//! Approval of tool calls: asks the user where the policy needs it.

use super::line_editor::{Input, LineEditor};
use super::screen::Screen;
use crate::escape::{deception_warning, escape_path};
use crate::failure::Failure;
use crate::workspace::{ProposedChange, Protection};

/// Approval policy for the agent's calls.
pub(crate) struct Approval {
    /// Set if patches of ordinary files are applied without asking.
    pub(crate) applies_all: bool,
    /// The editor that asks. `None` without a terminal.
    pub(crate) editor: Option<LineEditor>,
}

/// Decision on a call.
pub(crate) enum Decision {
    Approved,
    Declined,
    /// No terminal to ask on.
    Unattended,
    /// The user stopped the turn.
    Stopped,
}

enum Answer {
    Yes,
    No,
    Always,
}

impl Approval {
    /// Shows a change, and asks for approval unless the policy has it. A protected file always needs it.
    pub(crate) async fn of_change(
        &mut self,
        path: &str,
        change: &ProposedChange,
        screen: &mut Screen,
    ) -> Result<Decision, Failure> {
        let mut lines: Vec<&str> = change.hunks.split('\n').collect();
        lines.pop();
        let warning = deception_warning("The patch", &change.hunks);
        let is_asked = !self.applies_all || change.protection.is_some();
        let Some(editor) = self.editor.as_ref().filter(|_| is_asked) else {
            screen.patch(lines);
            warning.inspect(|warning| screen.note(&format!("! {warning}")));
            return Ok(if is_asked { Decision::Unattended } else { Decision::Approved });
        };
        if let Some(decision) = show_pages(editor, &lines, screen).await? {
            return Ok(decision);
        }
        warning.inspect(|warning| screen.note(&format!("! {warning}")));
        let about = change.protection.map(|protection| format!(", {}", protection.description()));
        let question =
            format!("{} {}{}?", change.verb(), escape_path(path), about.as_deref().unwrap_or_default());
        Ok(match ask(editor, &question, change.protection.is_none()).await? {
            Some(Answer::Always) => {
                self.applies_all = true;
                Decision::Approved
            }
            Some(Answer::Yes) => Decision::Approved,
            Some(Answer::No) => Decision::Declined,
            None => Decision::Stopped,
        })
    }

    /// Asks before a protected file is sent to the model.
    pub(crate) async fn of_read(&self, path: &str, protection: Protection) -> Result<Decision, Failure> {
        let Some(editor) = &self.editor else { return Ok(Decision::Unattended) };
        let question = format!("Send {}, {}, to the model?", escape_path(path), protection.description());
        Ok(match ask(editor, &question, false).await? {
            Some(Answer::Yes | Answer::Always) => Decision::Approved,
            Some(Answer::No) => Decision::Declined,
            None => Decision::Stopped,
        })
    }
}

/// Shows lines page by page. Returns a decision if the user does not read on.
async fn show_pages(
    editor: &LineEditor,
    lines: &[&str],
    screen: &mut Screen,
) -> Result<Option<Decision>, Failure> {
    let mut rest = lines;
    loop {
        let (page, later) = rest.split_at(Screen::page_length(rest).min(rest.len()));
        screen.patch(page.iter().copied());
        if later.is_empty() {
            return Ok(None);
        }
        let question =
            format!("{} of {} lines shown. Enter for more, [n]o: ", lines.len() - later.len(), lines.len());
        match editor.read_answer(&question).await? {
            Input::Line(line) if ["n", "no"].contains(&line.trim().to_lowercase().as_str()) => {
                return Ok(Some(Decision::Declined));
            }
            Input::Line(_) => rest = later,
            Input::End => return Ok(Some(Decision::Declined)),
            Input::Interrupted => return Ok(Some(Decision::Stopped)),
        }
    }
}

/// Asks until the answer is valid. None stops the turn.
async fn ask(editor: &LineEditor, question: &str, offers_always: bool) -> Result<Option<Answer>, Failure> {
    let answers = if offers_always { "[y]es, [n]o, [a]lways" } else { "[y]es, [n]o" };
    loop {
        match editor.read_answer(&format!("{question} {answers}: ")).await? {
            Input::Line(line) => match line.trim().to_lowercase().as_str() {
                "y" | "yes" => return Ok(Some(Answer::Yes)),
                "n" | "no" => return Ok(Some(Answer::No)),
                "a" | "always" if offers_always => return Ok(Some(Answer::Always)),
                _ => {}
            },
            Input::End => return Ok(Some(Answer::No)),
            Input::Interrupted => return Ok(None),
        }
    }
}
