//! Keys of the bucket's objects.

use contracts::id::{OrgId, SessionId, TurnId, UserId};
use knowledge::DocumentId;
use protocol::{
    id::{AttemptId, SessionKey, TurnKey},
    payload::{Kind, Payload, StoredRequest},
};

use super::part::{decode_part, encode_part};

/// The key prefix of a session's objects.
#[must_use]
pub fn session_prefix(session: &SessionKey) -> String {
    format!("{}/{}/", encode_part(session.org.as_str()), encode_part(session.session.as_str()))
}

/// The kind of an object in a purge report. `None` stands for an object with an unknown key.
#[must_use]
pub fn kind_of_object(kind: Option<&Kind>) -> &'static str {
    match kind {
        Some(Kind::Instruction(_)) => "instructions",
        Some(Kind::Outcome(_)) => "outcomes",
        Some(Kind::Step(..)) => "steps",
        Some(Kind::Round(..)) => "rounds",
        Some(Kind::EffectResult(..)) => "effect_results",
        Some(Kind::ToolResults(_)) => "tool_results",
        Some(Kind::Answer(_) | Kind::PartialAnswer(_)) => "answers",
        Some(Kind::ModelRequest(..) | Kind::ModelResponse(..)) => "raw_payloads",
        Some(Kind::History(_)) => "histories",
        Some(Kind::File { .. }) => "files",
        None => "other",
    }
}

/// The key of an object: `{org}/{session}/{turn}/…`, with its writer or its content hash.
#[must_use]
pub fn object(payload: &Payload) -> String {
    let folder = turn_prefix(&payload.turn);
    let prefix = folder.trim_end_matches('/');
    match &payload.kind {
        Kind::Instruction(StoredRequest { fingerprint, submission_id: None }) => {
            format!("{prefix}/{fingerprint}/instruction.json")
        }
        Kind::Instruction(StoredRequest { fingerprint, submission_id: Some(by) }) => {
            format!("{prefix}/{fingerprint}/{by}/instruction.json")
        }
        Kind::Outcome(owner) => format!("{prefix}/{owner}/result.json"),
        Kind::Step(owner, number) => format!("{prefix}/{owner}/step-{number}.json"),
        Kind::Round(owner, number) => format!("{prefix}/{owner}/round-{number}.json"),
        Kind::EffectResult(owner, round, index) => format!("{prefix}/{owner}/effect-{round}-{index}.json"),
        Kind::ToolResults(owner) => format!("{prefix}/{owner}/tool-results.json"),
        Kind::Answer(owner) => format!("{prefix}/{owner}/answer.md"),
        Kind::PartialAnswer(owner) => format!("{prefix}/{owner}/partial-answer.md"),
        Kind::ModelRequest(owner, call) => format!("{prefix}/{owner}/request-{call}.json"),
        Kind::ModelResponse(owner, call) => format!("{prefix}/{owner}/response-{call}.json"),
        Kind::History(owner) => format!("{prefix}/{owner}/history.json"),
        Kind::File { address, name } => format!("{prefix}/files/{address}/{}", encode_part(name)),
    }
}

/// The key prefix of a turn's objects.
#[must_use]
pub fn turn_prefix(TurnKey { session, turn }: &TurnKey) -> String {
    format!(
        "{}/{}/{}/",
        encode_part(session.org.as_str()),
        encode_part(session.session.as_str()),
        encode_part(turn.as_str())
    )
}

/// The folder of an org's uploads, beside its sessions' folders. No session has its name: a part of a key with an
/// exclamation mark is encoded.
const UPLOADS: &str = "!uploads";

/// The key prefix of the files that a user uploaded: `{org}/!uploads/{user}/`. The rest of a key is the file's id.
#[must_use]
pub fn upload_prefix(org: &OrgId, user: &UserId) -> String {
    format!("{}/{UPLOADS}/{}/", encode_part(org.as_str()), encode_part(user.as_str()))
}

/// The folder of an org's documents for its agents, beside its sessions' folders.
const KNOWLEDGE: &str = "!knowledge";

/// The key prefix of a document's contents: `{org}/!knowledge/{document}/`. The rest of a key is the upload's id.
#[must_use]
pub fn knowledge_prefix(org: &OrgId, document: &DocumentId) -> String {
    format!("{}/{KNOWLEDGE}/{}/", encode_part(org.as_str()), document.as_str())
}

/// Parses an object's key. Returns `None` for an unknown key.
#[must_use]
pub fn parse_object(key: &str) -> Option<Payload> {
    let mut parts = key.split('/');
    let mut id = || decode_part(parts.next()?);
    let session = SessionKey { org: OrgId::new(id()?).ok()?, session: SessionId::new(id()?).ok()? };
    let turn = session.turn(TurnId::new(id()?).ok()?);
    let rest: Vec<&str> = parts.collect();
    let attempt = |id: &&str| AttemptId::new((*id).to_owned());
    let kind = match &rest[..] {
        ["files", address, name] => Kind::File { address: address.parse().ok()?, name: decode_part(name)? },
        [fingerprint, "instruction.json"] => {
            Kind::Instruction(StoredRequest { fingerprint: fingerprint.parse().ok()?, submission_id: None })
        }
        [fingerprint, by, "instruction.json"] => Kind::Instruction(StoredRequest {
            fingerprint: fingerprint.parse().ok()?,
            submission_id: Some(attempt(by)),
        }),
        [owner, "result.json"] => Kind::Outcome(attempt(owner)),
        [owner, "tool-results.json"] => Kind::ToolResults(attempt(owner)),
        [owner, "answer.md"] => Kind::Answer(attempt(owner)),
        [owner, "partial-answer.md"] => Kind::PartialAnswer(attempt(owner)),
        [owner, "history.json"] => Kind::History(attempt(owner)),
        [owner, numbered] => {
            let (name, number) = numbered.strip_suffix(".json")?.split_once('-')?;
            if let ("effect", Some((round, index))) = (name, number.split_once('-')) {
                return parsed(
                    turn,
                    Kind::EffectResult(attempt(owner), round.parse().ok()?, index.parse().ok()?),
                    key,
                );
            }
            let (owner, number) = (attempt(owner), number.parse().ok()?);
            match name {
                "step" => Kind::Step(owner, number),
                "round" => Kind::Round(owner, number),
                "request" => Kind::ModelRequest(owner, number),
                "response" => Kind::ModelResponse(owner, number),
                _ => return None,
            }
        }
        _ => return None,
    };
    parsed(turn, kind, key)
}

/// Returns the object, if this is its key. A key that is spelled differently is not one of ours, however similar.
fn parsed(turn: TurnKey, kind: Kind, key: &str) -> Option<Payload> {
    let payload = Payload { turn, kind };
    (object(&payload) == key).then_some(payload)
}
