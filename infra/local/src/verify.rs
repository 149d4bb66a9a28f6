//! `aptix admin verify`: compares a table with its bucket, as after a restore of either.
//!
//! Reads every session, every turn, and every object that the outcome of a turn depends on. Changes nothing. Objects
//! that no item refers to are left to [`crate::gc`].

use agent::outcome::Outcome;
use contracts::{FileAddress, Fingerprint, id::TurnId, request::UserTurn, response::FileRef};
use futures::{StreamExt, TryStreamExt, stream};
use protocol::{
    id::{AttemptId, SessionKey},
    payload::{Kind, Payload},
    session::Session,
    turn::{State, Turn},
};
use storage::key;
use turns::ports::{Archive, PayloadReads, Reads, Record, Unavailable};

use crate::gc::Error;
use crate::stores::Stores;

/// Turns read at once from the table.
const TURN_PAGE: usize = 50;
/// Turns whose objects are read concurrently.
const CONCURRENT_TURNS: usize = 8;

/// Result of a verification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Sessions read.
    pub sessions: u64,
    /// Purged sessions, of which only a tombstone is left.
    pub purged: u64,
    /// Turns read.
    pub turns: u64,
    /// Objects read.
    pub objects: u64,
    /// Total size of these objects, in bytes.
    pub bytes: u64,
    /// Faults found.
    pub faults: u64,
}

/// The findings about one turn.
#[derive(Default)]
struct Findings {
    objects: u64,
    bytes: u64,
    faults: Vec<String>,
}

/// Verifies the table and the bucket. Reports each fault as the key of the item or object, and the problem. A turn that
/// changes meanwhile may be reported too, so verify stores that no function writes.
///
/// # Errors
/// Fails if the table or the bucket does not respond.
pub async fn run(stores: &Stores, mut on_fault: impl FnMut(&str)) -> Result<Report, Error> {
    let unavailable = |source| Error::Unavailable { place: stores.place.clone(), source };
    let (mut report, mut after) = (Report::default(), None);
    loop {
        let page = stores.table.session_keys(after).await.map_err(unavailable)?;
        for session in &page.items {
            let faults = verify_session(stores, session, &mut report).await.map_err(unavailable)?;
            report.faults += faults.len() as u64;
            faults.iter().for_each(|fault| on_fault(fault));
        }
        after = page.next;
        if after.is_none() {
            return Ok(report);
        }
    }
}

/// Verifies a session with its turns, and returns the faults.
async fn verify_session(
    stores: &Stores,
    key: &SessionKey,
    report: &mut Report,
) -> Result<Vec<String>, Unavailable> {
    let Some(session) = unless_malformed(stores.table.session(key).await)? else {
        return Ok(vec![format!("{}: can't be read", item(key))]);
    };
    let Some(session) = session else { return Ok(Vec::new()) };
    if session.is_purged() {
        report.purged += 1;
        return Ok(Vec::new());
    }
    report.sessions += 1;
    let (mut faults, mut sequences, mut after) = (Vec::new(), Vec::new(), None);
    loop {
        let walked = stores.table.walk(key, after.as_ref(), TURN_PAGE).await;
        let Some(page) = unless_malformed(walked)? else {
            faults.push(format!("{}: has a turn that can't be read", item(key)));
            return Ok(faults);
        };
        sequences.extend(page.items.iter().map(|record| record.turn.sequence));
        report.turns += page.items.len() as u64;
        let verified = stream::iter(&page.items).map(|record| verify_turn(stores, record));
        let verified: Vec<Findings> = verified.buffered(CONCURRENT_TURNS).try_collect().await?;
        for findings in verified {
            report.objects += findings.objects;
            report.bytes += findings.bytes;
            faults.extend(findings.faults);
        }
        after = page.next.and_then(|last| TurnId::new(last).ok());
        if after.is_none() {
            break;
        }
    }
    faults.extend(chain_faults(&session, sequences));
    if let Some(origin) = &session.forked_from {
        let source = SessionKey { org: key.org.clone(), session: origin.session.clone() };
        if matches!(unless_malformed(stores.table.session(&source).await)?, Some(None)) {
            faults.push(format!("{}: was forked from the missing session {}", item(key), origin.session));
        }
    }
    Ok(faults)
}

/// Returns the faults of a session's sequence: a number that no turn or several turns have, or that the session doesn't
/// count.
fn chain_faults(session: &Session, mut sequences: Vec<u64>) -> Vec<String> {
    sequences.sort_unstable();
    let mut faults = Vec::new();
    let mut fault = |text: String| faults.push(format!("{}: {text}", item(&session.key)));
    let mut expected = 1;
    for sequence in sequences {
        while expected < sequence.min(session.turn_count.saturating_add(1)) {
            fault(format!("no complete turn has the sequence number {expected}"));
            expected += 1;
        }
        if sequence > session.turn_count {
            fault(format!("doesn't count the turn with the sequence number {sequence}"));
        } else if sequence < expected {
            fault(format!("several turns have the sequence number {sequence}"));
        }
        expected = expected.max(sequence.saturating_add(1));
    }
    for missing in expected..=session.turn_count {
        fault(format!("no complete turn has the sequence number {missing}"));
    }
    faults
}

/// Verifies the objects of a turn.
async fn verify_turn(stores: &Stores, record: &Record) -> Result<Findings, Unavailable> {
    let (turn, mut findings) = (&record.turn, Findings::default());
    if matches!(turn.state, State::Finalized(_)) && record.result.is_none() {
        findings.faults.push(format!("{} TURN#{}: has no result", item(&turn.key.session), turn.key.turn));
    }
    let mut files = Vec::new();
    for kind in required_objects(turn) {
        let payload = Payload { turn: turn.key.clone(), kind };
        let bytes = match inline_request(record).filter(|_| matches!(payload.kind, Kind::Instruction(_))) {
            Some(json) => json.as_bytes().to_vec().into(),
            None => match findings.read(stores, &payload).await? {
                Some(bytes) => bytes,
                None => continue,
            },
        };
        let problem = match &payload.kind {
            Kind::Instruction(_) => request_problem(record, &bytes),
            Kind::ToolResults(_) => results_problem(turn, &bytes),
            Kind::Outcome(_) => match Outcome::from_json(&bytes) {
                Ok(outcome) => {
                    files.extend(outcome.response.files());
                    None
                }
                Err(_) => Some("can't be read"),
            },
            _ => None,
        };
        findings.fault(&payload, problem);
    }
    for file in files {
        let Some(address) = address_of(&file) else { continue };
        let kind = Kind::File { address, name: file.name };
        let payload = Payload { turn: turn.key.clone(), kind };
        let Some(bytes) = findings.read(stores, &payload).await? else { continue };
        let problem = if FileAddress::hash_bytes(&bytes) != address {
            Some("has another hash than its key")
        } else if bytes.len() as u64 != file.size_bytes {
            Some("has another size than its turn says")
        } else {
            None
        };
        findings.fault(&payload, problem);
    }
    Ok(findings)
}

impl Findings {
    /// Reads an object. Reports it if it is missing.
    async fn read(
        &mut self,
        stores: &Stores,
        payload: &Payload,
    ) -> Result<Option<bytes::Bytes>, Unavailable> {
        let found = stores.objects.get(payload).await?;
        match &found {
            Some(bytes) => {
                self.objects += 1;
                self.bytes += bytes.len() as u64;
            }
            None => self.fault(payload, Some("is missing")),
        }
        Ok(found)
    }

    fn fault(&mut self, payload: &Payload, problem: Option<&str>) {
        self.faults.extend(problem.map(|problem| format!("{}: {problem}", key::object(payload))));
    }
}

/// Returns the objects that a turn's head refers to, and that no function may remove.
fn required_objects(turn: &Turn) -> Vec<Kind> {
    let mut kinds = vec![Kind::Instruction(turn.stored_request())];
    let mut outcome = |writer: &AttemptId| {
        let kind = Kind::Outcome(writer.clone());
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    };
    turn.outcome_writer().into_iter().for_each(&mut outcome);
    if let Some(accepted) = &turn.accepted_results {
        outcome(&accepted.suspended_by);
        kinds.push(Kind::ToolResults(accepted.resumed_by.clone()));
    }
    if let Some(step) = &turn.last_step {
        kinds.push(Kind::Step(step.attempt.clone(), step.step));
    }
    kinds
}

/// Returns the request of an open turn that is part of the request item. It may have no object yet.
fn inline_request(record: &Record) -> Option<&str> {
    let is_final = matches!(record.turn.state, State::Finalized(_));
    record.request.inline_json.as_deref().filter(|_| !is_final)
}

/// Returns the problem of a stored request. The fingerprint of a rerun covers more than its request.
fn request_problem(record: &Record, bytes: &[u8]) -> Option<&'static str> {
    if UserTurn::from_canonical(bytes).is_err() {
        return Some("can't be read");
    }
    let is_rerun = record.request.rerun_of.is_some();
    let differs = !is_rerun && Fingerprint::hash_bytes(bytes) != record.turn.fingerprint;
    differs.then_some("has another hash than its turn says")
}

/// Returns the problem of stored tool results.
fn results_problem(turn: &Turn, bytes: &[u8]) -> Option<&'static str> {
    let accepted = turn.accepted_results.as_ref()?;
    let differs = Fingerprint::hash_bytes(bytes) != accepted.results;
    differs.then_some("has another hash than its turn says")
}

/// Returns the address in a file's link.
fn address_of(file: &FileRef) -> Option<FileAddress> {
    file.url.rsplit('/').nth(1)?.parse().ok()
}

/// Returns the name of a session in a fault.
fn item(session: &SessionKey) -> String {
    let prefix = key::session_prefix(session);
    prefix.trim_end_matches('/').to_owned()
}

/// Returns `None` for an item that can't be decoded, which is a fault and not a failure of the store.
fn unless_malformed<T>(read: Result<T, Unavailable>) -> Result<Option<T>, Unavailable> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(error) if storage::is_unreadable(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
