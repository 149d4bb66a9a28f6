//! The guard of requests to addresses that an org names: a connection's URL, and every URL that such a server names.
//!
//! An org must not reach what only the service can reach: the machine's own ports, the metadata of a cloud, a private
//! network. [`Guard::check`] judges a URL, [`Guard::resolve`] looks its host up once and pins the addresses, and
//! [`Guard::send`] connects to nothing else and sends one request.
//!
//! Deliberately absent: redirects, proxies, connection pools, retries and decompression. Each of them could send a
//! request twice, send it elsewhere, or make a small response large.

mod address;
mod guard;
mod hosts;
mod parked;
mod refusal;
mod resolve;
mod send;
mod url;

pub use address::Forbidden;
pub use guard::{Guard, Loopback, Target};
pub use hosts::{AllowedHost, InvalidHost};
pub use refusal::Refusal;
pub use resolve::{Resolve, SystemResolver};
pub use send::{Bounds, Failure, Response};
