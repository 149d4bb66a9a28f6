//! Operations with the tag `Payloads`.

use contracts::paths;
use utoipa::openapi::path::HttpMethod;

use super::row::{ResponseKind, Row};
use crate::{
    error_groups::{ANYWHERE, PAYLOAD, TURN},
    parameters::Param,
};

pub(super) const OPERATIONS: &[Row] = &[
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
