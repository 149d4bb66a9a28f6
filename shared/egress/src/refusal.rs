//! The rules that a URL can break.

use crate::address::Forbidden;

/// The most addresses of a host.
pub(crate) const MAX_ADDRESSES: usize = 64;

/// A refused URL. The text names the rule and never the URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not a URL, or one that parsers read in different ways.
    #[error("must be a URL such as https://api.example.com/v1, without spaces and backslashes")]
    Malformed,
    /// Longer than this, in bytes.
    #[error("must have at most {0} bytes")]
    TooLong(usize),
    /// Another scheme than `https`.
    #[error("must begin with https://, not {0}://")]
    Scheme(String),
    /// A user or a password.
    #[error("must not contain a user or a password. Use Authentication")]
    Credentials,
    /// A fragment.
    #[error("must not have a fragment (#)")]
    Fragment,
    /// A port that the deployment doesn't allow.
    #[error("must use port 443, not {0}. An operator of the deployment can allow the host with its port")]
    Port(u16),
    /// A port of the service itself.
    #[error("must not use port {0}, which belongs to the service itself")]
    OwnPort(u16),
    /// A name of this machine or its network.
    #[error("must name a host of the public internet")]
    InnerName,
    /// The host is or has an address of this class.
    #[error("must not lead to {0}")]
    Address(Forbidden),
    /// The name service has no address of the host, or doesn't respond.
    #[error("names a host that can't be found")]
    NotFound,
    /// The name service has more addresses of the host than are checked.
    #[error("names a host with more than {MAX_ADDRESSES} addresses")]
    TooManyAddresses,
}
