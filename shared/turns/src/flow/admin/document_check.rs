//! Checks of an export document that its types don't make: uniqueness, and media types. Nothing is written before all
//! documents pass.
//!
//! Then checks of an exported session as a whole: whatever one item says of another.

use std::collections::{BTreeMap, BTreeSet};

use contracts::{
    Timestamp, Usage,
    id::{SessionId, TurnId},
    read::{SessionExport, TurnStatus},
    request::{BudgetScope, BudgetWindow, limits::MAX_MIME_TYPE_CHARS},
};
use protocol::{
    ancestry::{ForkOrigin, ParentRef},
    budget::MeterRef,
    detail::ResultDetail,
    payload::{Kind, Payload},
    session::{Session, SolutionContext, add_cost},
    turn::{State, Turn, Verdict},
};
use serde_json::Value;

use crate::ports::{ArchiveItem, RawItem};

/// A fault in an export document, and its location.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: String,
    pub(super) rule: String,
}

pub(super) fn fault(at: impl Into<String>, rule: impl Into<String>) -> Fault {
    Fault { at: at.into(), rule: rule.into() }
}

/// Requires that no two documents are of one session.
pub(super) fn distinct_sessions(exports: &[SessionExport]) -> Result<(), Fault> {
    let mut places: BTreeMap<&SessionId, usize> = BTreeMap::new();
    for (number, export) in exports.iter().enumerate() {
        if let Some(first) = places.insert(&export.session.id, number) {
            let rule = format!("is the session of document [{first}] too: import each session once");
            return Err(fault(format!("[{number}].Session.Id"), rule));
        }
    }
    Ok(())
}

/// Requires that no two items have one key.
pub(super) fn distinct_items(items: &[RawItem]) -> Result<(), Fault> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, item) in items.iter().enumerate() {
        let Some(key) = item.get("Key").and_then(Value::as_str) else { continue };
        if let Some(first) = places.insert(key, number) {
            return Err(fault(format!("Stored[{number}].Key"), format!("is the Key of Stored[{first}] too")));
        }
    }
    Ok(())
}

/// Requires that no two payloads of a turn are one object, and that no two turns have one id.
pub(super) fn distinct_payloads(export: &SessionExport) -> Result<(), Fault> {
    let mut turns = BTreeSet::new();
    for (number, turn) in export.turns.iter().enumerate() {
        if !turns.insert(&turn.turn.id) {
            return Err(fault(format!("Turns[{number}].Turn.Id"), "is the id of an earlier turn too"));
        }
        let mut objects = BTreeSet::new();
        for (place, payload) in turn.payloads.iter().enumerate() {
            if !objects.insert(&payload.object) {
                let at = format!("Turns[{number}].Payloads[{place}].Object");
                return Err(fault(at, "is the object of an earlier payload too"));
            }
        }
    }
    Ok(())
}

/// Requires a media type that can be a header.
pub(super) fn media_type(media_type: &str) -> Result<(), Fault> {
    let is_printable = media_type.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let fits = (1..=MAX_MIME_TYPE_CHARS).contains(&media_type.len());
    match is_printable && fits && media_type.contains('/') {
        true => Ok(()),
        false => {
            let rule = format!(
                "must be a media type, such as text/plain: printable ASCII of at most {MAX_MIME_TYPE_CHARS} characters"
            );
            Err(fault("MimeType", rule))
        }
    }
}

/// The longest time from a turn's reservation in its meters to its start, in minutes: a function's time.
const MAX_START_MINUTES: i64 = 15;

/// An item of the session, with its position in the document.
pub(super) type Part = (usize, ArchiveItem);

/// Validates that every turn is present, has ended, and has its request, and that the items agree. Returns the heads by
/// turn id.
pub(super) fn checked_heads<'a>(
    at: &str,
    session: &Session,
    parts: &'a [Part],
) -> Result<BTreeMap<TurnId, &'a Turn>, Fault> {
    let (mut heads, mut requests, mut numbers) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for (_, part) in parts {
        match part {
            ArchiveItem::Turn(head) => {
                numbers.insert(head.sequence);
                heads.insert(head.key.turn.clone(), &**head);
            }
            ArchiveItem::Request(request) => {
                requests.insert(&request.key.turn);
            }
            _ => {}
        }
    }
    if session.is_purged() {
        return Err(fault("Stored", "is of a session that was purged"));
    }
    let all = (1..=session.turn_count).all(|number| numbers.contains(&number));
    if !all || numbers.len() as u64 != session.turn_count || heads.len() != numbers.len() {
        return Err(fault("Stored", "has not the turns that the session counts: export the session again"));
    }
    for (turn, head) in &heads {
        if matches!(head.state, State::Running { .. } | State::AwaitingTools { .. }) {
            let rule = format!("has the turn {turn}, which is not over: export the session again once it is");
            return Err(fault("Stored", rule));
        }
        if !requests.contains(turn) {
            return Err(fault("Stored", format!("lacks the request of the turn {turn}")));
        }
    }
    session_references(at, session, &heads)?;
    for (number, part) in parts {
        part_references(&format!("Stored[{number}]"), session, part, &heads)?;
    }
    Ok(heads)
}

/// Validates the turns and sessions that the session names.
fn session_references(at: &str, session: &Session, heads: &BTreeMap<TurnId, &Turn>) -> Result<(), Fault> {
    let wrong = |member: &str, rule: &str| Err(fault(format!("{at}.{member}"), rule));
    // A settled turn is open until it is finalized.
    let open: Vec<&TurnId> = heads
        .iter()
        .filter(|(_, head)| matches!(head.state, State::Settled(_)))
        .map(|(turn, _)| turn)
        .collect();
    if open != session.open_turn.iter().collect::<Vec<_>>() {
        return wrong("OpenTurn", "is not the turn that isn't finalized: export the session again");
    }
    if let Some(last) = &session.last_turn {
        let head = heads.get(&last.id).filter(|head| head.sequence == session.turn_count);
        if head.is_none_or(|head| stored_status(head) != last.status) {
            return wrong("LastTurn", "is not the newest turn with its status: export the session again");
        }
    }
    let origin = session.forked_from.as_ref();
    let from_origin = origin.map(ForkOrigin::to_parent_ref);
    let is_ancestor = |parent: &ParentRef, before: u64| match &parent.session {
        None => parent.sequence < before,
        Some(_) => Some(parent) == from_origin.as_ref(),
    };
    if session.tip.as_ref().is_some_and(|tip| !is_ancestor(tip, session.turn_count.saturating_add(1))) {
        return wrong("Tip", "is neither an earlier turn nor the one that the session was forked from");
    }
    if origin.is_some_and(|origin| origin.sequence == 0 || origin.depth < origin.sequence) {
        return wrong("ForkedFrom", "has no turn of that depth");
    }
    if let Some(cutoff) = &session.cutoff {
        let is_in_range = (1..=session.turn_count.saturating_add(1)).contains(&cutoff.sequence);
        if !is_in_range || origin.is_none_or(|origin| cutoff.hidden_depth > origin.depth) {
            return wrong("Cutoff", "is not in the ancestry of the session");
        }
    }
    for (turn, head) in heads {
        if !is_ancestor(&head.parent, head.sequence) || head.base_depth != session.base_depth() {
            let rule = format!(
                "has the turn {turn}, which continues from neither an earlier turn nor the one that the session was \
                 forked from"
            );
            return Err(fault("Stored", rule));
        }
    }
    match &session.solution {
        Some(SolutionContext { session: of, turn, .. })
            if of.as_ref().is_none_or(|of| *of == session.key.session) && !heads.contains_key(turn) =>
        {
            wrong("Solution", "is of a turn that is missing")
        }
        Some(SolutionContext { session: Some(of), .. }) if *of != session.key.session && origin.is_none() => {
            wrong("Solution", "is of another session, and this one is no fork")
        }
        _ => Ok(()),
    }
}

/// Validates the turn that an item names.
fn part_references(
    at: &str,
    session: &Session,
    part: &ArchiveItem,
    heads: &BTreeMap<TurnId, &Turn>,
) -> Result<(), Fault> {
    let turn = match part {
        ArchiveItem::Session(_) | ArchiveItem::Participant(_) => return Ok(()),
        ArchiveItem::Turn(turn) => return meters(at, session, turn),
        ArchiveItem::Request(request) => &request.key.turn,
        ArchiveItem::Result(result) => &result.key.turn,
        ArchiveItem::Feedback(feedback) => &feedback.turn.turn,
        ArchiveItem::ModeChange(change) => &change.key.turn,
        ArchiveItem::Intent(intent) => &intent.turn.turn,
    };
    let Some(head) = heads.get(turn) else {
        return Err(fault(at, format!("is of the turn {turn}, which is not in Stored")));
    };
    let (agrees, member) = match part {
        ArchiveItem::Request(request) => {
            let asked = (&request.fingerprint, &request.requested_by.id);
            (asked == (&head.fingerprint, &head.requested_by), "Fingerprint and RequestedById")
        }
        // A settled turn gets its result with its finalization.
        ArchiveItem::Result(_) => (matches!(head.state, State::Finalized(_)), "Key"),
        ArchiveItem::ModeChange(change) => (change.position.sequence == head.sequence, "Sequence"),
        _ => (true, ""),
    };
    match agrees {
        true => Ok(()),
        false => Err(fault(at, format!("has not the {member} of its turn {turn}"))),
    }
}

/// Validates that the meters of a turn are those in which its start could have made entries.
fn meters(at: &str, session: &Session, turn: &Turn) -> Result<(), Fault> {
    let mut kinds = BTreeSet::new();
    for (number, meter) in turn.meters.iter().enumerate() {
        let is_own = is_meter_of(session, turn, meter) && kinds.insert(meter.kind());
        if !is_own {
            let rule = "is not a meter in which the start of this turn made an entry";
            return Err(fault(format!("{at}.Meters[{number}]"), rule));
        }
    }
    Ok(())
}

fn is_meter_of(session: &Session, turn: &Turn, meter: &MeterRef) -> bool {
    let agent = (meter.scope == BudgetScope::Agent).then(|| session.contexts.agent_id());
    let mut reservations = (0..=MAX_START_MINUTES).map(|minutes| {
        Timestamp::from_millis(turn.created.as_millis().saturating_sub(minutes.saturating_mul(60_000)))
    });
    meter.window != BudgetWindow::Turn
        && meter.agent.as_deref() == agent
        && reservations.any(|at| meter.begins_at(at))
}

/// Returns the status of a turn as the table has it.
fn stored_status(head: &Turn) -> TurnStatus {
    match &head.state {
        State::Finalized(settlement) => settlement.verdict.status(),
        State::Running { .. } | State::AwaitingTools { .. } | State::Settled(_) => TurnStatus::Pending,
    }
}

/// Returns the session with the sums of its turns: a document's own sums could count what no turn used.
pub(super) fn with_sums(session: Session, parts: &[Part], heads: &BTreeMap<TurnId, &Turn>) -> Session {
    let mut results: Vec<(u64, &ResultDetail)> = parts
        .iter()
        .filter_map(|(_, part)| match part {
            ArchiveItem::Result(result) => Some((heads.get(&result.key.turn)?.sequence, &**result)),
            _ => None,
        })
        .collect();
    results.sort_by_key(|(sequence, _)| *sequence);
    let reports = || results.iter().map(|(_, result)| &result.report);
    let ratings = parts.iter().filter_map(|(_, part)| match part {
        ArchiveItem::Feedback(feedback) => Some(feedback.rating),
        _ => None,
    });
    Session {
        usage: reports().filter_map(|report| report.usage).fold(Usage::default(), Usage::saturating_add),
        costs: reports().fold(Vec::new(), |costs, report| add_cost(costs, report.cost.as_ref())),
        ratings: ratings.collect(),
        ..session
    }
}

/// Returns the objects of a turn that reads and later turns require.
pub(super) fn required_payloads(head: &Turn, parts: &[Part]) -> impl Iterator<Item = Payload> {
    let verdict = head.settlement().map(|settlement| &settlement.verdict);
    let outcome = verdict.and_then(Verdict::writer).map(|writer| Kind::Outcome(writer.clone()));
    let intents = parts.iter().filter_map(|(_, part)| match part {
        ArchiveItem::Intent(intent) if intent.turn == head.key => Some(intent),
        _ => None,
    });
    let newest = intents.max_by_key(|intent| intent.round).filter(|_| head.may_have_open_calls());
    let round = newest.map(|intent| Kind::Round(intent.attempt.clone(), intent.round));
    let kinds = [Some(Kind::Instruction(head.stored_request())), outcome, round];
    kinds.into_iter().flatten().map(|kind| Payload { turn: head.key.clone(), kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_type_is_a_short_printable_line() {
        for good in ["text/plain", "text/markdown; charset=utf-8", "a/b"] {
            assert_eq!(media_type(good), Ok(()), "{good}");
        }
        let long = format!("text/{}", "x".repeat(100_000));
        for bad in ["", "text", "text/plain\r\nX-Y: z", "text/\u{e4}", "text/\0", &long] {
            assert_eq!(media_type(bad).unwrap_err().at, "MimeType", "{bad:.20}");
        }
    }

    #[test]
    fn item_key_is_unique() {
        let item = |key: &str| RawItem::from_iter([("Key".to_owned(), Value::from(key))]);
        assert_eq!(distinct_items(&[item("SESSION"), item("USER#a")]), Ok(()));
        let twice = distinct_items(&[item("SESSION"), item("USER#a"), item("SESSION")]).unwrap_err();
        assert_eq!((twice.at.as_str(), twice.rule.contains("Stored[0]")), ("Stored[2].Key", true));
    }
}
