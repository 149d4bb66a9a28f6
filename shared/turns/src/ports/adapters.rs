//! The adapters that the flows use, bundled as one value, with the ports of the machine and of the queue.

use std::{future::Future, sync::Arc, time::Duration};

use agent::{
    connection::ToolOffers,
    context::config::AgentConfig,
    model::Model,
    retrieval::Retrieval,
    tool::{remote::RemoteTools, timer::Timer},
};
use contracts::Timestamp;
use protocol::{
    budget::EntryId,
    id::AttemptId,
    queue_message::{FinalizeMessage, TurnMessage},
    timing::Timing,
};

use super::{errors::Unavailable, payloads::Payloads, store::Store};

/// The dependencies of everything that writes a turn's state.
pub trait Deps: Send + Sync {
    /// The table.
    type Store: Store;
    /// The objects.
    type Payloads: Payloads;
    /// Clock and randomness.
    type Host: Host;
    /// The table.
    fn store(&self) -> &Self::Store;
    /// The objects.
    fn payloads(&self) -> &Self::Payloads;
    /// Clock and randomness.
    fn host(&self) -> &Self::Host;
    /// Timeouts and limits.
    fn timing(&self) -> &Timing;
}

/// The additional dependency of flows that leave work to the finalizer.
pub trait QueueDeps: Deps {
    /// The finalize queue.
    type Queue: FinalizeQueue;
    /// The finalize queue.
    fn queue(&self) -> &Self::Queue;
}

/// The additional dependencies of the agent loop.
pub trait AgentDeps: QueueDeps {
    /// The model.
    type Model: Model;
    /// The org's sources.
    type Retrieval: Retrieval;
    /// The remote tools.
    type RemoteTools: RemoteTools + ToolOffers;
    /// The model.
    fn model(&self) -> &Self::Model;
    /// The org's sources.
    fn retrieval(&self) -> &Self::Retrieval;
    /// The remote tools.
    fn remote_tools(&self) -> &Self::RemoteTools;
    /// Modes, tools and default contexts.
    fn config(&self) -> &AgentConfig;
}

/// A struct that implements [`Deps`].
#[derive(Debug)]
pub struct Adapters<S, P, H> {
    /// The table.
    pub store: S,
    /// The objects.
    pub payloads: P,
    /// Clock and randomness.
    pub host: H,
    /// Timeouts and limits.
    pub timing: Timing,
}

impl<S: Store, P: Payloads, H: Host> Deps for Adapters<S, P, H> {
    type Store = S;
    type Payloads = P;
    type Host = H;

    fn store(&self) -> &S {
        &self.store
    }

    fn payloads(&self) -> &P {
        &self.payloads
    }

    fn host(&self) -> &H {
        &self.host
    }

    fn timing(&self) -> &Timing {
        &self.timing
    }
}

/// A struct that implements [`AgentDeps`].
#[derive(Debug)]
pub struct AgentAdapters<D, Q, M, R, T> {
    /// The base dependencies.
    pub base: D,
    /// The finalize queue.
    pub queue: Q,
    /// The model.
    pub model: M,
    /// The org's sources.
    pub retrieval: R,
    /// The remote tools.
    pub remote_tools: T,
    /// Modes, tools and default contexts.
    pub config: Arc<AgentConfig>,
}

impl<D, Q, M, R, T> Deps for AgentAdapters<D, Q, M, R, T>
where
    D: Deps,
    Q: Send + Sync,
    M: Send + Sync,
    R: Send + Sync,
    T: Send + Sync,
{
    type Store = D::Store;
    type Payloads = D::Payloads;
    type Host = D::Host;

    fn store(&self) -> &D::Store {
        self.base.store()
    }

    fn payloads(&self) -> &D::Payloads {
        self.base.payloads()
    }

    fn host(&self) -> &D::Host {
        self.base.host()
    }

    fn timing(&self) -> &Timing {
        self.base.timing()
    }
}

impl<D, Q, M, R, T> QueueDeps for AgentAdapters<D, Q, M, R, T>
where
    D: Deps,
    Q: FinalizeQueue,
    M: Send + Sync,
    R: Send + Sync,
    T: Send + Sync,
{
    type Queue = Q;

    fn queue(&self) -> &Q {
        &self.queue
    }
}

impl<D, Q, M, R, T> AgentDeps for AgentAdapters<D, Q, M, R, T>
where
    D: Deps,
    Q: FinalizeQueue,
    M: Model,
    R: Retrieval,
    T: RemoteTools + ToolOffers,
{
    type Model = M;
    type Retrieval = R;
    type RemoteTools = T;

    fn model(&self) -> &M {
        &self.model
    }

    fn retrieval(&self) -> &R {
        &self.retrieval
    }

    fn remote_tools(&self) -> &T {
        &self.remote_tools
    }

    fn config(&self) -> &AgentConfig {
        &self.config
    }
}

impl<D: Deps> Deps for Arc<D> {
    type Store = D::Store;
    type Payloads = D::Payloads;
    type Host = D::Host;

    fn store(&self) -> &D::Store {
        (**self).store()
    }

    fn payloads(&self) -> &D::Payloads {
        (**self).payloads()
    }

    fn host(&self) -> &D::Host {
        (**self).host()
    }

    fn timing(&self) -> &Timing {
        (**self).timing()
    }
}

impl<D: QueueDeps> QueueDeps for Arc<D> {
    type Queue = D::Queue;

    fn queue(&self) -> &D::Queue {
        (**self).queue()
    }
}

impl<D: AgentDeps> AgentDeps for Arc<D> {
    type Model = D::Model;
    type Retrieval = D::Retrieval;
    type RemoteTools = D::RemoteTools;

    fn model(&self) -> &D::Model {
        (**self).model()
    }

    fn retrieval(&self) -> &D::Retrieval {
        (**self).retrieval()
    }

    fn remote_tools(&self) -> &D::RemoteTools {
        (**self).remote_tools()
    }

    fn config(&self) -> &AgentConfig {
        (**self).config()
    }
}

/// The machine's clocks and its source of randomness, which a simulation replaces.
pub trait Host: Timer {
    /// The wall clock, which may jump.
    fn now(&self) -> Timestamp;
    /// Returns a new attempt id.
    fn attempt_id(&self) -> AttemptId;
    /// Returns a random duration below `limit`.
    fn jitter(&self, limit: Duration) -> Duration;
    /// Returns a random id for an entry in a meter.
    fn entry_id(&self) -> EntryId;
}

/// The turn queue. A lost message only costs latency, since the sweep sends it again.
pub trait TurnQueue: Send + Sync {
    /// Sends a message.
    fn send(&self, message: &TurnMessage) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// The finalize queue. A lost message only costs latency.
pub trait FinalizeQueue: Send + Sync {
    /// Sends a message, which is delivered after a second.
    fn send(&self, message: &FinalizeMessage) -> impl Future<Output = Result<(), Unavailable>> + Send;
}
