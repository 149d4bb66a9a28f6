//! The roll-ups: totals once (I8), the last turn, the chain, the contexts, the open turn, the participants.

use contracts::{Usage, read::TurnStatus};
use protocol::{
    session::Session,
    turn::{State, Turn, Verdict},
};

use super::{Evidence, Violation, violation};
use crate::ledger::Event;

pub(super) fn check(evidence: &Evidence<'_>, found: &mut Vec<Violation>) {
    for session in evidence.table.sessions.values() {
        let mut turns: Vec<&Turn> =
            evidence.table.heads.values().filter(|turn| turn.key.session == session.key).collect();
        turns.sort_by_key(|turn| turn.sequence);
        totals(evidence, session, &turns, found);
        last_turn(session, &turns, found);
        chain(evidence, session, &turns, found);
        open_turn(session, &turns, found);
        participants(evidence, session, &turns, found);
    }
    for entry in evidence.entries {
        match &entry.event {
            Event::Session { before: Some(before), after } if before.contexts != after.contexts => {
                let session = &after.key.session;
                found.push(violation("I8", format!("the contexts of {session} were replaced")));
            }
            Event::ModelCalled { turn, sent, .. } if !sent.store && sent.previous_response_id.is_some() => {
                found.push(violation("I8", format!("{} chains, but leaves nothing behind", turn.turn)));
            }
            Event::ChainedAcross { turn, wrote, model } => {
                found.push(violation("I8", format!("{} has {model} go on from {wrote}", turn.turn)));
            }
            _ => {}
        }
    }
}

fn totals(evidence: &Evidence<'_>, session: &Session, turns: &[&Turn], found: &mut Vec<Violation>) {
    let used = turns
        .iter()
        .filter(|turn| matches!(turn.state, State::Finalized(_)))
        .filter_map(|turn| evidence.findings(turn)?.report.usage)
        .fold(Usage::default(), Usage::plus);
    if session.usage != used {
        let (says, are) = (session.usage.total_tokens, used.total_tokens);
        found.push(violation("I8", format!("the session's total is {says} tokens, its turns' is {are}")));
    }
}

fn last_turn(session: &Session, turns: &[&Turn], found: &mut Vec<Violation>) {
    let Some(last) = turns.last() else { return };
    let status = match &last.state {
        State::Finalized(settlement) => settlement.verdict.status(),
        State::Running { .. } | State::AwaitingTools { .. } | State::Settled(_) => TurnStatus::Pending,
    };
    let says = session.last_turn.as_ref().map(|told| (&told.id, told.status));
    if says != Some((&last.key.turn, status)) {
        let what = format!("the last turn is {} {status:?}, not {says:?}", last.key.turn);
        found.push(violation("I8", what));
    }
}

/// A turn continues the last completed one before it, and the session names the last of all. One that left
/// nothing with the provider can't be continued, and what came before it lacks it; nor can one that another model
/// answered in the place of its own. Once a turn found out that the provider keeps no chains, none of the next ones
/// asks for one.
fn chain(evidence: &Evidence<'_>, session: &Session, turns: &[&Turn], found: &mut Vec<Violation>) {
    let mut head: Option<String> = None;
    let (mut keeps_none, mut fell_back) = (false, false);
    for turn in turns {
        let expected = head.as_deref().filter(|_| !keeps_none && !fell_back);
        if turn.chain.previous_response_id() != expected {
            let says = turn.chain.previous_response_id();
            found.push(violation("I8", format!("{} continues {says:?}, not {expected:?}", turn.key.turn)));
        }
        let ended = matches!(turn.state, State::Finalized(_)).then(|| evidence.findings(turn)).flatten();
        keeps_none |= ended.is_some_and(|found| found.report.keeps_no_chain.is_some());
        if let State::Finalized(settlement) = &turn.state
            && let Verdict::Completed { writer } = &settlement.verdict
        {
            let report = evidence.outcome(&turn.key, writer).map(|outcome| outcome.report);
            fell_back = report.as_ref().is_some_and(|report| !report.fell_back.is_empty());
            head = match report {
                Some(report) => report.response_id.filter(|_| report.chain_expires.is_some()),
                None => head,
            };
        }
    }
    let says = session.chain.as_ref().map(|chain| chain.response_id.clone());
    if says != head {
        found.push(violation("I8", format!("the chain's head is {says:?}, not {head:?}")));
    }
}

/// One open turn at most, and it is the one that the session names.
fn open_turn(session: &Session, turns: &[&Turn], found: &mut Vec<Violation>) {
    let open: Vec<_> =
        turns.iter().filter(|turn| !matches!(turn.state, State::Finalized(_))).map(|t| &t.key.turn).collect();
    if open != session.open_turn.iter().collect::<Vec<_>>() {
        let says = &session.open_turn;
        found.push(violation("I16", format!("the session names {says:?} as open, {open:?} are")));
    }
}

fn participants(evidence: &Evidence<'_>, session: &Session, turns: &[&Turn], found: &mut Vec<Violation>) {
    for turn in turns {
        let key = (session.key.clone(), turn.requested_by.clone());
        let at = evidence.table.participants.get(&key).map(|participant| participant.last_activity);
        let shown = matches!(turn.state, State::Finalized(_)) && at >= Some(turn.created);
        if at.is_none() || matches!(turn.state, State::Finalized(_)) && !shown {
            found.push(violation("I8", format!("{}'s user was last active at {at:?}", turn.key.turn)));
        }
    }
}
