//! Session state derived from turns: totals (I8), the last turn, the chain, contexts, the open turn and participants.

use std::collections::BTreeSet;

use contracts::{Usage, read::TurnStatus};
use protocol::{
    id::SessionKey,
    session::Session,
    turn::{State, Turn, Verdict},
    usage::UsageAmounts,
};

use super::{RunRecord, Violation, violation};
use crate::ledger::Event;

pub(super) fn check(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    org_usage(record, violations);
    for session in record.table.sessions.values().filter(|session| !session.is_purged()) {
        let mut turns: Vec<&Turn> =
            record.table.heads.values().filter(|turn| turn.key.session == session.key).collect();
        turns.sort_by_key(|turn| turn.sequence);
        totals(record, session, &turns, violations);
        paid_calls(record, &turns, violations);
        last_turn(session, &turns, violations);
        chain(record, session, &turns, violations);
        open_turn(session, &turns, violations);
        participants(record, session, &turns, violations);
    }
    let mut published: BTreeSet<&SessionKey> = BTreeSet::new();
    for entry in record.entries {
        if let Event::Session { after, .. } = &entry.event
            && !after.is_purged()
        {
            published.insert(&after.key);
        }
        match &entry.event {
            Event::ImportAcknowledged(key) if !published.contains(key) => {
                let what = format!("{} was said to be imported before it was", key.session);
                violations.push(violation("I5", what));
            }
            Event::Session { before: Some(before), .. } if before.is_purged() => {}
            Event::Session { before: Some(before), after } if before.contexts != after.contexts => {
                let session = &after.key.session;
                violations.push(violation("I8", format!("the contexts of {session} were replaced")));
            }
            Event::ModelCalled { turn, sent, .. } if !sent.store && sent.previous_response_id.is_some() => {
                violations.push(violation("I8", format!("{} chains, but leaves nothing behind", turn.turn)));
            }
            Event::ChainedAcrossModels { turn, wrote, model } => {
                violations.push(violation("I8", format!("{} has {model} go on from {wrote}", turn.turn)));
            }
            _ => {}
        }
    }
}

fn totals(record: &RunRecord<'_>, session: &Session, turns: &[&Turn], violations: &mut Vec<Violation>) {
    let used = turns
        .iter()
        .filter(|turn| matches!(turn.state, State::Finalized(_)))
        .filter_map(|turn| record.report(turn).usage)
        .fold(Usage::default(), Usage::saturating_add);
    if session.usage != used {
        let (actual, expected) = (session.usage.total_tokens, used.total_tokens);
        violations.push(violation(
            "I8",
            format!("the session's total is {actual} tokens, its turns' is {expected}"),
        ));
    }
}

/// Checks that a terminal turn shows usage if the provider charges for any of its calls, however it ended.
fn paid_calls(record: &RunRecord<'_>, turns: &[&Turn], violations: &mut Vec<Violation>) {
    for turn in turns.iter().filter(|turn| matches!(turn.state, State::Finalized(_))) {
        let is_paid = record.entries.iter().any(
            |entry| matches!(&entry.event, Event::ModelPaid { turn: paid, tokens: 1.. } if *paid == turn.key),
        );
        if is_paid && record.report(turn).usage.is_none_or(|usage| usage.total_tokens == 0) {
            violations.push(violation("I8", format!("{} has paid calls and no usage", turn.key.turn)));
        }
    }
}

/// Checks that the usage of orgs has counted each turn exactly once: as many turns as became terminal, and as many
/// tokens as the sessions added up.
fn org_usage(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    let is_terminal = |turn: &Turn| matches!(turn.state, State::Finalized(_));
    let (mut turns, mut tokens) = (0, 0);
    for entry in record.entries {
        match &entry.event {
            Event::Head { before: Some(before), after } if !is_terminal(before) && is_terminal(after) => {
                turns += 1;
            }
            Event::Session { before: Some(before), after } if !before.is_purged() && !after.is_purged() => {
                tokens += after.usage.total_tokens.saturating_sub(before.usage.total_tokens);
            }
            _ => {}
        }
    }
    let counted = |amount: fn(&UsageAmounts) -> u64| record.table.usage.values().map(amount).sum::<u64>();
    let counted = (counted(|amounts| amounts.turns), counted(|amounts| amounts.usage.total_tokens));
    if counted != (turns, tokens) {
        let what = format!("{counted:?} turns and tokens are counted, not {:?}", (turns, tokens));
        violations.push(violation("I8", what));
    }
}

fn last_turn(session: &Session, turns: &[&Turn], violations: &mut Vec<Violation>) {
    let Some(last) = turns.last() else { return };
    let status = match &last.state {
        State::Finalized(settlement) => settlement.verdict.status(),
        State::Running { .. } | State::AwaitingTools { .. } | State::Settled(_) => TurnStatus::Pending,
    };
    let actual = session.last_turn.as_ref().map(|last| (&last.id, last.status));
    if actual != Some((&last.key.turn, status)) {
        let what = format!("the last turn is {} {status:?}, not {actual:?}", last.key.turn);
        violations.push(violation("I8", what));
    }
}

/// Checks that a turn continues the last completed one before it, and that the session refers to the last of all. A
/// chain can't continue from a turn that stored nothing with the provider, or that another model answered: a fallback,
/// or that of another version of the contexts, since a copy of a session may be on the other side of a rollout. Once a
/// turn has detected a stateless provider, later turns start no chain.
fn chain(record: &RunRecord<'_>, session: &Session, turns: &[&Turn], violations: &mut Vec<Violation>) {
    let mut head: Option<String> = None;
    let (mut keeps_none, mut fell_back, mut wrote) = (false, false, None::<String>);
    for turn in turns {
        let model = record.table.requests.get(&turn.key).map(|request| &request.upstream.model);
        let has_moved = wrote.as_ref().is_some_and(|wrote| Some(wrote) != model);
        let expected = head.as_deref().filter(|_| !keeps_none && !fell_back && !has_moved);
        if turn.chain.previous_response_id() != expected {
            let actual = turn.chain.previous_response_id();
            violations
                .push(violation("I8", format!("{} continues {actual:?}, not {expected:?}", turn.key.turn)));
        }
        let ended = matches!(turn.state, State::Finalized(_)).then(|| record.findings(turn)).flatten();
        keeps_none |= ended.is_some_and(|violations| violations.report.stateless_provider.is_some());
        if let State::Finalized(settlement) = &turn.state
            && let Verdict::Completed { writer } = &settlement.verdict
        {
            let report = record.outcome(&turn.key, writer).map(|outcome| outcome.report);
            fell_back = report.as_ref().is_some_and(|report| !report.fallbacks.is_empty());
            wrote = report.as_ref().and_then(|report| report.model.clone());
            head = match report {
                Some(report) => report.response_id.filter(|_| report.chain_expires.is_some()),
                None => head,
            };
        }
    }
    let actual = session.chain.as_ref().map(|chain| chain.response_id.clone());
    if actual != head {
        violations.push(violation("I8", format!("the chain's head is {actual:?}, not {head:?}")));
    }
}

/// Checks that at most one turn is open and that the session names it.
fn open_turn(session: &Session, turns: &[&Turn], violations: &mut Vec<Violation>) {
    let open: Vec<_> =
        turns.iter().filter(|turn| !matches!(turn.state, State::Finalized(_))).map(|t| &t.key.turn).collect();
    if open != session.open_turn.iter().collect::<Vec<_>>() {
        let actual = &session.open_turn;
        violations.push(violation("I16", format!("the session names {actual:?} as open, {open:?} are")));
    }
}

fn participants(record: &RunRecord<'_>, session: &Session, turns: &[&Turn], violations: &mut Vec<Violation>) {
    let is_final = |turn: &Turn| matches!(turn.state, State::Finalized(_));
    for turn in turns {
        let key = (session.key.clone(), turn.requested_by.clone());
        let at = record.table.participants.get(&key).map(|participant| participant.last_activity);
        let is_later = |other: &Turn| {
            is_final(other) && other.requested_by == turn.requested_by && other.sequence > turn.sequence
        };
        let is_latest = is_final(turn) && !turns.iter().any(|other| is_later(other));
        if at.is_none() || is_latest && at != Some(turn.created) {
            violations.push(violation("I8", format!("{}'s user was last active at {at:?}", turn.key.turn)));
        }
    }
}
