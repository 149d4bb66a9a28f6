//! The queue with faults.

use protocol::queue_message::FinalizeMessage;
use turns::ports::{FinalizeQueue, Unavailable};

use super::Faulty;
use crate::fault::Effect;

impl<A: FinalizeQueue + Clone + 'static> FinalizeQueue for Faulty<A> {
    async fn send(&self, message: &FinalizeMessage) -> Result<(), Unavailable> {
        let (inner, message) = (self.inner.clone(), message.clone());
        self.put(Effect::Announce, async move { inner.send(&message).await }).await
    }
}
