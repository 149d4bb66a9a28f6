//! The body of an event: ids, numbers and links, and the content of the turn if the webhook wants it.

use contracts::paths;
use protocol::webhook::Delivery;
use serde_json::{Map, Value, json};

use crate::{
    flow::finish::evidence::TurnEvidence,
    ports::{Deps, Record, Unavailable},
    view,
};

/// The most characters of an answer in an event. The link has the whole one.
const MAX_ANSWER_CHARS: usize = 16_384;

/// Returns the body of an event about a terminal turn. It is the same for every attempt.
///
/// # Errors
/// If the answer can't be read.
pub(super) async fn body(
    deps: &impl Deps,
    delivery: &Delivery,
    record: &Record,
    agent: &str,
    with_content: bool,
) -> Result<String, Unavailable> {
    let Record { turn, request, result } = record;
    let report = result.as_ref().map(|result| &result.report);
    let session = &turn.key.session.session;
    let mut data = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            data.insert(name.to_owned(), value);
        }
    };
    put("SessionId", json!(session));
    put("TurnId", json!(turn.key.turn));
    put("AgentId", json!(agent));
    put("UserId", json!(turn.requested_by));
    put("Status", json!(turn.status()));
    put("ErrorCode", json!(report.and_then(|report| view::error_code(turn, report))));
    put("CreationDate", json!(turn.created));
    put("Model", json!(report.and_then(|report| report.response_model.as_ref().or(report.model.as_ref()))));
    put("Usage", json!(report.and_then(|report| report.usage)));
    put("ToolRounds", json!(report.and_then(|report| report.tool_rounds)));
    put("UnknownCalls", if delivery.unknown_calls > 0 { json!(delivery.unknown_calls) } else { Value::Null });
    let mut links = Map::new();
    links.insert("Session".to_owned(), json!(paths::SESSION.fill(session)));
    links.insert("Turn".to_owned(), json!(paths::TURN.fill(session, &turn.key.turn)));
    if delivery.unknown_calls > 0 {
        links.insert("Effects".to_owned(), json!(paths::EFFECTS));
    }
    put("Links", Value::Object(links));
    if with_content {
        put("Instruction", json!(request.instruction_summary));
        let evidence = TurnEvidence::load(deps.store(), deps.payloads(), turn).await?;
        let answer = evidence.outcome().and_then(|outcome| outcome.response.answer_text());
        if let Some(answer) = answer.or(evidence.partial_answer) {
            let end = answer.char_indices().nth(MAX_ANSWER_CHARS).map(|(end, _)| end);
            put("Answer", json!(end.and_then(|end| answer.get(..end)).unwrap_or(&answer)));
            put("AnswerTruncated", if end.is_some() { json!(true) } else { Value::Null });
        }
    }
    let event =
        json!({ "type": delivery.event.name(), "timestamp": event_time(delivery, record), "data": data });
    Ok(event.to_string())
}

/// The time of the event. A replay keeps it.
fn event_time(delivery: &Delivery, record: &Record) -> String {
    record.turn.settlement().map_or(delivery.at, |settlement| settlement.at).to_string()
}
