//! Capabilities of providers that replies show.

/// A capability of a provider, observed in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObservedCapability {
    /// It continued from a response that it stored.
    ContinuesResponses,
    /// It rejected or ignored the response to continue from.
    RejectsContinuation,
    /// It reports that it stores nothing.
    StoresNothing,
    /// Its model replies to a request that asks for reasoning.
    AcceptsReasoning,
    /// Its model refused a request that asked for reasoning, and replied without.
    RejectsReasoning,
}
