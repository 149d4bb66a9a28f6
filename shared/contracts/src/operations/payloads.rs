//! Operations with the tag `Payloads`.

use super::{
    error_groups::{ANYWHERE, PAYLOAD, TURN},
    operation::{Method, Operation, ResponseKind, operations},
    parameters::Parameter,
};

operations![
    READ_INSTRUCTION = Operation {
        id: "readInstruction",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/payloads/instruction",
        tag: "Payloads",
        summary: "Read the full request",
        description: "Returns a link to the request in canonical form (RFC 8785).",
        parameters: &[Parameter::SESSION, Parameter::TURN, Parameter::INLINE, Parameter::IF_NONE_MATCH],
        body: None,
        response: ResponseKind::Link,
        links: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
    READ_ANSWER = Operation {
        id: "readAnswer",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/payloads/answer",
        tag: "Payloads",
        summary: "Read the full answer",
        description: "Returns a link to the answer's text. Available once the turn is completed.",
        parameters: &[Parameter::SESSION, Parameter::TURN, Parameter::INLINE, Parameter::IF_NONE_MATCH],
        body: None,
        response: ResponseKind::Link,
        links: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
    READ_MODEL_REQUEST = Operation {
        id: "readModelRequest",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/payloads/llm-request",
        tag: "Payloads",
        summary: "Read a raw model request",
        description: "Returns a link to the request body of a model call. Available if the conversation \
            context keeps raw payloads. For operators only; a 404 for other callers.",
        parameters: &[
            Parameter::SESSION,
            Parameter::TURN,
            Parameter::INLINE,
            Parameter::ROUND,
            Parameter::IF_NONE_MATCH
        ],
        body: None,
        response: ResponseKind::Link,
        links: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
    READ_MODEL_RESPONSE = Operation {
        id: "readModelResponse",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/payloads/llm-response",
        tag: "Payloads",
        summary: "Read a raw model response",
        description: "Returns a link to the response of a model call. Available if the conversation context \
            keeps raw payloads. For operators only; a 404 for other callers.",
        parameters: &[
            Parameter::SESSION,
            Parameter::TURN,
            Parameter::INLINE,
            Parameter::ROUND,
            Parameter::IF_NONE_MATCH
        ],
        body: None,
        response: ResponseKind::Link,
        links: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
    READ_FILE = Operation {
        id: "readFile",
        method: Method::Get,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/payloads/files/{Hash}/{Name}",
        tag: "Payloads",
        summary: "Read a file",
        description: "Returns a link to a file that an answer refers to, or to a long value of a step. The \
            link has the file's own media type and name, and is a download, so that no browser renders it as a \
            page. A 404 if the file doesn't exist.",
        parameters: &[
            Parameter::SESSION,
            Parameter::TURN,
            Parameter::HASH,
            Parameter::NAME,
            Parameter::INLINE,
            Parameter::IF_NONE_MATCH,
        ],
        body: None,
        response: ResponseKind::Link,
        links: &[],
        errors: &[ANYWHERE, TURN, PAYLOAD],
    },
];
