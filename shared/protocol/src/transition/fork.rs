//! Fork: a new session that goes on from a completed turn of another one, whose turns it refers to and does not copy.

use contracts::{Timestamp, Usage};

use super::{Illegal, finalize::chain_head};
use crate::{
    caller::User,
    change::{Commit, SessionChange},
    detail::{Participant, Report},
    id::SessionKey,
    line::ForkedFrom,
    session::{Session, SolutionContext},
    turn::{Turn, Verdict},
};

/// The session that is to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forking {
    /// Its key, of the source's org.
    pub key: SessionKey,
    /// Who wants it, and owns it.
    pub by: User,
    /// What it is called; none: as its source.
    pub name: Option<String>,
}

/// The transaction that makes a fork. `turn` is a turn of `source`, `report` what came of it and `mode` what it left
/// its session in. Contexts, hints and the solution context are what the source has latched by now: they are
/// settings, not turns.
///
/// # Errors
/// When the turn has no answer to go on from.
pub fn fork(
    source: &Session,
    turn: &Turn,
    report: &Report,
    mode: String,
    forking: Forking,
    now: Timestamp,
) -> Result<Commit, Illegal> {
    let verdict = turn.settlement().map(|settlement| &settlement.verdict);
    if !matches!(verdict, Some(Verdict::Completed { .. })) {
        return Err(Illegal { from: turn.state.phase() });
    }
    let Forking { key, by, name } = forking;
    let origin = ForkedFrom {
        session: turn.key.session.session.clone(),
        turn: turn.key.turn.clone(),
        sequence: turn.sequence,
        place: turn.place(),
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
        name: name.unwrap_or_else(|| source.name.clone()),
        description: None,
        // What it tells of its source is for nobody else.
        visibility: source.visibility,
        edited: None,
        deleted: None,
        owner: by,
        created: now,
        last_activity: now,
        turn_count: 0,
        open_turn: None,
        last_turn: None,
        tip: Some(origin.after()),
        chain: chain_head(report),
        mode,
        usage: Usage::default(),
        costs: Vec::new(),
        solution: source.solution.clone().map(|latched| SolutionContext {
            session: latched.session.or_else(|| Some(source.key.session.clone())),
            ..latched
        }),
        forked_from: Some(origin),
        cut: None,
        keeps_no_chain: source.keeps_no_chain.clone(),
        contexts: source.contexts.clone(),
        hints: source.hints.clone(),
    };
    let session = SessionChange { condition: None, after };
    Ok(Commit { participant: Some(participant), ..Commit::on(session) })
}
