//! The HTTP surface as a table: one row per operation.
//!
//! A row names what the operation takes, what it answers and what can go wrong; everything else in the
//! document follows from the row.

use utoipa::openapi::path::HttpMethod;

use super::{
    error_groups::{
        ANYWHERE, BODY, DELETED, FAILED_TURN, FEEDBACK, FORK, IMPORT, PAYLOAD, RERUN, SESSION, START,
        TOOL_RESULTS, TURN, USER_TURN,
    },
    parameters::{self, Takes},
};
use crate::{error::ErrorCode, paths};

pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) method: HttpMethod,
    pub(super) path: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    pub(super) takes: &'static [Takes],
    pub(super) body: Option<Body>,
    pub(super) answers: Answers,
    /// Operations that a client can call next, with parameters from the answer.
    pub(super) leads_to: &'static [Lead],
    pub(super) errors: &'static [&'static [ErrorCode]],
}

/// What the body is.
#[derive(Clone, Copy)]
pub(super) enum Body {
    /// A request of either scenario in one of the calling shapes.
    Asked,
    /// Tool results, as JSON.
    Results,
    /// Exported sessions: a document, or one a line.
    Exports,
    /// A request of the schema with this name, as JSON.
    Json(&'static str),
}

/// What a success looks like.
#[derive(Clone, Copy)]
pub(super) enum Answers {
    /// An `InvokeResult` of the schema with this name.
    Json(&'static str),
    /// The same, which its client may keep: for ever, or until it asks again.
    Kept(&'static str),
    /// An `InvokeResult` of a turn's answer; the answer's events where the turn is streamed; only its text
    /// where plain text is asked for.
    Turn,
    /// A document of the schema with this name, as a download without the envelope.
    Document(&'static str),
    /// The same, one on each line, of the schema with this name.
    Lines(&'static str),
    /// A turn's events.
    Stream,
    /// A redirect, or the link where JSON is asked for; with `inline` the payload, which its client may keep.
    Link,
}

/// Another operation, and where in the answer its parameters are.
pub(super) struct Lead {
    pub(super) to: &'static str,
    pub(super) with: &'static [(&'static str, &'static str)],
}

pub(super) const TAGS: &[(&str, &str)] = &[
    ("Turns", "Run a turn, go on with it, end it."),
    ("Sessions", "Read sessions and turns (DD-003, DD-007); name, delete and restore sessions."),
    ("Payloads", "Read what was asked and answered, whole (DD-005)."),
];

const OF_ANSWER: &[(&str, &str)] =
    &[("SessionId", "$response.body#/Result/SessionId"), ("TurnId", "$response.body#/Result/TurnId")];
const OF_SUMMARY: &[(&str, &str)] =
    &[("SessionId", "$response.body#/Result/SessionId"), ("TurnId", "$response.body#/Result/Id")];

pub(super) const OPERATIONS: &[Row] = &[
    Row {
        id: "executeTurn",
        method: HttpMethod::Post,
        path: paths::EXECUTE,
        tag: "Turns",
        summary: "Run a user turn, or hand in tool results",
        description: "Takes a user turn or the results of its tools, told apart by the presence of `ToolResults`. An \
            unknown `SessionId` starts a session, a known one goes on with it. `TurnId` makes the request \
            idempotent: the same request again gets the same answer, byte for byte, and the model is not \
            asked again; another request under the same `TurnId` is a conflict.\n\nBrowsers may send a form \
            and thin clients plain text (DD-001). With `Accept: text/plain` the reply is the answer's text \
            alone, and errors are one line of text; the status says which it is.\n\nWith `Streaming` the answer \
            comes as server-sent events while it is written (AGN-034 §4.7); what is wrong with the request is \
            said in JSON all the same. A client that goes away ends nothing: the turn runs on, and the same \
            request again, or `streamTurn`, takes the stream up where it broke off. Without `Streaming` an answer \
            that takes longer than four minutes has the status 200 and begins with JSON whitespace, whatever \
            comes then: `Successful` tells.",
        takes: parameters::OF_REQUEST,
        body: Some(Body::Asked),
        answers: Answers::Turn,
        leads_to: &[
            Lead { to: "readTurn", with: OF_ANSWER },
            Lead { to: "readTurnSummary", with: OF_ANSWER },
            Lead { to: "readInstruction", with: OF_ANSWER },
            Lead { to: "readAnswer", with: OF_ANSWER },
            Lead { to: "cancelTurn", with: OF_ANSWER },
            Lead { to: "streamTurn", with: OF_ANSWER },
            Lead { to: "readSession", with: &[("SessionId", "$response.body#/Result/SessionId")] },
            Lead { to: "readLastTurn", with: &[("SessionId", "$response.body#/Result/SessionId")] },
        ],
        errors: &[ANYWHERE, BODY, USER_TURN, START, TOOL_RESULTS, FAILED_TURN],
    },
    Row {
        id: "submitToolResults",
        method: HttpMethod::Post,
        path: paths::TOOL_RESULTS,
        tag: "Turns",
        summary: "Hand in the results of a turn's client tools",
        description: "Takes tool continuations alone (AGN-034 §2.2). The results must match the calls in \
            count, ids and order (AGN-033 §3.3). The answer comes as the turn was started: as events where it \
            is streamed. With `Accept: text/plain` it is the text alone, as `executeTurn` has it.",
        takes: &[Takes::LastEventId],
        body: Some(Body::Results),
        answers: Answers::Turn,
        leads_to: &[],
        errors: &[ANYWHERE, BODY, TOOL_RESULTS, FAILED_TURN],
    },
    Row {
        id: "cancelTurn",
        method: HttpMethod::Post,
        path: paths::CANCEL.template(),
        tag: "Turns",
        summary: "End an open turn",
        description: "Ends a turn that is open and answers with what the turn came to. A turn that ended \
            before keeps its outcome, so this may be repeated. No body is needed.",
        takes: &[Takes::Session, Takes::Turn],
        body: None,
        answers: Answers::Json("AgentSessionTurnSummary"),
        leads_to: &[Lead { to: "readTurn", with: OF_SUMMARY }],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "rerunTurn",
        method: HttpMethod::Post,
        path: paths::RERUN.template(),
        tag: "Turns",
        summary: "Run a turn again, as a new one",
        description: "Asks the same again, or with another instruction, model or mode (DD-006). The new turn is one like \
            any other: it searches and reads its files anew, `TurnId` makes the request idempotent, and the answer comes as \
            `executeTurn` has it. It goes on from where the old turn did, so that the model is told neither that one nor \
            what came after it; once it is completed the session goes on from it. The old turn stays as it is, and must be \
            over.",
        takes: &[Takes::Session, Takes::Turn, Takes::LastEventId],
        body: Some(Body::Json("RerunRequest")),
        answers: Answers::Turn,
        leads_to: &[Lead { to: "readTurn", with: OF_ANSWER }],
        errors: &[ANYWHERE, BODY, RERUN, START, FAILED_TURN],
    },
    Row {
        id: "forkSession",
        method: HttpMethod::Post,
        path: paths::FORK.template(),
        tag: "Sessions",
        summary: "Make a session that goes on from a turn of this one",
        description: "The new session's turns go on from a completed turn of this one: the model knows what came up to it, \
            and the earlier turns stay where they are. Contexts, hints and the solution context are those of this session \
            by now, the mode is what the turn left. `SessionId` is the client's and makes the request idempotent.",
        takes: &[Takes::Session],
        body: Some(Body::Json("ForkRequest")),
        answers: Answers::Json("AgentSession"),
        leads_to: &[],
        errors: &[ANYWHERE, BODY, FORK, DELETED],
    },
    Row {
        id: "listSessions",
        method: HttpMethod::Get,
        path: paths::SESSIONS,
        tag: "Sessions",
        summary: "List sessions, newest activity first",
        description: "The sessions of the caller's org, or those that one user owns or takes part in \
            (DD-003), narrowed as wanted. Sessions that the caller may not see are left out, deleted ones unless they are asked \
            for. A session in which something happens between two pages moves to the front.",
        takes: &[
            Takes::User,
            Takes::IncludeDeleted,
            Takes::Status,
            Takes::Mode,
            Takes::From,
            Takes::To,
            Takes::PageSize,
            Takes::ContinuationToken,
        ],
        body: None,
        answers: Answers::Json("ListResponse"),
        leads_to: &[Lead { to: "readSession", with: &[("SessionId", "$response.body#/Result/Items/0/Id")] }],
        errors: &[ANYWHERE],
    },
    Row {
        id: "searchSessions",
        method: HttpMethod::Get,
        path: paths::SEARCH,
        tag: "Sessions",
        summary: "Search sessions for words, newest activity first",
        description: "The sessions of the caller's org, or those of one user, in whose name, description or turns all the \
            words stand; narrowed as `listSessions` is, and as private. Of a turn the heads of instruction and answer are \
            searched, which its summaries are. All the words have to stand in one turn, or in the session's own texts, which \
            count for each of its turns. A call looks at 100 sessions and 500 turns at most: its page may be short or \
            empty, and `HasMore` tells. A session of very many turns may be found on two pages, with other matches. Where \
            the deployment indexes sessions, those 100 are ones that the index names, a turn is found once it is over, and a \
            warning tells of a search that had to do without.",
        takes: &[
            Takes::Words,
            Takes::User,
            Takes::IncludeDeleted,
            Takes::Status,
            Takes::Mode,
            Takes::From,
            Takes::To,
            Takes::PageSize,
            Takes::ContinuationToken,
        ],
        body: None,
        answers: Answers::Json("SearchResults"),
        leads_to: &[Lead {
            to: "readSession",
            with: &[("SessionId", "$response.body#/Result/Items/0/Session/Id")],
        }],
        errors: &[ANYWHERE],
    },
    Row {
        id: "readSession",
        method: HttpMethod::Get,
        path: paths::SESSION.template(),
        tag: "Sessions",
        summary: "Read a session with its turns",
        description: "The session with its turns in order, a hundred at a time where the query does not say (DD-002A, \
            DD-003).",
        takes: &[Takes::Session, Takes::Order, Takes::PageSize, Takes::ContinuationToken, Takes::IfNoneMatch],
        body: None,
        answers: Answers::Kept("AgentSession"),
        leads_to: &[Lead {
            to: "readTurn",
            with: &[
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
        summary: "Change a session's name, description or visibility",
        description: "What the body leaves out stays as it is (DD-002A). Whoever sees a session may name and describe \
            it; who may see it is its owner's to say, or an operator's. Answers with the session as a list shows it.",
        takes: &[Takes::Session],
        body: Some(Body::Json("SessionEdit")),
        answers: Answers::Json("AgentSessionSummary"),
        leads_to: &[],
        errors: &[ANYWHERE, BODY, SESSION, DELETED],
    },
    Row {
        id: "deleteSession",
        method: HttpMethod::Delete,
        path: paths::SESSION.template(),
        tag: "Sessions",
        summary: "Delete a session",
        description: "Ends the session's open turn as cancelled. From then on the session takes no turns and no tool \
            results, lists leave it out, and only those who took part in it read it, until `KeptUntilDate`; until then \
            `restoreSession` takes the deletion back. For its owner and for operators. Deleting it again changes nothing.\n\n\
            With `purge=true`, or when that date has come, everything of it is removed for good, behind the scenes: to every \
            read there is no such session from then on, its id takes no turns any more, and `readPurge` tells how far \
            it is. Its items and every version of its objects go; what the model provider keeps of its responses \
            expires there.",
        takes: &[Takes::Session, Takes::Purge],
        body: None,
        answers: Answers::Json("SessionDeletion"),
        leads_to: &[Lead { to: "restoreSession", with: &[("SessionId", "$response.body#/Result/Id")] }],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "readPurge",
        method: HttpMethod::Get,
        path: paths::PURGE.template(),
        tag: "Sessions",
        summary: "Read what the purge of a session came to",
        description: "What went so far, by kind, and whether anything may be left. For the session's owner and for operators; \
            a 404 for everybody else, and of a session that was not purged. It is done a quarter of an hour after the purge \
            began at the earliest, since functions that were at work then may still have written.",
        takes: &[Takes::Session],
        body: None,
        answers: Answers::Json("PurgeReport"),
        leads_to: &[],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "restoreSession",
        method: HttpMethod::Post,
        path: paths::RESTORE.template(),
        tag: "Sessions",
        summary: "Take the deletion of a session back",
        description: "For its owner and for operators. A session that was not deleted stays as it is. No body is needed.",
        takes: &[Takes::Session],
        body: None,
        answers: Answers::Json("AgentSessionSummary"),
        leads_to: &[Lead { to: "readSession", with: &[("SessionId", "$response.body#/Result/Id")] }],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "exportSession",
        method: HttpMethod::Get,
        path: paths::SESSION_EXPORT.template(),
        tag: "Sessions",
        summary: "Export a session as one document",
        description: "Everything that reads show of the session: its turns, their feedback, and what was asked and answered, \
            whole, with its files. It is written while it is read and has no envelope; a document that is no whole JSON was \
            cut short. An operator's has what an import needs besides.",
        takes: &[Takes::Session, Takes::Payloads],
        body: None,
        answers: Answers::Document("SessionExport"),
        leads_to: &[],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "exportSessions",
        method: HttpMethod::Get,
        path: paths::EXPORT,
        tag: "Sessions",
        summary: "Export the org's sessions, a line each",
        description: "For operators. JSON Lines: each line is the document of a session, as `exportSession` has it, newest \
            activity first and narrowed as `listSessions` is. The last line says that it is the last, and where the next \
            export goes on: one ends after 16 MiB or seven minutes, with the session that is begun. Without that line it was cut \
            short.",
        takes: &[
            Takes::Payloads,
            Takes::User,
            Takes::IncludeDeleted,
            Takes::Status,
            Takes::Mode,
            Takes::From,
            Takes::To,
            Takes::ContinuationToken,
        ],
        body: None,
        answers: Answers::Lines("ExportLine"),
        leads_to: &[],
        errors: &[ANYWHERE],
    },
    Row {
        id: "importSessions",
        method: HttpMethod::Post,
        path: paths::IMPORT,
        tag: "Sessions",
        summary: "Make the sessions of an export",
        description: "For operators. Takes what an operator's export wrote, with payloads inline: the document of a session, or \
            lines of them. The sessions come back as they were, in the caller's org, and every read of them answers as it \
            did. Everything is checked before anything is written, and no read shows a session before all of it is there. The \
            same import again changes nothing, and goes on where one broke off. A session of the same id that is there and \
            is another one is a conflict.",
        takes: &[Takes::Ids],
        body: Some(Body::Exports),
        answers: Answers::Json("SessionImport"),
        leads_to: &[Lead {
            to: "readSession",
            with: &[("SessionId", "$response.body#/Result/Sessions/0/Id")],
        }],
        errors: &[ANYWHERE, IMPORT],
    },
    Row {
        id: "readModeHistory",
        method: HttpMethod::Get,
        path: paths::MODE_HISTORY.template(),
        tag: "Sessions",
        summary: "List the changes of a session's mode, newest first",
        description: "Every change of every completed turn, in order (AGN-011 §3.2).",
        takes: &[Takes::Session, Takes::PageSize, Takes::ContinuationToken],
        body: None,
        answers: Answers::Json("ModeHistory"),
        leads_to: &[],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "listTurns",
        method: HttpMethod::Get,
        path: paths::TURNS.template(),
        tag: "Sessions",
        summary: "List the turns of a session, in either order",
        description: "The turns of a session in a few lines each (DD-003), narrowed as wanted.",
        takes: &[
            Takes::Session,
            Takes::User,
            Takes::Status,
            Takes::Mode,
            Takes::From,
            Takes::To,
            Takes::Order,
            Takes::PageSize,
            Takes::ContinuationToken,
        ],
        body: None,
        answers: Answers::Json("TurnList"),
        leads_to: &[],
        errors: &[ANYWHERE, SESSION],
    },
    Row {
        id: "readLastTurn",
        method: HttpMethod::Get,
        path: paths::LAST_TURN.template(),
        tag: "Sessions",
        summary: "Read a session's newest turn",
        description: "The newest turn, whatever its status, or the newest that stands so of the newest thousand \
            (DD-003).",
        takes: &[Takes::Session, Takes::Status, Takes::IfNoneMatch],
        body: None,
        answers: Answers::Kept("AgentSessionTurn"),
        leads_to: &[],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "readTurn",
        method: HttpMethod::Get,
        path: paths::TURN.template(),
        tag: "Sessions",
        summary: "Read a turn",
        description: "One turn, whole (DD-002B, DD-003). The provider's ids are there for operators alone.",
        takes: &[Takes::Session, Takes::Turn, Takes::IfNoneMatch],
        body: None,
        answers: Answers::Kept("AgentSessionTurn"),
        leads_to: &[],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "readTurnSummary",
        method: HttpMethod::Get,
        path: paths::SUMMARY.template(),
        tag: "Sessions",
        summary: "Read a turn's light summary",
        description: "One turn in a few lines, cheap enough to poll (DD-003).",
        takes: &[Takes::Session, Takes::Turn, Takes::IfNoneMatch],
        body: None,
        answers: Answers::Kept("AgentSessionTurnSummary"),
        leads_to: &[],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "giveFeedback",
        method: HttpMethod::Put,
        path: paths::FEEDBACK.template(),
        tag: "Turns",
        summary: "Say how good a turn's answer was",
        description: "What the caller says of a turn that is over, in the place of what the same user said of it before.",
        takes: &[Takes::Session, Takes::Turn],
        body: Some(Body::Json("FeedbackRequest")),
        answers: Answers::Json("TurnFeedback"),
        leads_to: &[],
        errors: &[ANYWHERE, BODY, TURN, FEEDBACK],
    },
    Row {
        id: "readFeedback",
        method: HttpMethod::Get,
        path: paths::FEEDBACK.template(),
        tag: "Sessions",
        summary: "Read what users say of a turn",
        description: "One entry per user at most, in no order that means anything. A turn that is over never changes, so \
            what is said of it is read apart from it.",
        takes: &[Takes::Session, Takes::Turn, Takes::PageSize, Takes::ContinuationToken],
        body: None,
        answers: Answers::Json("FeedbackList"),
        leads_to: &[],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "readTurnSteps",
        method: HttpMethod::Get,
        path: paths::STEPS.template(),
        tag: "Sessions",
        summary: "Read what a turn did, reply by reply",
        description: "The model's replies in order: what each wrote, the tools that it called with what came of them, and who \
            ran them; last the answer, or what there was of it when the turn failed. Of a turn that runs, what is recorded \
            so far. A page ends early where it would hold more than about 1 MiB. Values are whole, but for those of a turn \
            whose rounds came to more than 8 MiB: of the oldest of these long ones are cut, which they say, or they are left \
            out.",
        takes: &[Takes::Session, Takes::Turn, Takes::PageSize, Takes::ContinuationToken],
        body: None,
        answers: Answers::Json("StepList"),
        leads_to: &[],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "streamTurn",
        method: HttpMethod::Get,
        path: paths::STREAM.template(),
        tag: "Turns",
        summary: "Read a turn's stream, or the rest of it",
        description: "The events of a turn that was started with `Streaming`, from the first one or after the one \
            that `Last-Event-ID` names. It waits with the turn; of a turn that ended it has what is left. The \
            last event is `result`; a stream that ends without one asks its client to come back. Reading takes \
            no turn over whose function died: sending its request again does, at once.",
        takes: &[Takes::Session, Takes::Turn, Takes::LastEventId],
        body: None,
        answers: Answers::Stream,
        leads_to: &[],
        errors: &[ANYWHERE, TURN],
    },
    Row {
        id: "readInstruction",
        method: HttpMethod::Get,
        path: paths::INSTRUCTION.template(),
        tag: "Payloads",
        summary: "Read a turn's whole request",
        description: "A link to the request in its canonical form (DD-005; RFC 8785).",
        takes: &[Takes::Session, Takes::Turn, Takes::Inline, Takes::IfNoneMatch],
        body: None,
        answers: Answers::Link,
        leads_to: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
    Row {
        id: "readAnswer",
        method: HttpMethod::Get,
        path: paths::ANSWER.template(),
        tag: "Payloads",
        summary: "Read a turn's whole answer",
        description: "A link to the answer's text; there once the turn is completed (DD-005).",
        takes: &[Takes::Session, Takes::Turn, Takes::Inline, Takes::IfNoneMatch],
        body: None,
        answers: Answers::Link,
        leads_to: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
    Row {
        id: "readModelRequest",
        method: HttpMethod::Get,
        path: paths::MODEL_REQUEST.template(),
        tag: "Payloads",
        summary: "Read what the model provider was sent",
        description: "A link to the body of a model call of the turn, where the conversation context keeps raw \
                      payloads. For operators alone; a 404 for everyone else.",
        takes: &[Takes::Session, Takes::Turn, Takes::Inline, Takes::Round, Takes::IfNoneMatch],
        body: None,
        answers: Answers::Link,
        leads_to: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
    Row {
        id: "readModelResponse",
        method: HttpMethod::Get,
        path: paths::MODEL_RESPONSE.template(),
        tag: "Payloads",
        summary: "Read what the model provider answered",
        description: "A link to the response to a model call of the turn, where the conversation context keeps raw \
                      payloads. For operators alone; a 404 for everyone else.",
        takes: &[Takes::Session, Takes::Turn, Takes::Inline, Takes::Round, Takes::IfNoneMatch],
        body: None,
        answers: Answers::Link,
        leads_to: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
    Row {
        id: "readFile",
        method: HttpMethod::Get,
        path: paths::FILE.template(),
        tag: "Payloads",
        summary: "Read a file of an answer",
        description: "A link to a file that an answer refers to (AGN-033 §6.3), or to a long value of a step. What it leads to has the file's own media \
            type and name, and is a download: no browser shows it as a page. A file that is not there is a 404.",
        takes: &[Takes::Session, Takes::Turn, Takes::Hash, Takes::Name, Takes::Inline, Takes::IfNoneMatch],
        body: None,
        answers: Answers::Link,
        leads_to: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
];
