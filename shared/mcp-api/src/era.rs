//! The revisions of the protocol, in two eras.

/// The revision whose requests name their version.
pub const PER_REQUEST_VERSION: &str = "2026-07-28";
/// The revisions that begin with `initialize`, the newest first.
pub const LEGACY_VERSIONS: [&str; 2] = ["2025-11-25", "2025-06-18"];
/// Every revision, the newest first.
pub const VERSIONS: [&str; 3] = [PER_REQUEST_VERSION, LEGACY_VERSIONS[0], LEGACY_VERSIONS[1]];

/// The era of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Up to revision 2025-11-25: the client began with `initialize`.
    Handshake,
    /// Since revision 2026-07-28: each request names its version and its client's capabilities.
    PerRequest,
}
