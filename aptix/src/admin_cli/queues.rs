//! `aptix admin queue` and `aptix admin dead-letters`.

use std::fmt::Write;

use clap::{Args, Subcommand};
use contracts::id::{OrgId, SessionId, TurnId};
use local::QueueReport;
use local::dead_letters::{DeadLetter, RedriveReason, Selection};

use crate::escape::escape_line;
use crate::failure::Failure;
use crate::store_args::{OpenQueues, QueueArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetters {
    /// List the messages with the reasons
    List {
        #[command(flatten)]
        selection: SelectionArgs,
        #[command(flatten)]
        queues: QueueArgs,
    },
    /// Move messages back to their queues
    Redrive {
        /// Reason for the audit log: one line of at most 200 characters
        #[arg(long, value_name = "TEXT")]
        reason: Option<RedriveReason>,
        #[command(flatten)]
        selection: SelectionArgs,
        #[command(flatten)]
        queues: QueueArgs,
    },
    /// Delete the messages of purged sessions and deleted documents, or one message whatever its reason
    Drop {
        #[command(flatten)]
        selection: SelectionArgs,
        #[command(flatten)]
        queues: QueueArgs,
    },
}

/// Options that select messages. Without any, all.
#[derive(Debug, Args)]
pub(crate) struct SelectionArgs {
    /// Id of the message
    #[arg(long, value_name = "ID")]
    message: Option<String>,
    /// Org of the messages
    #[arg(long)]
    org: Option<OrgId>,
    /// Session of the messages
    #[arg(long, value_name = "ID", requires = "org")]
    session: Option<SessionId>,
    /// Turn of the messages
    #[arg(long, value_name = "ID", requires = "session")]
    turn: Option<TurnId>,
}

impl From<SelectionArgs> for Selection {
    fn from(SelectionArgs { message, org, session, turn }: SelectionArgs) -> Self {
        Self { message, org, session, turn }
    }
}

/// Runs the command and returns its output.
pub(super) async fn run(command: DeadLetters) -> Result<String, Failure> {
    match command {
        DeadLetters::List { selection, queues } => {
            let OpenQueues { queues, .. } = queues.open().await?;
            let letters = queues.dead_letters(&selection.into()).await?;
            let mut text = String::new();
            for letter in &letters {
                text.push_str(&describe(letter)?);
            }
            Ok(text)
        }
        DeadLetters::Redrive { reason, selection, queues } => {
            let OpenQueues { queues, .. } = queues.open().await?;
            let count = queues.redrive(&selection.into(), reason.as_ref()).await?;
            Ok(format!("Messages moved back: {count}.\n"))
        }
        DeadLetters::Drop { selection, queues } => {
            let OpenQueues { queues, .. } = queues.open().await?;
            let count = queues.drop_letters(&selection.into()).await?;
            Ok(format!("Messages deleted: {count}.\n"))
        }
    }
}

/// Returns a dead letter as two lines.
fn describe(letter: &DeadLetter) -> Result<String, std::fmt::Error> {
    let mut text = escape_line(letter.id());
    if let Some(sent) = letter.sent {
        write!(text, "  sent {sent}")?;
    }
    write!(text, "  receives {}", letter.receives)?;
    let (org, session, turn) = letter.subject();
    let subject = [
        ("org", org.map(OrgId::as_str)),
        ("session", session.map(SessionId::as_str)),
        ("turn", turn.map(TurnId::as_str)),
        ("document", letter.document()),
    ];
    for (name, id) in subject {
        if let Some(id) = id {
            write!(text, "  {name} {}", escape_line(id))?;
        }
    }
    writeln!(text, "\n  {}", escape_line(&letter.reason.text()))?;
    Ok(text)
}

/// Returns the state of the queues as text.
pub(super) async fn report(arguments: QueueArgs) -> Result<String, Failure> {
    let OpenQueues { queues, oldest_message_seconds } = arguments.open().await?;
    let QueueReport { queue, turns, knowledge, dead_letters, overdue_turns } = queues.report().await?;
    let mut text = String::new();
    let depths = [
        ("finalize queue", Some(queue)),
        ("turn queue", turns),
        ("knowledge queue", knowledge),
        ("dead letters", Some(dead_letters)),
    ];
    for (name, depth) in depths.into_iter().filter_map(|(name, depth)| Some((name, depth?))) {
        writeln!(
            text,
            "{name:<15} {} waiting, {} delayed, {} in flight",
            depth.visible, depth.delayed, depth.in_flight
        )?;
    }
    if let Some(seconds) = oldest_message_seconds {
        writeln!(text, "{:<15} {seconds} s", "oldest message")?;
    }
    writeln!(text, "{:<15} {overdue_turns}", "overdue turns")?;
    Ok(text)
}
