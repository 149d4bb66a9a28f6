//! Session edits: edit, delete and restore (rule 12). Each is one transaction under the session's `Rev`, so that no
//! start or finalize that read the session before it can succeed.

use std::time::Duration;

use contracts::{Timestamp, id::UserId, read::Visibility};

use super::{IllegalTransition, settle};
use crate::{
    change::{Commit, SessionChange, TurnChange},
    purge::Purge,
    session::{Deletion, Session},
    timing::Timing,
    turn::{EndReason, Turn},
};

/// A user's changes to a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// The new name.
    pub name: Option<String>,
    /// The new description. An empty text removes it.
    pub description: Option<String>,
    /// The new category. An empty text removes it.
    pub category: Option<String>,
    /// The new visibility.
    pub visibility: Option<Visibility>,
}

/// Error for an edit of a deleted session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session was deleted")]
pub struct SessionDeleted;

/// Edits a session. Returns `None` if nothing would change.
///
/// # Errors
/// Returns an error if the session is deleted.
pub fn edit(session: &Session, edit: &Edit, now: Timestamp) -> Result<Option<Commit>, SessionDeleted> {
    if session.deleted.is_some() {
        return Err(SessionDeleted);
    }
    let mut after = session.clone();
    if let Some(name) = &edit.name {
        after.name.clone_from(name);
    }
    if let Some(description) = &edit.description {
        after.description = Some(description.clone()).filter(|text| !text.is_empty());
    }
    if let Some(category) = &edit.category {
        after.category = Some(category.clone()).filter(|text| !text.is_empty());
    }
    after.visibility = edit.visibility.unwrap_or(session.visibility);
    Ok((after != *session).then(|| commit(session, after, now)))
}

/// Deletes a session and ends its open turn in the same transaction, so that no attempt works on it and no results
/// are awaited. Returns `None` if it is already deleted. The retention is fixed here: later changes of a setting or
/// context apply to later deletions only.
#[must_use]
pub fn delete(
    session: &Session,
    open: Option<&Turn>,
    by: &UserId,
    retention: Duration,
    now: Timestamp,
    timing: &Timing,
) -> Option<Commit> {
    if session.deleted.is_some() {
        return None;
    }
    let deletion = Deletion { at: now, by: by.clone(), retained_until: now.after(retention), purged: false };
    let retained_until = deletion.retained_until;
    let after = Session { deleted: Some(deletion), ..session.clone() };
    // A settled turn keeps its outcome.
    let ended: Result<TurnChange, Option<IllegalTransition>> =
        open.ok_or(None).and_then(|open| settle::end(open, EndReason::Cancelled, now, timing).map_err(Some));
    let mut commit = commit(session, after, now);
    commit.turns = ended.map(|change| change.ended_by(by)).into_iter().collect();
    commit.purge = Some(Purge::scheduled(&commit.session.after, retained_until));
    Some(commit)
}

/// Restores a deleted session. Returns `None` if it is not deleted, or if its purge has started.
#[must_use]
pub fn restore(session: &Session, now: Timestamp) -> Option<Commit> {
    session.deleted.as_ref().filter(|deletion| !deletion.purged)?;
    Some(commit(session, Session { deleted: None, ..session.clone() }, now))
}

fn commit(before: &Session, after: Session, now: Timestamp) -> Commit {
    let after = Session { rev: before.rev.saturating_add(1), edited: Some(now), ..after };
    Commit::new(SessionChange { condition: Some(before.rev), after })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{transition::tests::running, turn::Verdict};

    const RETENTION: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(0).after(Duration::from_secs(seconds))
    }

    #[test]
    fn edit_changes_given_fields_and_increments_rev() {
        let (session, _) = running();
        let named = Edit { name: Some("Leases".to_owned()), ..Edit::default() };
        let commit = edit(&session, &named, at(9)).unwrap().unwrap();
        let after = commit.session.after;
        assert_eq!(commit.session.condition, Some(session.rev));
        assert_eq!((after.name.as_str(), after.rev, after.edited), ("Leases", session.rev + 1, Some(at(9))));
        assert_eq!((&after.description, after.visibility), (&session.description, session.visibility));
        assert_eq!(edit(&after, &named, at(10)), Ok(None), "it has that name already");

        let about = |text: &str| Edit { description: Some(text.to_owned()), ..Edit::default() };
        let described = edit(&after, &about("Why"), at(11)).unwrap().unwrap().session.after;
        assert_eq!(described.description.as_deref(), Some("Why"));
        let removed = edit(&described, &about(""), at(12)).unwrap().unwrap().session.after;
        assert_eq!(removed.description, None);

        let category = |text: &str| Edit { category: Some(text.to_owned()), ..Edit::default() };
        let sorted = edit(&removed, &category("billing"), at(13)).unwrap().unwrap().session.after;
        assert_eq!(sorted.category.as_deref(), Some("billing"));
        assert_eq!(edit(&sorted, &category("billing"), at(14)), Ok(None));
        let removed = edit(&sorted, &category(""), at(15)).unwrap().unwrap().session.after;
        assert_eq!(removed.category, None);
    }

    #[test]
    fn delete_ends_open_turn_and_restore_undoes_it() {
        let (session, turn) = running();
        let (by, timing) = (UserId::new("bob").unwrap(), Timing::default());
        let commit = delete(&session, Some(&turn), &by, RETENTION, at(9), &timing).unwrap();
        let deleted = commit.session.after;
        let expected =
            Deletion { at: at(9), by: by.clone(), retained_until: at(9).after(RETENTION), purged: false };
        assert_eq!((&deleted.deleted, deleted.rev), (&Some(expected), session.rev + 1));
        let [ended] = &commit.turns[..] else { panic!("exactly one turn was open") };
        let settlement = ended.after.settlement().unwrap();
        assert_eq!(settlement.verdict, Verdict::Ended(EndReason::Cancelled));
        assert_eq!(ended.after.ended_by.as_ref(), Some(&by));

        assert_eq!(
            delete(&deleted, Some(&ended.after), &by, RETENTION, at(10), &timing),
            None,
            "already deleted"
        );
        assert_eq!(edit(&deleted, &Edit::default(), at(10)), Err(SessionDeleted));
        let restored = restore(&deleted, at(11)).unwrap().session;
        assert_eq!((restored.condition, restored.after.deleted), (Some(deleted.rev), None));
        assert_eq!(restore(&session, at(12)), None, "not deleted");
    }

    #[test]
    fn settled_turn_keeps_outcome_when_session_is_deleted() {
        let (session, turn) = running();
        let (by, timing) = (UserId::new("bob").unwrap(), Timing::default());
        let settled = settle::end(&turn, EndReason::Abandoned, at(5), &timing).unwrap().after;
        assert!(delete(&session, Some(&settled), &by, RETENTION, at(9), &timing).unwrap().turns.is_empty());
    }
}
