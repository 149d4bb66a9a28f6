//! Operations with the tag `Turns`.

use super::{
    error_groups::{
        ANYWHERE, BODY, FAILED_TURN, FEEDBACK, QUARANTINED, RERUN, START, TOOL_RESULTS, TURN, USER_TURN,
    },
    operation::{Body, Link, Method, Operation, ResponseKind, operations},
    parameters::{EXECUTE_HEADERS, Parameter},
};
use crate::{
    read::{AgentSessionTurnSummary, TurnFeedback},
    request::{FeedbackRequest, RerunRequest},
    schema::Schema,
};

const ANSWER_IDS: &[(&str, &str)] =
    &[("SessionId", "$response.body#/Result/SessionId"), ("TurnId", "$response.body#/Result/TurnId")];
const SUMMARY_IDS: &[(&str, &str)] =
    &[("SessionId", "$response.body#/Result/SessionId"), ("TurnId", "$response.body#/Result/Id")];

operations![
    EXECUTE_TURN = Operation {
        id: "executeTurn",
        method: Method::Post,
        path: "/api/ai/agent/execute",
        tag: "Turns",
        summary: "Run a turn or submit tool results",
        description: "Runs a user turn, or submits tool results if `ToolResults` is present. An unknown \
            `SessionId` starts a new session, a known one continues it. `TurnId` makes the request idempotent: \
            repeating the same request returns the same response, byte for byte, without calling the model \
            again. A different request with the same `TurnId` is a conflict.\n\nBrowsers may send a form, and \
            thin clients may send plain text. With `Accept: text/plain` the response is the answer's text \
            only, and errors are one line of text; the status distinguishes them.\n\nWith `Streaming` the \
            answer is sent as server-sent events while it is written. Errors in the request are still returned \
            as JSON. Disconnecting does not cancel the turn: send the same request again, or call \
            `streamTurn`, to resume the stream. Without `Streaming`, an answer that takes longer than four \
            minutes has the status 200 and begins with JSON whitespace, whatever the outcome; check \
            `Successful`.",
        parameters: EXECUTE_HEADERS,
        body: Some(Body::Execute),
        response: ResponseKind::Turn,
        links: &[
            Link { operation: "readTurn", parameters: ANSWER_IDS },
            Link { operation: "readTurnSummary", parameters: ANSWER_IDS },
            Link { operation: "readInstruction", parameters: ANSWER_IDS },
            Link { operation: "readAnswer", parameters: ANSWER_IDS },
            Link { operation: "cancelTurn", parameters: ANSWER_IDS },
            Link { operation: "streamTurn", parameters: ANSWER_IDS },
            Link {
                operation: "readSession",
                parameters: &[("SessionId", "$response.body#/Result/SessionId")],
            },
            Link {
                operation: "readLastTurn",
                parameters: &[("SessionId", "$response.body#/Result/SessionId")],
            },
        ],
        errors: &[ANYWHERE, BODY, USER_TURN, START, TOOL_RESULTS, FAILED_TURN],
    },
    SUBMIT_TOOL_RESULTS = Operation {
        id: "submitToolResults",
        method: Method::Post,
        path: "/api/ai/agent/tool-results",
        tag: "Turns",
        summary: "Submit tool results",
        description: "Submits the results of a turn's client tools and continues the turn. The results must \
            match the calls in count, ids and order. The answer is delivered the way the turn was started: as \
            events if it is streamed. With `Accept: text/plain` it is the text only, as in `executeTurn`.",
        parameters: &[Parameter::LAST_EVENT_ID],
        body: Some(Body::ToolResults),
        response: ResponseKind::Turn,
        links: &[],
        errors: &[ANYWHERE, BODY, TOOL_RESULTS, FAILED_TURN],
    },
    CANCEL_TURN = Operation {
        id: "cancelTurn",
        method: Method::Post,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/cancel",
        tag: "Turns",
        summary: "Cancel a turn",
        description: "Cancels an open turn and returns its outcome. A turn that has already ended keeps its \
            outcome, so this request may be repeated. No body is needed.",
        parameters: &[Parameter::SESSION, Parameter::TURN],
        body: None,
        response: ResponseKind::Json(Schema::of::<AgentSessionTurnSummary>("AgentSessionTurnSummary")),
        links: &[Link { operation: "readTurn", parameters: SUMMARY_IDS }],
        errors: &[ANYWHERE, TURN],
    },
    ABANDON_TURN = Operation {
        id: "abandonTurn",
        method: Method::Post,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/abandon",
        tag: "Turns",
        summary: "Abandon a turn",
        description: "Ends an open turn as abandoned, whether or not its work still runs, and returns its outcome. \
            The client is told to send the input as a new turn. A turn that has already ended keeps its outcome. \
            For operators. No body is needed.",
        parameters: &[Parameter::SESSION, Parameter::TURN],
        body: None,
        response: ResponseKind::Json(Schema::of::<AgentSessionTurnSummary>("AgentSessionTurnSummary")),
        links: &[Link { operation: "readTurn", parameters: SUMMARY_IDS }],
        errors: &[ANYWHERE, TURN],
    },
    SETTLE_TURN = Operation {
        id: "settleTurn",
        method: Method::Post,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/settle",
        tag: "Turns",
        summary: "Settle an overdue turn",
        description: "Does at once what the service does for an overdue turn within minutes: looks for its outcome \
            if its work died, ends it if its tool results are overdue, and finishes it once its outcome is decided. \
            A turn whose work still runs stays as it is. For operators. No body is needed.",
        parameters: &[Parameter::SESSION, Parameter::TURN],
        body: None,
        response: ResponseKind::Json(Schema::of::<AgentSessionTurnSummary>("AgentSessionTurnSummary")),
        links: &[Link { operation: "readTurn", parameters: SUMMARY_IDS }],
        errors: &[ANYWHERE, TURN],
    },
    RERUN_TURN = Operation {
        id: "rerunTurn",
        method: Method::Post,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/rerun",
        tag: "Turns",
        summary: "Rerun a turn",
        description: "Runs a turn again as a new turn, optionally with another instruction, model or mode. The \
            new turn behaves like any other: it searches and reads its files again, `TurnId` makes the request \
            idempotent, and the answer is delivered as in `executeTurn`. It continues from the same point as \
            the original turn, so the model sees neither the original turn nor any later one. Once it is \
            completed, the session continues from it. The original turn must have ended and stays unchanged.",
        parameters: &[Parameter::SESSION, Parameter::TURN, Parameter::LAST_EVENT_ID],
        body: Some(Body::Json(Schema::of::<RerunRequest>("RerunRequest"))),
        response: ResponseKind::Turn,
        links: &[Link { operation: "readTurn", parameters: ANSWER_IDS }],
        errors: &[ANYWHERE, BODY, RERUN, START, FAILED_TURN],
    },
    GIVE_FEEDBACK = Operation {
        id: "giveFeedback",
        method: Method::Put,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/feedback",
        tag: "Turns",
        summary: "Submit feedback",
        description: "Submits the caller's feedback on a turn that has ended. Replaces the user's earlier \
            feedback on the turn. The session's `Ratings` count it once.",
        parameters: &[Parameter::SESSION, Parameter::TURN],
        body: Some(Body::Json(Schema::of::<FeedbackRequest>("FeedbackRequest"))),
        response: ResponseKind::Json(Schema::of::<TurnFeedback>("TurnFeedback")),
        links: &[],
        errors: &[ANYWHERE, BODY, TURN, FEEDBACK, QUARANTINED],
    },
    STREAM_TURN = Operation {
        id: "streamTurn",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/stream",
        tag: "Turns",
        summary: "Stream a turn",
        description: "Returns the events of a turn that was started with `Streaming`, from the first one, or \
            after the one in `Last-Event-ID`. The stream stays open while the turn runs; for a turn that has \
            ended it returns the remaining events. The last event is `result`. If a stream ends without one, \
            reconnect. Reading doesn't take over a turn whose function died; sending its request again does, \
            at once.",
        parameters: &[Parameter::SESSION, Parameter::TURN, Parameter::LAST_EVENT_ID],
        body: None,
        response: ResponseKind::Stream,
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
];
