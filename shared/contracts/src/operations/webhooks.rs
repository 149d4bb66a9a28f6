//! Secrets and deliveries of webhooks, with the tag `Agents`.

use super::{
    error_groups::{ANYWHERE, BODY, DELIVERY, WEBHOOK},
    operation::{Body, Method, Operation, ResponseKind, operations},
    parameters::Parameter,
};
use crate::{
    read::{WebhookDelivery, WebhookReplay, WebhookSecret, WebhookStatus, WebhookTest},
    request::WebhookReplayRequest,
    schema::Schema,
};

operations![
    ROTATE_WEBHOOK_SECRET = Operation {
        id: "rotateWebhookSecret",
        method: Method::Post,
        path: "/api/ai/agent/webhooks/{ContextId}/secret",
        tag: "Agents",
        summary: "Create a webhook's secret",
        description: "Creates the secret that signs the webhook's deliveries, and returns it. It can't be read again. A \
            secret that it replaces signs beside it for 24 hours. For operators.",
        parameters: &[Parameter::WEBHOOK],
        body: None,
        response: ResponseKind::Json(Schema::of::<WebhookSecret>("WebhookSecret")),
        links: &[],
        errors: &[ANYWHERE, WEBHOOK],
    },
    TEST_WEBHOOK = Operation {
        id: "testWebhook",
        method: Method::Post,
        path: "/api/ai/agent/webhooks/{ContextId}/test",
        tag: "Agents",
        summary: "Send a test event",
        description: "Sends an event of the type `webhook.test` once, and returns what came back. A failure of the receiver \
            is an outcome and no error. A success enables a webhook that the service has disabled. For operators.",
        parameters: &[Parameter::WEBHOOK],
        body: None,
        response: ResponseKind::Json(Schema::of::<WebhookTest>("WebhookTest")),
        links: &[],
        errors: &[ANYWHERE, WEBHOOK],
    },
    REPLAY_WEBHOOK = Operation {
        id: "replayWebhook",
        method: Method::Post,
        path: "/api/ai/agent/webhooks/{ContextId}/replay",
        tag: "Agents",
        summary: "Deliver events again",
        description: "Queues one delivery again, or every dead one since a time, at most 1,000 a call. Events keep their ids. \
            The first attempt follows within a minute. For operators.",
        parameters: &[Parameter::WEBHOOK],
        body: Some(Body::Json(Schema::of::<WebhookReplayRequest>("WebhookReplayRequest"))),
        response: ResponseKind::Json(Schema::of::<WebhookReplay>("WebhookReplay")),
        links: &[],
        errors: &[ANYWHERE, BODY, WEBHOOK, DELIVERY],
    },
    LIST_WEBHOOK_DELIVERIES = Operation {
        id: "listWebhookDeliveries",
        method: Method::Get,
        path: "/api/ai/agent/webhooks/{ContextId}/deliveries",
        tag: "Agents",
        summary: "List the deliveries of a webhook",
        description: "Returns the events of the last 30 days for the webhook, newest first, with their state. The list may be \
            a few seconds old. For operators.",
        parameters: &[Parameter::WEBHOOK, Parameter::PAGE_SIZE, Parameter::CONTINUATION_TOKEN],
        body: None,
        response: ResponseKind::Json(Schema::list::<WebhookDelivery>("WebhookDeliveryList")),
        links: &[],
        errors: &[ANYWHERE, WEBHOOK],
    },
    READ_WEBHOOK_STATUS = Operation {
        id: "readWebhookStatus",
        method: Method::Get,
        path: "/api/ai/agent/webhooks/{ContextId}/status",
        tag: "Agents",
        summary: "Read the status of a webhook",
        description: "Returns whether deliveries fail, whether the service has disabled the webhook, and when its secret was \
            created. For operators.",
        parameters: &[Parameter::WEBHOOK],
        body: None,
        response: ResponseKind::Json(Schema::of::<WebhookStatus>("WebhookStatus")),
        links: &[],
        errors: &[ANYWHERE, WEBHOOK],
    },
];
