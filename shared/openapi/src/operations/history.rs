//! Reads of a session's turns, with the tag `Sessions`.

use contracts::paths;
use utoipa::openapi::path::HttpMethod;

use super::row::{ResponseKind, Row};
use crate::{
    error_groups::{ANYWHERE, SESSION, TURN},
    parameters::Param,
};

pub(super) const OPERATIONS: &[Row] = &[
    Row {
        id: "readModeHistory",
        method: HttpMethod::Get,
        path: paths::MODE_HISTORY.template(),
        tag: "Sessions",
        summary: "List mode changes",
        description: "Returns the mode changes of all completed turns, newest first.",
        parameters: &[Param::Session, Param::PageSize, Param::ContinuationToken],
        body: None,
        response: ResponseKind::Json("ModeHistory"),
        links: &[],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "listTurns",
        method: HttpMethod::Get,
        path: paths::TURNS.template(),
        tag: "Sessions",
        summary: "List turns",
        description: "Returns summaries of a session's turns, in either order. Parameters filter the list.",
        parameters: &[
            Param::Session,
            Param::User,
            Param::Status,
            Param::Mode,
            Param::From,
            Param::To,
            Param::Order,
            Param::PageSize,
            Param::ContinuationToken,
        ],
        body: None,
        response: ResponseKind::Json("TurnList"),
        links: &[],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "readLastTurn",
        method: HttpMethod::Get,
        path: paths::LAST_TURN.template(),
        tag: "Sessions",
        summary: "Read the latest turn",
        description: "Returns the newest turn of a session, or the newest with the given status among the \
            latest 1,000.",
        parameters: &[Param::Session, Param::Status, Param::IfNoneMatch],
        body: None,
        response: ResponseKind::Cacheable("AgentSessionTurn"),
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "readTurn",
        method: HttpMethod::Get,
        path: paths::TURN.template(),
        tag: "Sessions",
        summary: "Read a turn",
        description: "Returns a turn with all its members. The provider's ids are visible to operators only.",
        parameters: &[Param::Session, Param::Turn, Param::IfNoneMatch],
        body: None,
        response: ResponseKind::Cacheable("AgentSessionTurn"),
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "readTurnSummary",
        method: HttpMethod::Get,
        path: paths::SUMMARY.template(),
        tag: "Sessions",
        summary: "Read a turn's summary",
        description: "Returns the summary of a turn, which is cheap enough to poll.",
        parameters: &[Param::Session, Param::Turn, Param::IfNoneMatch],
        body: None,
        response: ResponseKind::Cacheable("AgentSessionTurnSummary"),
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "readFeedback",
        method: HttpMethod::Get,
        path: paths::FEEDBACK.template(),
        tag: "Sessions",
        summary: "Read feedback",
        description: "Returns the feedback on a turn: at most one entry per user, in no particular order. \
            Feedback is separate from the turn, because a turn that has ended never changes.",
        parameters: &[Param::Session, Param::Turn, Param::PageSize, Param::ContinuationToken],
        body: None,
        response: ResponseKind::Json("FeedbackList"),
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "readTurnSteps",
        method: HttpMethod::Get,
        path: paths::STEPS.template(),
        tag: "Sessions",
        summary: "Read a turn's steps",
        description: "Returns the replies of the model in order. Each has its text, its tool calls, their \
            results and the party that ran them. The last one is the answer, or its partial text if the turn \
            failed. For a running turn, returns the steps recorded so far. A page ends early if it would \
            exceed about 1 MiB. Values are complete, unless the rounds of the turn total more than 8 MiB: then \
            long values of the oldest rounds are truncated and marked as such, or omitted.",
        parameters: &[Param::Session, Param::Turn, Param::PageSize, Param::ContinuationToken],
        body: None,
        response: ResponseKind::Json("StepList"),
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "readTurnRecords",
        method: HttpMethod::Get,
        path: paths::RECORDS.template(),
        tag: "Sessions",
        summary: "Read a turn's stored state",
        description: "Returns the phase, the attempts, the lease and the due times of a turn, and the keys and sizes \
            of its database items and objects. Contains nothing that a user or a model wrote. For operators.",
        parameters: &[Param::Session, Param::Turn],
        body: None,
        response: ResponseKind::Json("TurnRecords"),
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
];
