//! The port to the language model.

use std::{future::Future, time::Duration};

use crate::model::{Error, Observer, Reply, Request};

/// A language model behind a provider's API.
pub trait Model: Send + Sync {
    /// Requests one reply. Everything that becomes known during the call goes to `observer`, with or without a reply.
    ///
    /// Dropping the future ends the generation at the provider. The call never outlasts `deadline`.
    fn reply(
        &self,
        request: &Request,
        deadline: Duration,
        observer: &mut Observer<'_>,
    ) -> impl Future<Output = Result<Reply, Error>> + Send;
}
