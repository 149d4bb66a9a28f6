//! `aptix admin show`: the stored state of a turn.

use std::fmt::Write;

use clap::Args;
use client::{Api, Error, Request};
use contracts::ErrorCode;
use contracts::id::{SessionId, TurnId};
use contracts::paths::{self, TurnPath};
use contracts::read::{PayloadValue, SessionRecord, TurnRecord, TurnRecords};

use crate::api_args::AccessArgs;
use crate::escape::{escape_line, escape_text};
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Id of the session
    session: SessionId,
    /// Id of the turn
    turn: TurnId,
    /// Print the request and the answer, too; both reads are audited
    #[arg(long)]
    contents: bool,
    #[command(flatten)]
    access: AccessArgs,
}

/// Returns the state of the turn as text.
pub(super) async fn run(Show { session, turn, contents, access }: Show) -> Result<String, Failure> {
    let api = access.connect().await?;
    let records = api.call(&Request::get(paths::RECORDS.fill(&session, &turn))).await?;
    let mut text = describe(&serde_json::from_value(records)?)?;
    if contents {
        for (title, path) in [("request", paths::INSTRUCTION), ("answer", paths::ANSWER)] {
            let content = fetch(&api, path, &session, &turn).await?;
            write!(text, "\n{title}\n{}\n", content.as_deref().unwrap_or("(none)").trim_end())?;
        }
    }
    Ok(text)
}

/// Returns a payload of the turn as text, if it has this payload.
async fn fetch(
    api: &Api,
    path: TurnPath,
    session: &SessionId,
    turn: &TurnId,
) -> Result<Option<String>, Failure> {
    let request = Request::get(path.fill(session, turn)).with_query(&[("inline", "true")]);
    match api.call(&request).await {
        Ok(value) => {
            let PayloadValue { text, .. } = serde_json::from_value(value)?;
            Ok(text.map(|text| escape_text(&text)))
        }
        Err(Error::Api(error)) if error.code == ErrorCode::PayloadNotFound.as_str() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn describe(records: &TurnRecords) -> Result<String, std::fmt::Error> {
    let TurnRecords { session, turn, items, objects, is_truncated } = records;
    let mut text = String::new();
    describe_session(&mut text, session)?;
    describe_turn(&mut text, turn)?;
    writeln!(text, "\n{:>12}  VERSION  ITEM", "BYTES")?;
    for item in items {
        writeln!(text, "{:>12}  {:<7}  {}", item.size_bytes, item.version, escape_line(&item.key))?;
    }
    writeln!(text, "\n{:>12}  IN USE   OBJECT", "BYTES")?;
    for object in objects {
        let in_use = if object.is_referenced { "yes" } else { "no" };
        writeln!(text, "{:>12}  {in_use:<7}  {}", object.size_bytes, escape_line(&object.key))?;
    }
    if *is_truncated {
        writeln!(text, "There are more.")?;
    }
    Ok(text)
}

fn describe_session(text: &mut String, session: &SessionRecord) -> std::fmt::Result {
    write!(text, "session {}: revision {}, turns {}", session.id, session.revision, session.turn_count)?;
    if let Some(open) = &session.open_turn_id {
        write!(text, ", open turn {open}")?;
    }
    if let Some(at) = &session.deleted_date {
        write!(text, ", deleted {at}")?;
    }
    if let (Some(at), Some(by)) = (&session.quarantined_date, &session.quarantined_by_user_id) {
        write!(text, ", quarantined {at} by {by}")?;
    }
    writeln!(text)
}

fn describe_turn(text: &mut String, turn: &TurnRecord) -> std::fmt::Result {
    writeln!(
        text,
        "turn {}: number {}, {}, {}, of {}",
        turn.id,
        turn.sequence_number,
        turn.phase.name(),
        turn.status.id(),
        turn.requested_by_user_id
    )?;
    let dates = [
        ("created", Some(&turn.creation_date)),
        ("lease ends", turn.lease_end_date.as_ref()),
        ("tool results due", turn.tool_deadline_date.as_ref()),
        ("sweep due", turn.due_date.as_ref()),
        ("settled", turn.settled_date.as_ref()),
    ];
    for (name, date) in dates {
        if let Some(date) = date {
            writeln!(text, "  {name:<17} {date}")?;
        }
    }
    let attempts = [
        ("attempt", Some(turn.attempt_id.as_str())),
        ("suspended by", turn.suspended_by_attempt_id.as_deref()),
        ("outcome by", turn.outcome_attempt_id.as_deref()),
    ];
    for (name, attempt) in attempts {
        if let Some(attempt) = attempt {
            writeln!(text, "  {name:<17} {}", escape_line(attempt))?;
        }
    }
    writeln!(text, "  {:<17} {}", "takeovers", turn.takeovers)?;
    writeln!(text, "  {:<17} {}", "tool waits", turn.round)
}
