//! The queue, the provider's stored responses and the index of sessions with faults.

use contracts::{Usage, id::OrgId};
use protocol::{
    id::SessionKey,
    purge::{DeleteOutcome, ProviderResponseRef},
    queue_message::FinalizeMessage,
};
use turns::ports::{
    Backfill, Candidates, FinalizeQueue, IndexQuery, Indexed, ProviderResponses, SessionIndex, Unavailable,
};

use super::{Faulty, reads, writes};
use crate::{
    fault::Effect,
    memory::{Index, Queue},
    model::Provider,
};

impl FinalizeQueue for Faulty<Queue> {
    writes! {
        Announce: send(message: FinalizeMessage) -> (), Unavailable;
    }
}

impl ProviderResponses for Faulty<Provider> {
    writes! {
        RemoveProviderResponse: remove(response: ProviderResponseRef) -> (), Unavailable;
    }

    reads! {
        ReadProviderUsage: usage(response: &ProviderResponseRef) -> Option<Usage>;
    }
}

impl SessionIndex for Faulty<Index> {
    reads! {
        ReadIndex: candidates(query: &IndexQuery<'_>) -> Option<Candidates>;
        ReadIndex: backfill(org: &OrgId) -> Backfill;
    }

    writes! {
        WriteIndex: put(sessions: [Indexed]) -> (), Unavailable;
        WriteIndex: set_backfill(org: OrgId, backfill: Backfill) -> (), Unavailable;
        RemoveFromIndex: delete(session: SessionKey) -> DeleteOutcome, Unavailable;
    }
}
