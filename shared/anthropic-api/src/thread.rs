//! Threads: requests that name the previous message, and bring new messages alone.
//!
//! A thread is a session. The request becomes one that brings a history: the previous reply, as it is stored, and the new
//! messages, after one that stands for everything before. System prompt and tools are the previous turn's, since a request that continues a thread sends neither.

use contracts::{
    read::StatusReason,
    request::{TurnOptions, UserTurn},
};
use fronts::Outcome;
use histories::{Chat, ChatCall, ChatMessage, Hint, TurnRound, UserMessage, brought};
use turns::flow::TurnSnapshot;

use crate::{
    error::{ApiError, ThreadErrorCode},
    id,
    request::CreateMessage,
};

/// Returns a request that continues a thread as one that brings its history. `snapshot` is of the previous message's turn.
///
/// # Errors
/// If the thread can't be continued from the previous message.
pub fn continued(
    request: CreateMessage,
    previous: &TurnRound,
    snapshot: &TurnSnapshot,
) -> Result<Chat, ApiError> {
    let TurnSnapshot {
        head, request: UserTurn { options, solution_context_text, agent_context_id, .. }, ..
    } = snapshot;
    if head.is_deleted || head.is_unstored || previous.round > head.round {
        return Err(ApiError::thread_not_found());
    }
    // An earlier try of the same request may have continued the thread.
    let is_continued = previous.round < head.round || !head.is_last;
    if is_continued && !request.chat.is_retry {
        let running = head.status == StatusReason::Running;
        let code =
            if running { ThreadErrorCode::ContinueInFlight } else { ThreadErrorCode::AlreadyContinued };
        let message = "previous_message_id: this message was continued already. Continue from the thread's last message";
        return Err(ApiError::thread(code, message));
    }
    // The ids of a turn follow from its messages. Without the earlier ones, equal replies would give equal ids.
    let place = UserMessage { text: format!("[{}]", id::message(previous)), ..UserMessage::default() };
    let mut messages = vec![ChatMessage::User(place)];
    messages.extend(brought(&snapshot.request).iter().filter(|_| previous.round == 0).cloned());
    messages.extend(reply(previous, snapshot)?);
    let stored = options.as_deref().cloned().unwrap_or_default();
    if stored.repeated.get("model").is_some_and(|model| *model != request.model) {
        let message = "model: a thread keeps the value that it was created with";
        return Err(ApiError::thread(ThreadErrorCode::FingerprintMismatch, message));
    }
    messages.extend(request.chat.messages);
    let tools = stored.tools;
    Ok(Chat {
        agent: request.chat.agent.or_else(|| agent_context_id.as_ref().map(|id| id.as_str().to_owned())),
        instructions: solution_context_text.clone().unwrap_or_default(),
        options: TurnOptions { tools, ..request.chat.options },
        hints: vec![Hint { message: 1, turn: previous.clone(), is_certain: true }],
        messages,
        ..request.chat
    })
}

/// Returns the previous message as messages of a history.
fn reply(previous: &TurnRound, snapshot: &TurnSnapshot) -> Result<Vec<ChatMessage>, ApiError> {
    let mut messages = Vec::new();
    if let Some(suspension) = snapshot.suspension(previous.round) {
        if !suspension.text.is_empty() {
            messages.push(ChatMessage::Assistant(suspension.text.clone()));
        }
        messages.extend(suspension.calls.iter().enumerate().map(|(n, call)| {
            let id = id::call(previous, n);
            ChatMessage::Call(ChatCall {
                id,
                name: call.name.clone(),
                arguments: call.arguments_json.clone(),
            })
        }));
        return Ok(messages);
    }
    if snapshot.head.status == StatusReason::Running {
        let message = "previous_message_id: this message is still being written. Wait for its end";
        return Err(ApiError::thread(ThreadErrorCode::ContinueInFlight, message));
    }
    let outcome = snapshot.response.as_ref().map(|response| Outcome::from_body(&response.to_bytes()));
    match outcome {
        Some(Outcome::Answer { text, .. }) => Ok(vec![ChatMessage::Assistant(text)]),
        // A turn that failed or was cancelled has no answer to continue from. The client sends its history.
        _ => Err(ApiError::thread_not_found()),
    }
}

#[cfg(test)]
mod tests {
    use contracts::{
        AgentExecuteRequest, Timestamp,
        id::{SessionId, TurnId},
        response::ToolCall,
    };
    use serde_json::{Value, json};
    use turns::flow::{Suspension, TurnHead};

    use super::*;

    fn turn(round: u32) -> TurnRound {
        TurnRound { session: SessionId::new("s").unwrap(), turn: TurnId::new("t").unwrap(), round }
    }

    /// A turn with this status after its suspensions, and the body of its response.
    fn snapshot(status: StatusReason, round: u32, result: Option<Value>) -> TurnSnapshot {
        let body = json!({"SessionId": "s", "TurnId": "t", "Instruction": "Hi", "SolutionContextText": "Be kind.",
                          "AgentContextId": "default"});
        let request = AgentExecuteRequest::parse(body.to_string().as_bytes()).unwrap();
        let AgentExecuteRequest::UserTurn(mut request) = request else { panic!("no turn") };
        let tool = json!({"Name": "look", "Description": "Looks.", "Strict": false, "Parameters": {"type": "object"}});
        request.options = Some(Box::new(TurnOptions {
            tools: vec![serde_json::from_value(tool).unwrap()],
            repeated: json!({"model": "agent/default"}),
            ..TurnOptions::default()
        }));
        let body =
            |result: &Value| json!({"Successful": true, "Errors": [], "Warnings": [], "Result": result});
        let response = result.map(|result| agent::outcome::Response {
            body: serde_json::value::to_raw_value(&body(&result)).unwrap(),
            error_code: None,
            retry_after_seconds: None,
            segment: None,
        });
        let (tool_call_id, name) = ("c1".to_owned(), "look".to_owned());
        let call = ToolCall { tool_call_id, name, arguments_json: "{}".to_owned() };
        TurnSnapshot {
            head: TurnHead {
                is_last: true,
                turns: 1,
                is_fork: false,
                status,
                round,
                is_deleted: false,
                is_unstored: false,
            },
            created: Timestamp::from_millis(0),
            settled: None,
            request,
            model: "gpt-x".to_owned(),
            response,
            suspensions: vec![Suspension {
                text: "I look.".to_owned(),
                calls: vec![call],
                results: Vec::new(),
                message: None,
            }],
            partial_answer: None,
        }
    }

    fn request(previous: &TurnRound, more: &Value) -> CreateMessage {
        let mut request = json!({"model": "agent/default", "max_tokens": 64, "messages": [{"role": "user", "content": "More"}],
            "thread": {"type": "continue", "previous_message_id": id::message(previous)}});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        CreateMessage::parse(request.to_string().as_bytes()).unwrap()
    }

    fn answer() -> Option<Value> {
        Some(
            json!({"Kind": "final", "SessionId": "s", "TurnId": "t", "ModeDisplayName": "General", "PrimaryOutputText": "Done."}),
        )
    }

    #[test]
    fn answer_is_followed_by_the_new_messages() {
        let previous = turn(1);
        let chat = continued(
            request(&previous, &json!({})),
            &previous,
            &snapshot(StatusReason::Completed, 1, answer()),
        );
        let chat = chat.unwrap();
        assert_eq!(chat.messages[1], ChatMessage::Assistant("Done.".to_owned()));
        assert!(matches!(&chat.messages[2], ChatMessage::User(user) if user.text == "More"));
        assert_eq!(chat.hints, [Hint { message: 1, turn: previous, is_certain: true }]);
        assert_eq!((chat.instructions.as_str(), chat.options.tools.len()), ("Be kind.", 1));
        assert_eq!(chat.options.max_output_tokens, Some(64));
    }

    #[test]
    fn calls_are_followed_by_their_results() {
        let previous = turn(0);
        let result = json!({"type": "tool_result", "tool_use_id": id::call(&previous, 0), "content": "seen"});
        let messages = json!({"messages": [{"role": "user", "content": [result]}]});
        let waiting = snapshot(StatusReason::WaitingForTools, 0, None);
        let chat = continued(request(&previous, &messages), &previous, &waiting).unwrap();
        let [_, ChatMessage::Assistant(text), ChatMessage::Call(call), ChatMessage::Result(result)] =
            chat.messages.as_slice()
        else {
            panic!("{:?}", chat.messages)
        };
        assert_eq!((text.as_str(), &call.id), ("I look.", &result.call_id));
    }

    #[test]
    fn thread_that_cant_be_continued_is_refused_with_its_code() {
        let code = |previous: TurnRound, snapshot: &TurnSnapshot| {
            continued(request(&previous, &json!({})), &previous, snapshot).unwrap_err().code
        };
        let completed = snapshot(StatusReason::Completed, 1, answer());
        assert_eq!(code(turn(0), &completed), Some(ThreadErrorCode::AlreadyContinued));
        assert_eq!(code(turn(2), &completed), Some(ThreadErrorCode::NotFound));
        let head = TurnHead { is_last: false, ..completed.head };
        let earlier = TurnSnapshot { head, ..completed.clone() };
        assert_eq!(code(turn(1), &earlier), Some(ThreadErrorCode::AlreadyContinued));
        let running = snapshot(StatusReason::Running, 1, None);
        assert_eq!(code(turn(1), &running), Some(ThreadErrorCode::ContinueInFlight));
        let cancelled = snapshot(StatusReason::Cancelled, 1, None);
        assert_eq!(code(turn(1), &cancelled), Some(ThreadErrorCode::NotFound));
        let mut retry = request(&turn(1), &json!({}));
        retry.chat.is_retry = true;
        assert!(continued(retry, &turn(1), &earlier).is_ok(), "an earlier try may have continued the thread");
        let other = request(&turn(1), &json!({"model": "gpt-x"}));
        let mismatch = continued(other, &turn(1), &completed).unwrap_err().code;
        assert_eq!(mismatch, Some(ThreadErrorCode::FingerprintMismatch));
    }
}
