//! The HTTP API as a table: one row per operation.
//!
//! A row defines an operation's parameters, body, response and errors. Everything else in the document follows from
//! it.

use utoipa::openapi::path::HttpMethod;

use super::{
    error_groups::{
        ANYWHERE, BODY, DELETED, FAILED_TURN, FEEDBACK, FORK, IMPORT, PAYLOAD, RERUN, SESSION, START,
        TOOL_RESULTS, TURN, USER_TURN,
    },
    parameters::{self, Param},
};
use crate::{error::ErrorCode, paths};

pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) method: HttpMethod,
    pub(super) path: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    pub(super) parameters: &'static [Param],
    pub(super) body: Option<Body>,
    pub(super) response: ResponseKind,
    /// Operations that a client can call next, with parameters from the response.
    pub(super) links: &'static [Link],
    pub(super) errors: &'static [&'static [ErrorCode]],
}

/// The kind of a request body.
#[derive(Clone, Copy)]
pub(super) enum Body {
    /// An execute request of either scenario, in any encoding.
    Execute,
    /// Tool results, as JSON.
    ToolResults,
    /// Exported sessions: one document, or one per line.
    Exports,
    /// A JSON body with the schema of this name.
    Json(&'static str),
}

/// The kind of a successful response.
#[derive(Clone, Copy)]
pub(super) enum ResponseKind {
    /// An `InvokeResult` with the schema of this name.
    Json(&'static str),
    /// A cacheable `InvokeResult`, valid for ever or until revalidated.
    Cacheable(&'static str),
    /// An `InvokeResult` with a turn's answer, the event stream if the turn is streamed, or only the text for
    /// `Accept: text/plain`.
    Turn,
    /// A download without the envelope, with the schema of this name.
    Document(&'static str),
    /// JSON Lines as a download, each line with the schema of this name.
    Lines(&'static str),
    /// The event stream of a turn.
    Stream,
    /// A redirect, or the link as JSON. With `inline` the payload itself, which is cacheable.
    Link,
}

/// A link to another operation, with the locations of its parameters in the response.
pub(super) struct Link {
    pub(super) operation: &'static str,
    pub(super) parameters: &'static [(&'static str, &'static str)],
}

pub(super) const TAGS: &[(&str, &str)] = &[
    ("Turns", "Run, continue and cancel turns, and give feedback on them."),
    ("Sessions", "Read, search, edit, fork, delete, export and import sessions, and read their turns."),
    ("Payloads", "Read the full requests, answers and files of turns."),
];

const ANSWER_IDS: &[(&str, &str)] =
    &[("SessionId", "$response.body#/Result/SessionId"), ("TurnId", "$response.body#/Result/TurnId")];
const SUMMARY_IDS: &[(&str, &str)] =
    &[("SessionId", "$response.body#/Result/SessionId"), ("TurnId", "$response.body#/Result/Id")];

pub(super) const OPERATIONS: &[Row] = &[
    Row {
        id: "executeTurn",
        method: HttpMethod::Post,
        path: paths::EXECUTE,
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
        parameters: parameters::EXECUTE_HEADERS,
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
    Row {
        id: "submitToolResults",
        method: HttpMethod::Post,
        path: paths::TOOL_RESULTS,
        tag: "Turns",
        summary: "Submit tool results",
        description: "Submits the results of a turn's client tools and continues the turn. The results must \
            match the calls in count, ids and order. The answer is delivered the way the turn was started: as \
            events if it is streamed. With `Accept: text/plain` it is the text only, as in `executeTurn`.",
        parameters: &[Param::LastEventId],
        body: Some(Body::ToolResults),
        response: ResponseKind::Turn,
        links: &[],
        errors: &[ANYWHERE, BODY, TOOL_RESULTS, FAILED_TURN],
    },
    Row {
        id: "cancelTurn",
        method: HttpMethod::Post,
        path: paths::CANCEL.template(),
        tag: "Turns",
        summary: "Cancel a turn",
        description: "Cancels an open turn and returns its outcome. A turn that has already ended keeps its \
            outcome, so this request may be repeated. No body is needed.",
        parameters: &[Param::Session, Param::Turn],
        body: None,
        response: ResponseKind::Json("AgentSessionTurnSummary"),
        links: &[Link { operation: "readTurn", parameters: SUMMARY_IDS }],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "rerunTurn",
        method: HttpMethod::Post,
        path: paths::RERUN.template(),
        tag: "Turns",
        summary: "Rerun a turn",
        description: "Runs a turn again as a new turn, optionally with another instruction, model or mode. The \
            new turn behaves like any other: it searches and reads its files again, `TurnId` makes the request \
            idempotent, and the answer is delivered as in `executeTurn`. It continues from the same point as \
            the original turn, so the model sees neither the original turn nor any later one. Once it is \
            completed, the session continues from it. The original turn must have ended and stays unchanged.",
        parameters: &[Param::Session, Param::Turn, Param::LastEventId],
        body: Some(Body::Json("RerunRequest")),
        response: ResponseKind::Turn,
        links: &[Link { operation: "readTurn", parameters: ANSWER_IDS }],
        errors: &[ANYWHERE, BODY, RERUN, START, FAILED_TURN],
    },
    Row {
        id: "forkSession",
        method: HttpMethod::Post,
        path: paths::FORK.template(),
        tag: "Sessions",
        summary: "Fork a session",
        description: "Creates a session that continues from a completed turn of this session. The model knows \
            everything up to that turn, and the earlier turns stay in this session. Contexts, hints and the \
            solution context are copied from this session's current state; the mode is that at the end of the \
            turn. The client chooses `SessionId`, which makes the request idempotent.",
        parameters: &[Param::Session],
        body: Some(Body::Json("ForkRequest")),
        response: ResponseKind::Json("AgentSession"),
        links: &[],
        errors: &[ANYWHERE, BODY, FORK, DELETED],
    },
    Row {
        id: "listSessions",
        method: HttpMethod::Get,
        path: paths::SESSIONS,
        tag: "Sessions",
        summary: "List sessions",
        description: "Returns the sessions of the caller's org, or those that one user owns or takes part in, \
            newest activity first. Parameters filter the list. Sessions that the caller may not see are \
            omitted, and deleted sessions are omitted unless requested. A session with activity between two \
            page requests moves to the front.",
        parameters: &[
            Param::User,
            Param::IncludeDeleted,
            Param::Status,
            Param::Mode,
            Param::From,
            Param::To,
            Param::PageSize,
            Param::ContinuationToken,
        ],
        body: None,
        response: ResponseKind::Json("ListResponse"),
        links: &[Link {
            operation: "readSession",
            parameters: &[("SessionId", "$response.body#/Result/Items/0/Id")],
        }],
        errors: &[ANYWHERE],
    },
    Row {
        id: "searchSessions",
        method: HttpMethod::Get,
        path: paths::SEARCH,
        tag: "Sessions",
        summary: "Search sessions",
        description: "Returns sessions of the caller's org, or of one user, whose name, description or turns \
            contain all the words, newest activity first. The filters and the visibility rules of \
            `listSessions` apply. Of a turn, the beginnings of the instruction and the answer are searched, as \
            its summaries show them. All words must occur in one turn, or in the session's name and \
            description, which count for each of its turns. A request examines at most 100 sessions and 500 \
            turns, so a page may be short or empty; check `HasMore`. A session with very many turns may appear \
            on two pages with different matches. If the deployment indexes sessions, the 100 sessions come \
            from the index, a turn is found once it has ended, and a warning is returned if the index is \
            unavailable.",
        parameters: &[
            Param::Query,
            Param::User,
            Param::IncludeDeleted,
            Param::Status,
            Param::Mode,
            Param::From,
            Param::To,
            Param::PageSize,
            Param::ContinuationToken,
        ],
        body: None,
        response: ResponseKind::Json("SearchResults"),
        links: &[Link {
            operation: "readSession",
            parameters: &[("SessionId", "$response.body#/Result/Items/0/Session/Id")],
        }],
        errors: &[ANYWHERE],
    },
    Row {
        id: "readSession",
        method: HttpMethod::Get,
        path: paths::SESSION.template(),
        tag: "Sessions",
        summary: "Read a session",
        description: "Returns a session with its turns in order, 100 per page by default.",
        parameters: &[
            Param::Session,
            Param::Order,
            Param::PageSize,
            Param::ContinuationToken,
            Param::IfNoneMatch,
        ],
        body: None,
        response: ResponseKind::Cacheable("AgentSession"),
        links: &[Link {
            operation: "readTurn",
            parameters: &[
                ("SessionId", "$response.body#/Result/Id"),
                ("TurnId", "$response.body#/Result/Turns/0/Id"),
            ],
        }],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "changeSession",
        method: HttpMethod::Patch,
        path: paths::SESSION.template(),
        tag: "Sessions",
        summary: "Update a session",
        description: "Changes the name, the description or the visibility of a session. Members that are \
            absent stay unchanged. Anyone who can see a session may change its name and description; only its \
            owner and operators may change its visibility. Returns the session's summary.",
        parameters: &[Param::Session],
        body: Some(Body::Json("SessionEdit")),
        response: ResponseKind::Json("AgentSessionSummary"),
        links: &[],
        errors: &[ANYWHERE, BODY, SESSION, DELETED],
    },
    Row {
        id: "deleteSession",
        method: HttpMethod::Delete,
        path: paths::SESSION.template(),
        tag: "Sessions",
        summary: "Delete a session",
        description: "Deletes a session and cancels its open turn. From then on the session accepts no turns \
            and no tool results, lists omit it, and only participants can read it, until `KeptUntilDate`. \
            Until then `restoreSession` undoes the deletion. Only the owner and operators may delete a \
            session. Deleting it again changes nothing.\n\nWith `purge=true`, or when that date has passed, \
            all data of the session is permanently deleted in the background. From then on reads return a 404, \
            the session's id accepts no more turns, and `readPurge` reports the progress. Database items and \
            every version of the objects are deleted; responses that the model provider stores expire there.",
        parameters: &[Param::Session, Param::Purge],
        body: None,
        response: ResponseKind::Json("SessionDeletion"),
        links: &[Link {
            operation: "restoreSession",
            parameters: &[("SessionId", "$response.body#/Result/Id")],
        }],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "readPurge",
        method: HttpMethod::Get,
        path: paths::PURGE.template(),
        tag: "Sessions",
        summary: "Read the progress of a purge",
        description: "Reports what has been deleted so far, by kind, and whether data may remain. For the \
            session's owner and operators; a 404 for other callers, and for a session that was not purged. A \
            purge takes at least 15 minutes, because functions that were running when it began may still write \
            data.",
        parameters: &[Param::Session],
        body: None,
        response: ResponseKind::Json("PurgeReport"),
        links: &[],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "restoreSession",
        method: HttpMethod::Post,
        path: paths::RESTORE.template(),
        tag: "Sessions",
        summary: "Restore a deleted session",
        description: "Undoes the deletion of a session. For its owner and operators. A session that is not \
            deleted stays unchanged. No body is needed.",
        parameters: &[Param::Session],
        body: None,
        response: ResponseKind::Json("AgentSessionSummary"),
        links: &[Link {
            operation: "readSession",
            parameters: &[("SessionId", "$response.body#/Result/Id")],
        }],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "exportSession",
        method: HttpMethod::Get,
        path: paths::SESSION_EXPORT.template(),
        tag: "Sessions",
        summary: "Export a session",
        description: "Exports everything that the API shows of a session as one document: its turns, their \
            feedback, and the full requests and answers with their files. The document is streamed without an \
            envelope; if it is not valid JSON, it was truncated. An operator's export also holds the data that \
            an import needs.",
        parameters: &[Param::Session, Param::Payloads],
        body: None,
        response: ResponseKind::Document("SessionExport"),
        links: &[],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "exportSessions",
        method: HttpMethod::Get,
        path: paths::EXPORT,
        tag: "Sessions",
        summary: "Export the sessions of an org",
        description: "Exports sessions as JSON Lines. For operators. Each line is the document of one session, \
            as in `exportSession`, newest activity first, with the filters of `listSessions`. An export ends \
            after 16 MiB or seven minutes, once the current session is complete. The last line marks the end \
            and holds the token to continue with. Without that line the export is truncated.",
        parameters: &[
            Param::Payloads,
            Param::User,
            Param::IncludeDeleted,
            Param::Status,
            Param::Mode,
            Param::From,
            Param::To,
            Param::ContinuationToken,
        ],
        body: None,
        response: ResponseKind::Lines("ExportLine"),
        links: &[],
        errors: &[ANYWHERE],
    },
    Row {
        id: "importSessions",
        method: HttpMethod::Post,
        path: paths::IMPORT,
        tag: "Sessions",
        summary: "Import sessions",
        description: "Imports an operator's export with inline payloads: the document of one session, or lines \
            of them. For operators. The sessions are restored in the caller's org, and every read returns what \
            it returned before. Everything is validated before anything is written, and no read shows a \
            session before it is complete. Repeating an import changes nothing, and resumes one that was \
            interrupted. A different session with the same id is a conflict.",
        parameters: &[Param::Ids],
        body: Some(Body::Exports),
        response: ResponseKind::Json("SessionImport"),
        links: &[Link {
            operation: "readSession",
            parameters: &[("SessionId", "$response.body#/Result/Sessions/0/Id")],
        }],
        errors: &[ANYWHERE, IMPORT],
    },
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
        id: "giveFeedback",
        method: HttpMethod::Put,
        path: paths::FEEDBACK.template(),
        tag: "Turns",
        summary: "Submit feedback",
        description: "Submits the caller's feedback on a turn that has ended. Replaces the user's earlier \
            feedback on the turn.",
        parameters: &[Param::Session, Param::Turn],
        body: Some(Body::Json("FeedbackRequest")),
        response: ResponseKind::Json("TurnFeedback"),
        links: &[],
        errors: &[ANYWHERE, BODY, TURN, FEEDBACK],
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
        id: "streamTurn",
        method: HttpMethod::Get,
        path: paths::STREAM.template(),
        tag: "Turns",
        summary: "Stream a turn",
        description: "Returns the events of a turn that was started with `Streaming`, from the first one, or \
            after the one in `Last-Event-ID`. The stream stays open while the turn runs; for a turn that has \
            ended it returns the remaining events. The last event is `result`. If a stream ends without one, \
            reconnect. Reading doesn't take over a turn whose function died; sending its request again does, \
            at once.",
        parameters: &[Param::Session, Param::Turn, Param::LastEventId],
        body: None,
        response: ResponseKind::Stream,
        links: &[],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "readInstruction",
        method: HttpMethod::Get,
        path: paths::INSTRUCTION.template(),
        tag: "Payloads",
        summary: "Read the full request",
        description: "Returns a link to the request in canonical form (RFC 8785).",
        parameters: &[Param::Session, Param::Turn, Param::Inline, Param::IfNoneMatch],
        body: None,
        response: ResponseKind::Link,
        links: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
    Row {
        id: "readAnswer",
        method: HttpMethod::Get,
        path: paths::ANSWER.template(),
        tag: "Payloads",
        summary: "Read the full answer",
        description: "Returns a link to the answer's text. Available once the turn is completed.",
        parameters: &[Param::Session, Param::Turn, Param::Inline, Param::IfNoneMatch],
        body: None,
        response: ResponseKind::Link,
        links: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
    Row {
        id: "readModelRequest",
        method: HttpMethod::Get,
        path: paths::MODEL_REQUEST.template(),
        tag: "Payloads",
        summary: "Read a raw model request",
        description: "Returns a link to the request body of a model call. Available if the conversation \
            context keeps raw payloads. For operators only; a 404 for other callers.",
        parameters: &[Param::Session, Param::Turn, Param::Inline, Param::Round, Param::IfNoneMatch],
        body: None,
        response: ResponseKind::Link,
        links: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
    Row {
        id: "readModelResponse",
        method: HttpMethod::Get,
        path: paths::MODEL_RESPONSE.template(),
        tag: "Payloads",
        summary: "Read a raw model response",
        description: "Returns a link to the response of a model call. Available if the conversation context \
            keeps raw payloads. For operators only; a 404 for other callers.",
        parameters: &[Param::Session, Param::Turn, Param::Inline, Param::Round, Param::IfNoneMatch],
        body: None,
        response: ResponseKind::Link,
        links: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
    Row {
        id: "readFile",
        method: HttpMethod::Get,
        path: paths::FILE.template(),
        tag: "Payloads",
        summary: "Read a file",
        description: "Returns a link to a file that an answer refers to, or to a long value of a step. The \
            link has the file's own media type and name, and is a download, so that no browser renders it as a \
            page. A 404 if the file doesn't exist.",
        parameters: &[
            Param::Session,
            Param::Turn,
            Param::Hash,
            Param::Name,
            Param::Inline,
            Param::IfNoneMatch,
        ],
        body: None,
        response: ResponseKind::Link,
        links: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
];
