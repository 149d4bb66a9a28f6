//! Operations on sessions, with the tag `Sessions`.

use super::{
    error_groups::{
        ANYWHERE, BODY, CLOSED, DELETED, FORK, IMPORT, PRECONDITION, QUARANTINED, SESSION, VERSION,
    },
    operation::{Body, Link, Method, Operation, ResponseKind, operations},
    parameters::Parameter,
};
use crate::{
    read::{
        AgentSession, AgentSessionSummary, ExportLine, FoundSession, PurgeReport, SessionDeletion,
        SessionExport, SessionImport,
    },
    request::{ForkRequest, SessionEdit},
    schema::Schema,
};

operations![
    FORK_SESSION = Operation {
        id: "forkSession",
        method: Method::Post,
        path: "/api/ai/agent/sessions/{SessionId}/fork",
        tag: "Sessions",
        summary: "Fork a session",
        description: "Creates a session that continues from a completed turn of this session. The model knows \
            everything up to that turn, and the earlier turns stay in this session. Category, contexts, hints \
            and the solution context are copied from this session's current state; the mode is that at the end \
            of the turn. The client chooses `SessionId`, which makes the request idempotent.",
        parameters: &[Parameter::SESSION],
        body: Some(Body::Json(Schema::of::<ForkRequest>("ForkRequest"))),
        response: ResponseKind::Json(Schema::of::<AgentSession>("AgentSession")),
        links: &[],
        errors: &[ANYWHERE, BODY, FORK, CLOSED],
    },
    LIST_SESSIONS = Operation {
        id: "listSessions",
        method: Method::Get,
        path: "/api/ai/agent/sessions",
        tag: "Sessions",
        summary: "List sessions",
        description: "Returns the sessions of the caller's org, or those that one user owns or takes part in, \
            newest activity first. Parameters filter the list. Sessions that the caller may not see are \
            omitted, and deleted sessions are omitted unless requested. A session with activity between two \
            page requests moves to the front.",
        parameters: &[
            Parameter::USER,
            Parameter::INCLUDE_DELETED,
            Parameter::STATUS,
            Parameter::MODE,
            Parameter::CATEGORY,
            Parameter::FROM,
            Parameter::TO,
            Parameter::PAGE_SIZE,
            Parameter::CONTINUATION_TOKEN,
        ],
        body: None,
        response: ResponseKind::Json(Schema::list::<AgentSessionSummary>("ListResponse")),
        links: &[Link {
            operation: "readSession",
            parameters: &[("SessionId", "$response.body#/Result/Items/0/Id")],
        }],
        errors: &[ANYWHERE],
    },
    SEARCH_SESSIONS = Operation {
        id: "searchSessions",
        method: Method::Get,
        path: "/api/ai/agent/search",
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
            Parameter::QUERY,
            Parameter::USER,
            Parameter::INCLUDE_DELETED,
            Parameter::STATUS,
            Parameter::MODE,
            Parameter::CATEGORY,
            Parameter::FROM,
            Parameter::TO,
            Parameter::PAGE_SIZE,
            Parameter::CONTINUATION_TOKEN,
        ],
        body: None,
        response: ResponseKind::Json(Schema::list::<FoundSession>("SearchResults")),
        links: &[Link {
            operation: "readSession",
            parameters: &[("SessionId", "$response.body#/Result/Items/0/Session/Id")],
        }],
        errors: &[ANYWHERE],
    },
    READ_SESSION = Operation {
        id: "readSession",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}",
        tag: "Sessions",
        summary: "Read a session",
        description: "Returns a session with its turns in order, 100 per page by default.",
        parameters: &[
            Parameter::SESSION,
            Parameter::ORDER,
            Parameter::PAGE_SIZE,
            Parameter::CONTINUATION_TOKEN,
            Parameter::IF_NONE_MATCH,
        ],
        body: None,
        response: ResponseKind::Cacheable(Schema::of::<AgentSession>("AgentSession")),
        links: &[Link {
            operation: "readTurn",
            parameters: &[
                ("SessionId", "$response.body#/Result/Id"),
                ("TurnId", "$response.body#/Result/Turns/0/Id"),
            ],
        }],
        errors: &[ANYWHERE, SESSION],
    },
    CHANGE_SESSION = Operation {
        id: "changeSession",
        method: Method::Patch,
        path: "/api/ai/agent/sessions/{SessionId}",
        tag: "Sessions",
        summary: "Update a session",
        description: "Changes the name, the description, the category or the visibility of a session, or pins it \
            to versions of its contexts. Members that are absent stay unchanged. Anyone who can see a session \
            may change its name, description and category; only its owner and operators may change its \
            visibility, and only operators and agent editors its versions. Returns the session's summary.",
        parameters: &[Parameter::SESSION, Parameter::IF_MATCH],
        body: Some(Body::Json(Schema::of::<SessionEdit>("SessionEdit"))),
        response: ResponseKind::Json(Schema::of::<AgentSessionSummary>("AgentSessionSummary")),
        links: &[],
        errors: &[ANYWHERE, BODY, SESSION, CLOSED, VERSION, PRECONDITION],
    },
    DELETE_SESSION = Operation {
        id: "deleteSession",
        method: Method::Delete,
        path: "/api/ai/agent/sessions/{SessionId}",
        tag: "Sessions",
        summary: "Delete a session",
        description: "Deletes a session and cancels its open turn. From then on the session accepts no turns \
            and no tool results, lists omit it, and only participants can read it, until `KeptUntilDate`. \
            Until then `restoreSession` undoes the deletion. Only the owner and operators may delete a \
            session. Deleting it again changes nothing.\n\nWith `purge=true`, or when that date has passed, \
            all data of the session is permanently deleted in the background. From then on reads return a 404, \
            the session's id accepts no more turns, and `readPurge` reports the progress. Database items and \
            every version of the objects are deleted; responses that the model provider stores expire there.",
        parameters: &[Parameter::SESSION, Parameter::PURGE, Parameter::IF_MATCH],
        body: None,
        response: ResponseKind::Json(Schema::of::<SessionDeletion>("SessionDeletion")),
        links: &[Link {
            operation: "restoreSession",
            parameters: &[("SessionId", "$response.body#/Result/Id")],
        }],
        errors: &[ANYWHERE, SESSION, QUARANTINED, PRECONDITION],
    },
    READ_PURGE = Operation {
        id: "readPurge",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/purge",
        tag: "Sessions",
        summary: "Read the progress of a purge",
        description: "Reports what has been deleted so far, by kind, and whether data may remain. For the \
            session's owner and operators; a 404 for other callers, and for a session that was not purged. A \
            purge takes at least 15 minutes, because functions that were running when it began may still write \
            data.",
        parameters: &[Parameter::SESSION],
        body: None,
        response: ResponseKind::Json(Schema::of::<PurgeReport>("PurgeReport")),
        links: &[],
        errors: &[ANYWHERE, SESSION],
    },
    RESTORE_SESSION = Operation {
        id: "restoreSession",
        method: Method::Post,
        path: "/api/ai/agent/sessions/{SessionId}/restore",
        tag: "Sessions",
        summary: "Restore a deleted session",
        description: "Undoes the deletion of a session. For its owner and operators. A session that is not \
            deleted stays unchanged. No body is needed.",
        parameters: &[Parameter::SESSION, Parameter::IF_MATCH],
        body: None,
        response: ResponseKind::Json(Schema::of::<AgentSessionSummary>("AgentSessionSummary")),
        links: &[Link {
            operation: "readSession",
            parameters: &[("SessionId", "$response.body#/Result/Id")],
        }],
        errors: &[ANYWHERE, SESSION, PRECONDITION],
    },
    QUARANTINE_SESSION = Operation {
        id: "quarantineSession",
        method: Method::Post,
        path: "/api/ai/agent/sessions/{SessionId}/quarantine",
        tag: "Sessions",
        summary: "Quarantine a session",
        description: "Closes a session until `releaseSession`: it accepts no turns, tool results, feedback or \
            changes, and can't be forked, deleted or purged. Its open turn is cancelled. Everyone who \
            could read the session still can, and `QuarantinedDate` marks it. Quarantining it again changes \
            nothing. For operators. No body is needed.",
        parameters: &[Parameter::SESSION, Parameter::IF_MATCH],
        body: None,
        response: ResponseKind::Json(Schema::of::<AgentSessionSummary>("AgentSessionSummary")),
        links: &[Link {
            operation: "releaseSession",
            parameters: &[("SessionId", "$response.body#/Result/Id")],
        }],
        errors: &[ANYWHERE, SESSION, DELETED, PRECONDITION],
    },
    RELEASE_SESSION = Operation {
        id: "releaseSession",
        method: Method::Post,
        path: "/api/ai/agent/sessions/{SessionId}/release",
        tag: "Sessions",
        summary: "Release a quarantined session",
        description: "Ends the quarantine of a session, which accepts turns and changes again. A session that \
            is not quarantined stays unchanged. For operators. No body is needed.",
        parameters: &[Parameter::SESSION, Parameter::IF_MATCH],
        body: None,
        response: ResponseKind::Json(Schema::of::<AgentSessionSummary>("AgentSessionSummary")),
        links: &[Link {
            operation: "readSession",
            parameters: &[("SessionId", "$response.body#/Result/Id")],
        }],
        errors: &[ANYWHERE, SESSION, PRECONDITION],
    },
    EXPORT_SESSION = Operation {
        id: "exportSession",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/export",
        tag: "Sessions",
        summary: "Export a session",
        description: "Exports everything that the API shows of a session as one document: its turns, their \
            feedback, and the full requests and answers with their files. The document is streamed without an \
            envelope; if it is not valid JSON, it was truncated. An operator's export also holds the data that \
            an import needs.",
        parameters: &[Parameter::SESSION, Parameter::PAYLOADS],
        body: None,
        response: ResponseKind::Document(Schema::of::<SessionExport>("SessionExport")),
        links: &[],
        errors: &[ANYWHERE, SESSION],
    },
    EXPORT_SESSIONS = Operation {
        id: "exportSessions",
        method: Method::Get,
        path: "/api/ai/agent/export",
        tag: "Sessions",
        summary: "Export the sessions of an org",
        description: "Exports sessions as JSON Lines. For operators. Each line is the document of one session, \
            as in `exportSession`, newest activity first, with the filters of `listSessions`. An export ends \
            after 16 MiB or seven minutes, once the current session is complete. A session of more than 32 MiB \
            ends with a link to its own export (`RemainderUrl`). The last line marks the end and holds the \
            token to continue with. Without that line the export is truncated.",
        parameters: &[
            Parameter::PAYLOADS,
            Parameter::USER,
            Parameter::INCLUDE_DELETED,
            Parameter::STATUS,
            Parameter::MODE,
            Parameter::CATEGORY,
            Parameter::FROM,
            Parameter::TO,
            Parameter::CONTINUATION_TOKEN,
        ],
        body: None,
        response: ResponseKind::Lines(Schema::of::<ExportLine>("ExportLine")),
        links: &[],
        errors: &[ANYWHERE],
    },
    IMPORT_SESSIONS = Operation {
        id: "importSessions",
        method: Method::Post,
        path: "/api/ai/agent/import",
        tag: "Sessions",
        summary: "Import sessions",
        description: "Imports an operator's export with inline payloads: the document of one session, or lines \
            of them. For operators. The sessions are restored in the caller's org, and every read returns what \
            it returned before. Everything is validated before anything is written, and no read shows a \
            session before it is complete. Repeating an import changes nothing, and resumes one that was \
            interrupted. A different session with the same id is a conflict.",
        parameters: &[Parameter::IDS],
        body: Some(Body::Exports),
        response: ResponseKind::Json(Schema::of::<SessionImport>("SessionImport")),
        links: &[Link {
            operation: "readSession",
            parameters: &[("SessionId", "$response.body#/Result/Sessions/0/Id")],
        }],
        errors: &[ANYWHERE, IMPORT],
    },
];
