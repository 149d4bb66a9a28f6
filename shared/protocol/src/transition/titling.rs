//! Titles of sessions: claims the only model call for a session's title, and puts the title in place of the excerpt.
//!
//! Both are transactions under the session's `Rev`. The claim is written before the call, so a finalizer that dies
//! during the call leaves a session that keeps its excerpt, and none that is asked about twice.

use contracts::read::Visibility;

use super::purging;
use crate::{
    change::{Commit, SessionChange},
    purge::Purge,
    session::{NameSource, Session},
    turn::{Settlement, State, Turn, Verdict},
    usage::UsageEntry,
};

/// Claims the model call for the title of a session. Returns `None` if it gets none: the turn isn't the session's first
/// or has no final answer, the session is private or closed, a user has named it, or the call was claimed before.
#[must_use]
pub fn claim(session: &Session, turn: &Turn) -> Option<Commit> {
    let verdict = match &turn.state {
        State::Finalized(Settlement { verdict, .. }) => verdict,
        State::Running { .. } | State::AwaitingTools { .. } | State::Settled(_) => return None,
    };
    let has_first_answer = turn.sequence == 1 && matches!(verdict, Verdict::Completed { .. });
    let is_unnamed = session.name_source == NameSource::Excerpt && session.ensure_open().is_ok();
    let is_private = session.visibility == Visibility::Participants;
    (has_first_answer && is_unnamed && !is_private).then(|| {
        let after = Session { name_source: NameSource::Requested, ..session.clone() };
        commit(session, after)
    })
}

/// Ends a claimed call: counts its usage, and names the session by the title. A session that was closed or named
/// by a user meanwhile stays as it is. `excerpt` is its name at the claim. For a purged session the usage counts beside its
/// tombstone. Returns `None` if that isn't one of a purge, by its `record`: an import requires the revision.
#[must_use]
pub fn conclude(
    session: &Session,
    record: Option<&Purge>,
    excerpt: &str,
    title: Option<&str>,
    usage: &UsageEntry,
) -> Option<Commit> {
    if session.is_purged() && !record.is_some_and(purging::has_started) {
        return None;
    }
    // An older version renames a session without the source of its name.
    let is_unnamed = session.name_source == NameSource::Requested && session.name == excerpt;
    let title = title.filter(|_| is_unnamed && session.ensure_open().is_ok());
    let after = match title {
        Some(title) => Session { name: title.to_owned(), name_source: NameSource::Model, ..session.clone() },
        None => session.clone(),
    };
    Some(Commit { usage: vec![usage.clone()], ..commit(session, after) })
}

fn commit(before: &Session, after: Session) -> Commit {
    let after = Session { rev: before.rev.saturating_add(1), ..after };
    Commit::new(SessionChange { condition: Some(before.rev), after })
}

#[cfg(test)]
mod tests {
    use contracts::{Timestamp, Usage};

    use super::*;
    use crate::{
        caller::User,
        id::AttemptId,
        session::{Deletion, Quarantine},
        spent::MeteredUsage,
        transition::tests::running,
        turn::EndReason,
    };

    fn at() -> Timestamp {
        Timestamp::from_millis(9)
    }

    fn finalized(turn: &Turn, verdict: Verdict) -> Turn {
        Turn { state: State::Finalized(Settlement { verdict, at: at() }), ..turn.clone() }
    }

    /// A session whose first turn is completed and finalized.
    fn answered() -> (Session, Turn) {
        let (session, turn) = running();
        let turn = finalized(&turn, Verdict::Completed { writer: AttemptId::new("a".to_owned()) });
        (Session { open_turn: None, ..session }, turn)
    }

    fn usage(session: &Session, turn: &Turn) -> UsageEntry {
        let usage = Usage { prompt_tokens: 30, completion_tokens: 5, total_tokens: 35, ..Usage::default() };
        UsageEntry::of_title(session, turn, "mini", (MeteredUsage::told(usage), None), at())
    }

    #[test]
    fn first_answer_is_claimed_once() {
        let (session, turn) = answered();
        let claimed = claim(&session, &turn).unwrap().session;
        assert_eq!(claimed.condition, Some(session.rev));
        let after = Session { rev: session.rev + 1, name_source: NameSource::Requested, ..session.clone() };
        assert_eq!(claimed.after, after, "only the source of the name changes");
        assert_eq!(claim(&claimed.after, &turn), None);
    }

    #[test]
    fn other_turns_and_outcomes_are_not_claimed() {
        let (session, turn) = answered();
        let (_, running) = running();
        let failed = finalized(&turn, Verdict::Failed { writer: AttemptId::new("a".to_owned()) });
        let cancelled = finalized(&turn, Verdict::Ended(EndReason::Cancelled));
        let second = Turn { sequence: 2, ..turn };
        for turn in [running, failed, cancelled, second] {
            assert_eq!(claim(&session, &turn), None, "{:?}", turn.state);
        }
    }

    #[test]
    fn named_private_and_closed_sessions_are_not_claimed() {
        let (session, turn) = answered();
        for source in [NameSource::Requested, NameSource::Model, NameSource::User] {
            assert_eq!(claim(&Session { name_source: source, ..session.clone() }, &turn), None, "{source:?}");
        }
        let private = Session { visibility: Visibility::Participants, ..session.clone() };
        let [deleted, quarantined] = closed(&session);
        for session in [private, deleted, quarantined] {
            assert_eq!(claim(&session, &turn), None);
        }
    }

    fn closed(session: &Session) -> [Session; 2] {
        let User { id: by, .. } = session.owner.clone();
        let deletion = Deletion { at: at(), by: by.clone(), retained_until: at(), purged: false };
        [
            Session { deleted: Some(deletion), ..session.clone() },
            Session { quarantine: Some(Quarantine { at: at(), by }), ..session.clone() },
        ]
    }

    #[test]
    fn title_replaces_the_excerpt_and_its_usage_is_no_turn() {
        let (session, turn) = answered();
        let claimed = claim(&session, &turn).unwrap().session.after;
        let usage = usage(&session, &turn);
        let commit = conclude(&claimed, None, &session.name, Some("Leases"), &usage).unwrap();
        let after = &commit.session.after;
        assert_eq!((after.name.as_str(), after.name_source), ("Leases", NameSource::Model));
        assert_eq!((commit.session.condition, after.rev), (Some(claimed.rev), claimed.rev + 1));
        assert_eq!((after.edited, after.usage), (session.edited, session.usage), "the session's own stay");
        let [counted] = &commit.usage[..] else { panic!("one entry") };
        assert_eq!(counted.key.model.as_deref(), Some("mini"));
        let amounts = &counted.amounts;
        assert_eq!((amounts.turns, amounts.model_calls, amounts.usage.total_tokens), (0, 1, 35));
    }

    #[test]
    fn name_stays_without_a_title_or_after_a_change() {
        let (session, turn) = answered();
        let claimed = claim(&session, &turn).unwrap().session.after;
        let usage = usage(&session, &turn);
        let name_after = |stored: &Session, title: Option<&str>| {
            let commit = conclude(stored, None, &session.name, title, &usage).unwrap();
            assert_eq!(commit.usage, std::slice::from_ref(&usage), "the call is counted all the same");
            let after = commit.session.after;
            assert_eq!((&after.deleted, &after.quarantine), (&stored.deleted, &stored.quarantine));
            (after.name, after.name_source)
        };
        let unchanged = (session.name.clone(), NameSource::Requested);
        assert_eq!(name_after(&claimed, None), unchanged);
        for closed in closed(&claimed) {
            assert_eq!(name_after(&closed, Some("Leases")), unchanged);
        }
        // Even to the same name.
        let renamed = Session { name_source: NameSource::User, ..claimed.clone() };
        assert_eq!(name_after(&renamed, Some("Leases")), (session.name.clone(), NameSource::User));
        let by_older_version = Session { name: "Mine".to_owned(), ..claimed.clone() };
        assert_eq!(name_after(&by_older_version, Some("Leases")).0, "Mine");
    }

    #[test]
    fn call_for_a_purged_session_counts_unless_an_import_reserves_it() {
        let (session, turn) = answered();
        let usage = usage(&session, &turn);
        let deletion =
            Deletion { at: at(), by: session.owner.id.clone(), retained_until: at(), purged: true };
        let purged = Session { deleted: Some(deletion), name: String::new(), ..session.clone() };
        let started = Purge { started_at: Some(at()), ..Purge::scheduled(&purged, at()) };
        let concluded =
            |record: Option<&Purge>| conclude(&purged, record, &session.name, Some("Leases"), &usage);
        let commit = concluded(Some(&started)).unwrap();
        assert_eq!(
            commit.session.after,
            Session { rev: purged.rev + 1, ..purged.clone() },
            "a tombstone stays one"
        );
        assert_eq!(commit.usage, std::slice::from_ref(&usage));
        assert_eq!(concluded(None), None);
        let reserved = Purge { started_at: None, ..started };
        assert_eq!(concluded(Some(&reserved)), None);
    }
}
