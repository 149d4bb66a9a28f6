//! Approvals of calls of tools, with the tag `Approvals`.

use super::{
    error_groups::{ANSWER, ANYWHERE, APPROVAL, BODY},
    operation::{Body, Method, Operation, ResponseKind, operations},
    parameters::Parameter,
};
use crate::{
    read::Approval,
    request::{ApproveRequest, DenyRequest},
    schema::Schema,
};

operations![
    LIST_APPROVALS = Operation {
        id: "listApprovals",
        method: Method::Get,
        path: "/api/ai/agent/approvals",
        tag: "Approvals",
        summary: "List approvals that wait for an answer",
        description: "Returns the calls of tools that the caller may approve or deny, those that expire first at the start. \
            Operators list those of the whole org with `scope=all`. The list may be a few seconds old, and a page may be \
            short.",
        parameters: &[Parameter::APPROVAL_SCOPE, Parameter::PAGE_SIZE, Parameter::CONTINUATION_TOKEN],
        body: None,
        response: ResponseKind::Json(Schema::list::<Approval>("ApprovalList")),
        links: &[],
        errors: &[ANYWHERE],
    },
    READ_APPROVAL = Operation {
        id: "readApproval",
        method: Method::Get,
        path: "/api/ai/agent/approvals/{ApprovalId}",
        tag: "Approvals",
        summary: "Read an approval",
        description: "Returns the exact call, its hash and the answer, for those who may answer, for the user whose turn it \
            is, and for operators.",
        parameters: &[Parameter::APPROVAL],
        body: None,
        response: ResponseKind::Json(Schema::of::<Approval>("Approval")),
        links: &[],
        errors: &[ANYWHERE, APPROVAL],
    },
    APPROVE_CALL = Operation {
        id: "approveCall",
        method: Method::Post,
        path: "/api/ai/agent/approvals/{ApprovalId}/approve",
        tag: "Approvals",
        summary: "Approve a call",
        description: "Allows the call to be sent, once. The body has the hash of the call that the caller saw. The request \
            that gives the turn its last answer continues it, and responds when it has ended or waits again.",
        parameters: &[Parameter::APPROVAL],
        body: Some(Body::Json(Schema::of::<ApproveRequest>("ApproveRequest"))),
        response: ResponseKind::Json(Schema::of::<Approval>("Approval")),
        links: &[],
        errors: &[ANYWHERE, BODY, APPROVAL, ANSWER],
    },
    DENY_CALL = Operation {
        id: "denyCall",
        method: Method::Post,
        path: "/api/ai/agent/approvals/{ApprovalId}/deny",
        tag: "Approvals",
        summary: "Deny a call",
        description: "The call is not sent, and the model gets the reason. The turn continues as after an approval.",
        parameters: &[Parameter::APPROVAL],
        body: Some(Body::Json(Schema::of::<DenyRequest>("DenyRequest"))),
        response: ResponseKind::Json(Schema::of::<Approval>("Approval")),
        links: &[],
        errors: &[ANYWHERE, BODY, APPROVAL, ANSWER],
    },
];
