//! Calls of tools whose outcome is unknown, with the tag `Agents`.

use super::{
    error_groups::{ANYWHERE, BODY, EFFECT, TURN},
    operation::{Body, Method, Operation, ResponseKind, operations},
    parameters::Parameter,
};
use crate::{read::UnknownEffect, request::EffectResolution, schema::Schema};

operations![
    LIST_UNKNOWN_EFFECTS = Operation {
        id: "listUnknownEffects",
        method: Method::Get,
        path: "/api/ai/agent/effects",
        tag: "Agents",
        summary: "List calls with an unknown outcome",
        description: "Returns the calls of the org's turns that were sent and have no valid response, oldest first. \
            Each may have been performed, and none is repeated. The list may be a few seconds old. For operators.",
        parameters: &[Parameter::PAGE_SIZE, Parameter::CONTINUATION_TOKEN],
        body: None,
        response: ResponseKind::Json(Schema::list::<UnknownEffect>("UnknownEffectList")),
        links: &[],
        errors: &[ANYWHERE],
    },
    RESOLVE_EFFECT = Operation {
        id: "resolveEffect",
        method: Method::Post,
        path: "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/resolve-effect",
        tag: "Agents",
        summary: "Resolve a call with an unknown outcome",
        description: "Records the finding of a person who looked at the target, and returns the call. From then on the \
            session may make an equal call. The turn stays as it is. The finding and the note are in the audit log. \
            For operators.",
        parameters: &[Parameter::SESSION, Parameter::TURN],
        body: Some(Body::Json(Schema::of::<EffectResolution>("EffectResolution"))),
        response: ResponseKind::Json(Schema::of::<UnknownEffect>("UnknownEffect")),
        links: &[],
        errors: &[ANYWHERE, BODY, TURN, EFFECT],
    },
];
