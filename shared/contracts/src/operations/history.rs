//! Reads of a session's turns, with the tag `Sessions`.

use super::{
    error_groups::{ANYWHERE, SESSION, TURN},
    operation::{Method, Operation, ResponseKind, operations},
    parameters::Parameter,
};
use crate::{
    read::{AgentSessionTurn, AgentSessionTurnSummary, ModeChange, TurnFeedback, TurnRecords, TurnStep},
    schema::Schema,
};

operations![
    READ_MODE_HISTORY = Operation {
        id: "readModeHistory",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/mode-history",
        tag: "Sessions",
        summary: "List mode changes",
        description: "Returns the mode changes of all completed turns, newest first.",
        parameters: &[Parameter::SESSION, Parameter::PAGE_SIZE, Parameter::CONTINUATION_TOKEN],
        body: None,
        response: ResponseKind::Json(Schema::list::<ModeChange>("ModeHistory")),
        links: &[],
        errors: &[ANYWHERE, SESSION],
    },
    LIST_TURNS = Operation {
        id: "listTurns",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns",
        tag: "Sessions",
        summary: "List turns",
        description: "Returns summaries of a session's turns, in either order. Parameters filter the list.",
        parameters: &[
            Parameter::SESSION,
            Parameter::USER,
            Parameter::STATUS,
            Parameter::MODE,
            Parameter::FROM,
            Parameter::TO,
            Parameter::ORDER,
            Parameter::PAGE_SIZE,
            Parameter::CONTINUATION_TOKEN,
        ],
        body: None,
        response: ResponseKind::Json(Schema::list::<AgentSessionTurnSummary>("TurnList")),
        links: &[],
        errors: &[ANYWHERE, SESSION],
    },
    READ_LAST_TURN = Operation {
        id: "readLastTurn",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns/last",
        tag: "Sessions",
        summary: "Read the latest turn",
        description: "Returns the newest turn of a session, or the newest with the given status among the \
            latest 1,000.",
        parameters: &[Parameter::SESSION, Parameter::STATUS, Parameter::IF_NONE_MATCH],
        body: None,
        response: ResponseKind::Cacheable(Schema::of::<AgentSessionTurn>("AgentSessionTurn")),
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
    READ_TURN = Operation {
        id: "readTurn",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}",
        tag: "Sessions",
        summary: "Read a turn",
        description: "Returns a turn with all its members. The provider's ids are visible to operators only.",
        parameters: &[Parameter::SESSION, Parameter::TURN, Parameter::IF_NONE_MATCH],
        body: None,
        response: ResponseKind::Cacheable(Schema::of::<AgentSessionTurn>("AgentSessionTurn")),
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
    READ_TURN_SUMMARY = Operation {
        id: "readTurnSummary",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/summary",
        tag: "Sessions",
        summary: "Read a turn's summary",
        description: "Returns the summary of a turn, which is cheap enough to poll.",
        parameters: &[Parameter::SESSION, Parameter::TURN, Parameter::IF_NONE_MATCH],
        body: None,
        response: ResponseKind::Cacheable(Schema::of::<AgentSessionTurnSummary>("AgentSessionTurnSummary")),
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
    READ_FEEDBACK = Operation {
        id: "readFeedback",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/feedback",
        tag: "Sessions",
        summary: "Read feedback",
        description: "Returns the feedback on a turn: at most one entry per user, in no particular order. \
            Feedback is separate from the turn, because a turn that has ended never changes.",
        parameters: &[
            Parameter::SESSION,
            Parameter::TURN,
            Parameter::PAGE_SIZE,
            Parameter::CONTINUATION_TOKEN
        ],
        body: None,
        response: ResponseKind::Json(Schema::list::<TurnFeedback>("FeedbackList")),
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
    READ_TURN_STEPS = Operation {
        id: "readTurnSteps",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/steps",
        tag: "Sessions",
        summary: "Read a turn's steps",
        description: "Returns the replies of the model in order. Each has its text, its tool calls, their \
            results and the party that ran them. The last one is the answer, or its partial text if the turn \
            failed. For a running turn, returns the steps recorded so far. A page ends early if it would \
            exceed about 1 MiB. Values are complete, unless the rounds of the turn total more than 8 MiB: then \
            long values of the oldest rounds are truncated and marked as such, or omitted.",
        parameters: &[
            Parameter::SESSION,
            Parameter::TURN,
            Parameter::PAGE_SIZE,
            Parameter::CONTINUATION_TOKEN
        ],
        body: None,
        response: ResponseKind::Json(Schema::list::<TurnStep>("StepList")),
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
    READ_TURN_RECORDS = Operation {
        id: "readTurnRecords",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/records",
        tag: "Sessions",
        summary: "Read a turn's stored state",
        description: "Returns the phase, the attempts, the lease and the due times of a turn, and the keys and sizes \
            of its database items and objects. Contains nothing that a user or a model wrote. For operators.",
        parameters: &[Parameter::SESSION, Parameter::TURN],
        body: None,
        response: ResponseKind::Json(Schema::of::<TurnRecords>("TurnRecords")),
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
];
