//! Documents for the agents of an org, with the tag `Knowledge`.

use super::{
    error_groups::{ANYWHERE, BODY, KNOWLEDGE, KNOWLEDGE_UPLOAD},
    operation::{Body, Link, Method, Operation, ResponseKind, operations},
    parameters::Parameter,
};
use crate::{knowledge::KnowledgeDocument, request::KnowledgeUpload, schema::Schema};

operations![
    LIST_KNOWLEDGE = Operation {
        id: "listKnowledge",
        method: Method::Get,
        path: "/api/ai/agent/knowledge",
        tag: "Knowledge",
        summary: "List documents",
        description: "Returns the documents of the caller's org by id, each with its status. For operators and agent \
            editors.",
        parameters: &[Parameter::PAGE_SIZE, Parameter::CONTINUATION_TOKEN],
        body: None,
        response: ResponseKind::Json(Schema::list::<KnowledgeDocument>("KnowledgeDocumentList")),
        links: &[Link {
            operation: "readKnowledge",
            parameters: &[("KnowledgeId", "$response.body#/Result/Items/0/Id")],
        }],
        errors: &[ANYWHERE],
    },
    UPLOAD_KNOWLEDGE = Operation {
        id: "uploadKnowledge",
        method: Method::Post,
        path: "/api/ai/agent/knowledge",
        tag: "Knowledge",
        summary: "Upload a document",
        description: "Stores a document, which is then indexed, and replaces the one of the same name. Turns find it \
            once its `Status` is `ready`, and until then what they found before. Read it again to follow its status. \
            A document may have 3,000,000 bytes, and an org 1,000 documents. For operators and agent editors.",
        parameters: &[],
        body: Some(Body::Json(Schema::of::<KnowledgeUpload>("KnowledgeUpload"))),
        response: ResponseKind::Json(Schema::of::<KnowledgeDocument>("KnowledgeDocument")),
        links: &[Link {
            operation: "readKnowledge",
            parameters: &[("KnowledgeId", "$response.body#/Result/Id")]
        }],
        errors: &[ANYWHERE, BODY, KNOWLEDGE_UPLOAD],
    },
    READ_KNOWLEDGE = Operation {
        id: "readKnowledge",
        method: Method::Get,
        path: "/api/ai/agent/knowledge/{KnowledgeId}",
        tag: "Knowledge",
        summary: "Read a document's status",
        description: "Returns a document of the caller's org with its status, without its content. For operators and \
            agent editors.",
        parameters: &[Parameter::KNOWLEDGE],
        body: None,
        response: ResponseKind::Json(Schema::of::<KnowledgeDocument>("KnowledgeDocument")),
        links: &[],
        errors: &[ANYWHERE, KNOWLEDGE],
    },
    DELETE_KNOWLEDGE = Operation {
        id: "deleteKnowledge",
        method: Method::Delete,
        path: "/api/ai/agent/knowledge/{KnowledgeId}",
        tag: "Knowledge",
        summary: "Delete a document",
        description: "Starts the deletion of a document, its content and its chunks, and returns it with the status \
            `deleting`. Once that is done, it isn't found any more. A repetition starts the deletion again. For \
            operators and agent editors.",
        parameters: &[Parameter::KNOWLEDGE],
        body: None,
        response: ResponseKind::Json(Schema::of::<KnowledgeDocument>("KnowledgeDocument")),
        links: &[],
        errors: &[ANYWHERE, KNOWLEDGE, KNOWLEDGE_UPLOAD],
    },
];
