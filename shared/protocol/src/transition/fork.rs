//! Fork: a new session that continues from a completed turn of another session. It refers to that session's turns and
//! does not copy them.

use contracts::{Timestamp, Usage, read::Visibility};

use super::{IllegalTransition, finalize::chain_head};
use crate::{
    ancestry::ForkOrigin,
    caller::User,
    change::{Commit, SessionChange},
    detail::{Participant, Report},
    id::SessionKey,
    ratings::Ratings,
    session::{NameSource, Session, SolutionContext},
    turn::{Turn, Verdict},
};

/// The session to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkRequest {
    /// The new session's key, in the source's org.
    pub key: SessionKey,
    /// The user who forks the session and owns the fork.
    pub by: User,
    /// The name, or `None` to use the source's.
    pub name: Option<String>,
    /// The visibility. The fork shows its source's content, so it has no larger audience.
    pub visibility: Visibility,
}

/// Returns the transaction that creates a fork. `turn` is a turn of `source`, `report` is its report and `mode` is
/// the mode after it. Category, contexts, hints and the solution context are the source's latest: they are settings, not turns.
///
/// # Errors
/// Returns an error if the turn is not completed.
pub fn fork(
    source: &Session,
    turn: &Turn,
    report: &Report,
    mode: String,
    request: ForkRequest,
    now: Timestamp,
) -> Result<Commit, IllegalTransition> {
    let verdict = turn.settlement().map(|settlement| &settlement.verdict);
    if !matches!(verdict, Some(Verdict::Completed { .. })) {
        return Err(IllegalTransition { from: turn.state.phase() });
    }
    let ForkRequest { key, by, name, visibility } = request;
    let origin = ForkOrigin {
        session: turn.key.session.session.clone(),
        turn: turn.key.turn.clone(),
        sequence: turn.sequence,
        depth: turn.depth(),
    };
    let participant = Participant {
        session: key.clone(),
        user: by.id.clone(),
        name: Some(by.name.clone()),
        last_activity: now,
    };
    let after = Session {
        key,
        rev: 1,
        name_source: if name.is_some() { NameSource::User } else { source.name_source },
        name: name.unwrap_or_else(|| source.name.clone()),
        description: None,
        category: source.category.clone(),
        visibility,
        edited: None,
        deleted: None,
        quarantine: None,
        owner: by,
        created: now,
        last_activity: now,
        turn_count: 0,
        open_turn: None,
        last_turn: None,
        tip: Some(origin.to_parent_ref()),
        chain: chain_head(report),
        mode,
        usage: Usage::default(),
        costs: Vec::new(),
        // Feedback on the turns before the fork stays the source's.
        ratings: Ratings::default(),
        solution: source.solution.clone().map(|latched| SolutionContext {
            session: latched.session.or_else(|| Some(source.key.session.clone())),
            ..latched
        }),
        forked_from: Some(origin),
        cutoff: None,
        stateless_provider: source.stateless_provider.clone(),
        contexts: source.contexts.clone(),
        hints: source.hints.clone(),
    };
    let session = SessionChange { condition: None, after };
    Ok(Commit { participant: Some(participant), ..Commit::new(session) })
}
