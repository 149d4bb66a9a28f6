//! How a turn's rounds look to readers: pure.

use agent::{
    answer::long,
    call::{CallRecord, LONG_VALUE, Made, Round},
};
use contracts::{
    FileAddress, Timestamp, paths,
    read::{ListResponse, StepCall, StepKind, TurnStep},
    response::ToolOutcome,
};
use protocol::{id::TurnKey, link};

/// About how many bytes of text a page has, where that is more than one step.
const PAGE_BYTES: usize = 1 << 20;

/// What is known of what a turn did.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Its tool rounds, oldest first; of very many the newest.
    pub(crate) rounds: Vec<Round>,
    /// How many there were.
    pub(crate) of: u32,
    /// Until when the results of pending calls are waited for, where they are.
    pub(crate) deadline: Option<Timestamp>,
    /// The reply that it ended with.
    pub(crate) last: Option<Last>,
}

/// The reply that a turn ended with.
#[derive(Debug)]
pub(crate) struct Last {
    /// What it is.
    pub(crate) kind: StepKind,
    /// What it says.
    pub(crate) text: String,
    /// The model that was asked.
    pub(crate) model: Option<String>,
    /// How it was come by.
    pub(crate) made: Option<Made>,
}

impl Told {
    /// The number of the first round that is known.
    fn first(&self) -> u32 {
        let known = u32::try_from(self.rounds.len()).unwrap_or(u32::MAX);
        self.of.saturating_sub(known).saturating_add(1)
    }

    /// How a round's reply was come by.
    pub(crate) fn made_of(&self, round: u32) -> Option<&Made> {
        let at = usize::try_from(round.checked_sub(self.first())?).ok()?;
        match self.rounds.get(at) {
            Some(round) => round.made.as_ref(),
            None if at == self.rounds.len() => self.last.as_ref()?.made.as_ref(),
            None => None,
        }
    }
}

/// The steps of one page, after the round of this number.
pub(crate) fn page(
    turn: &TurnKey,
    told: Told,
    operator: bool,
    after: u64,
    page_size: u32,
) -> ListResponse<TurnStep> {
    let (first, deadline) = (told.first(), told.deadline);
    let last = told
        .last
        .map(|last| (last, first.saturating_add(u32::try_from(told.rounds.len()).unwrap_or(u32::MAX))));
    let rounds = (first..).zip(told.rounds).map(|(number, round)| tools(turn, number, round, deadline));
    let steps = rounds.chain(last.map(|(last, number)| ended(turn, number, last)));
    let most = usize::try_from(page_size).unwrap_or(usize::MAX);
    let (mut items, mut bytes, mut more) = (Vec::new(), 0_usize, false);
    for (step, made) in steps.filter(|(step, _)| u64::from(step.round) > after) {
        let size = size(&step);
        if items.len() >= most || (!items.is_empty() && bytes.saturating_add(size) > PAGE_BYTES) {
            more = true;
            break;
        }
        bytes = bytes.saturating_add(size);
        items.push(of(turn, step, made.as_ref(), operator));
    }
    let next = items.last().filter(|_| more).map(|step| step.round.to_string());
    ListResponse::new(items, page_size, next)
}

fn tools(turn: &TurnKey, number: u32, round: Round, deadline: Option<Timestamp>) -> (TurnStep, Option<Made>) {
    let Round { beside, calls, made, .. } = round;
    // Earlier versions kept long values where they are alone.
    let link = |address: Option<FileAddress>, name: &str| {
        let kept = made.as_ref().is_some_and(|made| made.long_values);
        address.filter(|_| kept).map(|address| link::file(turn, &address, name))
    };
    // Nobody waits for a call of a turn that is over.
    let calls: Vec<StepCall> = calls.into_iter().map(|call| told(call, deadline.is_some(), &link)).collect();
    let (text, full_text_url) = head(beside.text.clone(), link(beside.file(), long::TEXT));
    let step = TurnStep {
        calls,
        full_text_url,
        openai_model: Some(beside.model).filter(|model| !model.is_empty()),
        ..bare(number, StepKind::Tools, text)
    };
    let waits = step.calls.iter().any(|call| call.is_pending);
    (TurnStep { tool_deadline_date: deadline.filter(|_| waits), ..step }, made)
}

fn ended(turn: &TurnKey, number: u32, last: Last) -> (TurnStep, Option<Made>) {
    let Last { kind, text, model, made } = last;
    let is_long = text.len() > LONG_VALUE;
    let url = match kind {
        StepKind::Answer => Some(link::payload(turn, paths::ANSWER)),
        StepKind::PartialAnswer => made
            .as_ref()
            .filter(|made| made.long_values)
            .map(|_| link::file(turn, &FileAddress::of_bytes(text.as_bytes()), long::TEXT)),
        StepKind::Tools => None,
    };
    let (text, full_text_url) = head(text, url.filter(|_| is_long));
    (TurnStep { openai_model: model, full_text_url, ..bare(number, kind, text) }, made)
}

/// The head of a value that is read whole elsewhere.
fn head(mut value: String, elsewhere: Option<String>) -> (String, Option<String>) {
    if elsewhere.is_some() {
        value.truncate(value.floor_char_boundary(LONG_VALUE));
    }
    (value, elsewhere)
}

fn bare(round: u32, kind: StepKind, text: String) -> TurnStep {
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

fn of(turn: &TurnKey, step: TurnStep, made: Option<&Made>, operator: bool) -> TurnStep {
    let Some(made) = made else { return step };
    let raw = |path| {
        let link = || format!("{}?round={}", link::payload(turn, path), step.round);
        (operator && made.raw).then(link)
    };
    TurnStep {
        openai_request_payload_url: raw(paths::MODEL_REQUEST),
        openai_response_payload_url: raw(paths::MODEL_RESPONSE),
        attempt: Some(made.attempt),
        asked_date: Some(made.asked),
        model_ms: Some(made.ms),
        usage: made.usage,
        ..step
    }
}

fn told(
    call: CallRecord,
    waits: bool,
    link: &impl Fn(Option<FileAddress>, &str) -> Option<String>,
) -> StepCall {
    let files = call.files();
    let is_pending = call.outcome.is_none() && waits;
    let (arguments_json, full_arguments_json_url) =
        head(call.arguments, link(files.arguments, long::ARGUMENTS));
    let step = StepCall {
        tool_call_id: call.call_id,
        name: call.name,
        arguments_json,
        full_arguments_json_url,
        is_pending,
        ran_by: call.ran_by,
        execution_ms: call.execution_ms,
        result_json: None,
        full_result_json_url: None,
        error_message: None,
        full_error_message_url: None,
    };
    match call.outcome {
        Some(ToolOutcome::ResultJson(json)) => {
            let (json, full_result_json_url) = head(json, link(files.outcome, long::RESULT));
            StepCall { result_json: Some(json), full_result_json_url, ..step }
        }
        Some(ToolOutcome::ErrorMessage(message)) => {
            let (message, full_error_message_url) = head(message, link(files.outcome, long::ERROR));
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
    use agent::call::WholeCall;
    use contracts::id::{OrgId, SessionId, TurnId};
    use protocol::id::SessionKey;

    fn key() -> TurnKey {
        let session = SessionKey { org: OrgId::new("o").unwrap(), session: SessionId::new("s").unwrap() };
        session.turn(TurnId::new("t").unwrap())
    }

    fn round(result: Option<&str>) -> Round {
        let call = CallRecord {
            call_id: "c".to_owned(),
            provider_id: None,
            name: "look".to_owned(),
            arguments: "{}".to_owned(),
            outcome: result.map(|text| ToolOutcome::ResultJson(text.to_owned())),
            ran_by: None,
            execution_ms: None,
            whole: WholeCall::default(),
        };
        Round { calls: vec![call], ..Round::default() }
    }

    fn answer() -> Last {
        Last { kind: StepKind::Answer, text: "Done.".to_owned(), model: None, made: None }
    }

    #[test]
    fn pages_are_bounded_by_number_and_by_size_and_follow_each_other() {
        let long = "x".repeat(PAGE_BYTES / 2 + 1);
        let told = || Told {
            rounds: vec![round(Some("1")), round(Some("2")), round(Some(&long)), round(Some(&long))],
            of: 4,
            deadline: None,
            last: Some(answer()),
        };
        let (mut after, mut pages) = (0, Vec::new());
        loop {
            let page = page(&key(), told(), false, after, 2);
            pages.push(page.items.iter().map(|step| step.round).collect::<Vec<_>>());
            let Some(next) = page.continuation_token else { break };
            after = next.parse().unwrap();
        }
        assert_eq!(pages, [vec![1, 2], vec![3], vec![4, 5]]);
    }

    #[test]
    fn rounds_that_were_left_out_leave_their_numbers() {
        let told = Told { rounds: vec![round(None)], of: 7, deadline: None, last: Some(answer()) };
        let steps = page(&key(), told, false, 0, 100).items;
        assert_eq!(steps.iter().map(|step| step.round).collect::<Vec<_>>(), [7, 8]);
        assert!(!steps[0].calls[0].is_pending, "nobody waits any more");
    }
}
