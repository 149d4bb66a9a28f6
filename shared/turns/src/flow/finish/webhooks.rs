//! The webhooks of an org, as the end of a turn needs them.

use agent::{
    context::{ContextKind, Document},
    webhook::MAX_WEBHOOKS,
};
use contracts::{error::causes, id::OrgId};
use protocol::webhook::Subscription;

use crate::{
    document_view,
    ports::{Documents, Unavailable},
};

/// Returns what the webhooks of an org subscribe to. A document that this version can't read gets no events.
pub(crate) async fn subscriptions(
    store: &impl Documents,
    org: &OrgId,
) -> Result<Vec<Subscription>, Unavailable> {
    let heads = store.contexts(org, ContextKind::Webhook, None, MAX_WEBHOOKS).await?;
    let subscription = |(id, head)| match document_view::parse(&id, &head) {
        Ok(Document::Webhook(webhook)) => Some(webhook.subscription()),
        Ok(_) => None,
        Err(error) => {
            let webhook = id.as_str();
            tracing::warn!(org = org.as_str(), webhook, error = %causes(&error), "{}", contracts::log::WEBHOOK_UNREADABLE);
            None
        }
    };
    Ok(heads.into_iter().filter_map(subscription).collect())
}
