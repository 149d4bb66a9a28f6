//! Maps a turn's rounds to the API's steps.

use agent::{
    outcome::answer::long_value_names,
    tool::rounds::{MAX_INLINE_VALUE_BYTES, ModelCallInfo, Round, ToolCallRecord},
};
use contracts::{
    FileAddress, Timestamp, paths,
    read::{ListResponse, StepCall, StepKind, TurnStep},
    response::ToolOutcome,
};
use protocol::{id::TurnKey, link};

/// The approximate size of a page in bytes of text, unless a single step is larger.
const PAGE_BYTES: usize = 1 << 20;

/// The known history of a turn.
#[derive(Debug, Default)]
pub(crate) struct TurnHistory {
    /// Its tool rounds, oldest first. If there are very many, only the newest.
    pub(crate) rounds: Vec<Round>,
    /// The total number of rounds.
    pub(crate) of: u32,
    /// The deadline for the results of pending calls, if there are any.
    pub(crate) deadline: Option<Timestamp>,
    /// The final reply.
    pub(crate) last: Option<FinalReply>,
}

/// The final reply of a turn.
#[derive(Debug)]
pub(crate) struct FinalReply {
    /// Its kind.
    pub(crate) kind: StepKind,
    /// Its text.
    pub(crate) text: String,
    /// The requested model.
    pub(crate) model: Option<String>,
    /// Information about the model call.
    pub(crate) model_call: Option<ModelCallInfo>,
}

impl TurnHistory {
    /// Returns the number of the first known round.
    fn first(&self) -> u32 {
        let known = u32::try_from(self.rounds.len()).unwrap_or(u32::MAX);
        self.of.saturating_sub(known).saturating_add(1)
    }

    /// Returns information about the model call of a round.
    pub(crate) fn call_info(&self, round: u32) -> Option<&ModelCallInfo> {
        let at = usize::try_from(round.checked_sub(self.first())?).ok()?;
        match self.rounds.get(at) {
            Some(round) => round.model_call.as_ref(),
            None if at == self.rounds.len() => self.last.as_ref()?.model_call.as_ref(),
            None => None,
        }
    }
}

/// Returns one page of steps, after the round with this number.
pub(crate) fn page(
    turn: &TurnKey,
    history: TurnHistory,
    operator: bool,
    after: u64,
    page_size: u32,
) -> ListResponse<TurnStep> {
    let (first, deadline) = (history.first(), history.deadline);
    let last = history
        .last
        .map(|last| (last, first.saturating_add(u32::try_from(history.rounds.len()).unwrap_or(u32::MAX))));
    let rounds =
        (first..).zip(history.rounds).map(|(number, round)| tool_step(turn, number, round, deadline));
    let steps = rounds.chain(last.map(|(last, number)| final_step(turn, number, last)));
    let most = usize::try_from(page_size).unwrap_or(usize::MAX);
    let (mut items, mut bytes, mut more) = (Vec::new(), 0_usize, false);
    for (step, model_call) in steps.filter(|(step, _)| u64::from(step.round) > after) {
        let size = size(&step);
        if items.len() >= most || (!items.is_empty() && bytes.saturating_add(size) > PAGE_BYTES) {
            more = true;
            break;
        }
        bytes = bytes.saturating_add(size);
        items.push(with_call_info(turn, step, model_call.as_ref(), operator));
    }
    let next = items.last().filter(|_| more).map(|step| step.round.to_string());
    ListResponse::new(items, page_size, next)
}

fn tool_step(
    turn: &TurnKey,
    number: u32,
    round: Round,
    deadline: Option<Timestamp>,
) -> (TurnStep, Option<ModelCallInfo>) {
    let Round { message, calls, model_call, .. } = round;
    // Earlier versions didn't store long values on their own.
    let link = |address: Option<FileAddress>, name: &str| {
        let kept = model_call.as_ref().is_some_and(|model_call| model_call.has_long_values);
        address.filter(|_| kept).map(|address| link::file(turn, &address, name))
    };
    // A call of a finished turn isn't pending.
    let calls: Vec<StepCall> =
        calls.into_iter().map(|call| step_call(call, deadline.is_some(), &link)).collect();
    let (text, full_text_url) =
        head(message.text.clone(), link(message.text_file_address(), long_value_names::TEXT));
    let step = TurnStep {
        calls,
        full_text_url,
        openai_model: Some(message.model).filter(|model| !model.is_empty()),
        ..empty_step(number, StepKind::Tools, text)
    };
    let is_waiting = step.calls.iter().any(|call| call.is_pending);
    (TurnStep { tool_deadline_date: deadline.filter(|_| is_waiting), ..step }, model_call)
}

fn final_step(turn: &TurnKey, number: u32, last: FinalReply) -> (TurnStep, Option<ModelCallInfo>) {
    let FinalReply { kind, text, model, model_call } = last;
    let is_long = text.len() > MAX_INLINE_VALUE_BYTES;
    let url = match kind {
        StepKind::Answer => Some(link::payload(turn, paths::ANSWER)),
        StepKind::PartialAnswer => model_call
            .as_ref()
            .filter(|model_call| model_call.has_long_values)
            .map(|_| link::file(turn, &FileAddress::hash_bytes(text.as_bytes()), long_value_names::TEXT)),
        StepKind::Tools => None,
    };
    let (text, full_text_url) = head(text, url.filter(|_| is_long));
    (TurnStep { openai_model: model, full_text_url, ..empty_step(number, kind, text) }, model_call)
}

/// Truncates a value whose full text is available elsewhere.
fn head(mut value: String, elsewhere: Option<String>) -> (String, Option<String>) {
    if elsewhere.is_some() {
        value.truncate(value.floor_char_boundary(MAX_INLINE_VALUE_BYTES));
    }
    (value, elsewhere)
}

fn empty_step(round: u32, kind: StepKind, text: String) -> TurnStep {
    TurnStep {
        round,
        kind,
        text: Some(text).filter(|text| !text.is_empty()),
        full_text_url: None,
        calls: Vec::new(),
        tool_deadline_date: None,
        openai_model: None,
        attempt: None,
        asked_date: None,
        model_ms: None,
        usage: None,
        openai_request_payload_url: None,
        openai_response_payload_url: None,
    }
}

fn with_call_info(
    turn: &TurnKey,
    step: TurnStep,
    model_call: Option<&ModelCallInfo>,
    operator: bool,
) -> TurnStep {
    let Some(model_call) = model_call else { return step };
    let raw = |path| {
        let link = || format!("{}?round={}", link::payload(turn, path), step.round);
        (operator && model_call.has_raw_payloads).then(link)
    };
    TurnStep {
        openai_request_payload_url: raw(paths::MODEL_REQUEST),
        openai_response_payload_url: raw(paths::MODEL_RESPONSE),
        attempt: Some(model_call.attempt_number),
        asked_date: Some(model_call.requested_at),
        model_ms: Some(model_call.duration_ms),
        usage: model_call.usage,
        ..step
    }
}

fn step_call(
    call: ToolCallRecord,
    is_waiting: bool,
    link: &impl Fn(Option<FileAddress>, &str) -> Option<String>,
) -> StepCall {
    let files = call.long_value_files();
    let is_pending = call.outcome.is_none() && is_waiting;
    let (arguments_json, full_arguments_json_url) =
        head(call.arguments, link(files.arguments, long_value_names::ARGUMENTS));
    let step = StepCall {
        tool_call_id: call.call_id,
        name: call.name,
        arguments_json,
        full_arguments_json_url,
        is_pending,
        ran_by: call.ran_by,
        connection_id: call.connection.as_ref().map(|connection| connection.id.clone()),
        connection_version: call.connection.map(|connection| connection.version),
        execution_ms: call.execution_ms,
        result_json: None,
        full_result_json_url: None,
        error_message: None,
        full_error_message_url: None,
    };
    match call.outcome {
        Some(ToolOutcome::ResultJson(json)) => {
            let (json, full_result_json_url) = head(json, link(files.outcome, long_value_names::RESULT));
            StepCall { result_json: Some(json), full_result_json_url, ..step }
        }
        Some(ToolOutcome::ErrorMessage(message)) => {
            let (message, full_error_message_url) =
                head(message, link(files.outcome, long_value_names::ERROR));
            StepCall { error_message: Some(message), full_error_message_url, ..step }
        }
        None => step,
    }
}

fn size(step: &TurnStep) -> usize {
    let calls = step.calls.iter().map(|call| {
        let outcome = call.result_json.as_ref().or(call.error_message.as_ref());
        call.arguments_json.len() + outcome.map_or(0, String::len)
    });
    step.text.as_ref().map_or(0, String::len) + calls.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::tool::rounds::CallFiles;
    use contracts::id::{OrgId, SessionId, TurnId};
    use protocol::id::SessionKey;

    fn key() -> TurnKey {
        let session = SessionKey { org: OrgId::new("o").unwrap(), session: SessionId::new("s").unwrap() };
        session.turn(TurnId::new("t").unwrap())
    }

    fn round(result: Option<&str>) -> Round {
        let call = ToolCallRecord {
            call_id: "c".to_owned(),
            provider_id: None,
            name: "look".to_owned(),
            arguments: "{}".to_owned(),
            outcome: result.map(|text| ToolOutcome::ResultJson(text.to_owned())),
            ran_by: None,
            connection: None,
            execution_ms: None,
            files: CallFiles::default(),
            approval: None,
        };
        Round { calls: vec![call], ..Round::default() }
    }

    fn answer() -> FinalReply {
        FinalReply { kind: StepKind::Answer, text: "Done.".to_owned(), model: None, model_call: None }
    }

    #[test]
    fn step_pages_are_bounded_by_count_and_size() {
        let long = "x".repeat(PAGE_BYTES / 2 + 1);
        let history = || TurnHistory {
            rounds: vec![round(Some("1")), round(Some("2")), round(Some(&long)), round(Some(&long))],
            of: 4,
            deadline: None,
            last: Some(answer()),
        };
        let (mut after, mut pages) = (0, Vec::new());
        loop {
            let page = page(&key(), history(), false, after, 2);
            pages.push(page.items.iter().map(|step| step.round).collect::<Vec<_>>());
            let Some(next) = page.continuation_token else { break };
            after = next.parse().unwrap();
        }
        assert_eq!(pages, [vec![1, 2], vec![3], vec![4, 5]]);
    }

    #[test]
    fn omitted_rounds_keep_their_numbers() {
        let history = TurnHistory { rounds: vec![round(None)], of: 7, deadline: None, last: Some(answer()) };
        let steps = page(&key(), history, false, 0, 100).items;
        assert_eq!(steps.iter().map(|step| step.round).collect::<Vec<_>>(), [7, 8]);
        assert!(!steps[0].calls[0].is_pending, "nobody waits for it");
    }
}
