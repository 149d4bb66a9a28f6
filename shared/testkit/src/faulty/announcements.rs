//! The queue behind faults.

use protocol::announcement::FinalizeMessage;
use turns::ports::{Announcements, Unavailable};

use super::{Effect, Faulty};

impl<A: Announcements + Clone + 'static> Announcements for Faulty<A> {
    async fn announce(&self, message: &FinalizeMessage) -> Result<(), Unavailable> {
        let (inner, message) = (self.inner.clone(), message.clone());
        self.put(Effect::Announce, async move { inner.announce(&message).await }).await
    }
}
