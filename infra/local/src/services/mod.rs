//! The services that the functions use, as servers on this machine that speak the same wire.
//!
//! The functions use the ordinary AWS SDK, and the ordinary client of Qdrant, and do not know.

pub(crate) mod dynamodb;
pub(crate) mod provision;
pub(crate) mod qdrant;
pub(crate) mod s3;
pub(crate) mod sqs;

use std::net::{Ipv4Addr, SocketAddr};

use s3s::crypto::{Checksum, Md5};
use tokio::net::TcpListener;

/// The region everything claims to be in.
pub(crate) const REGION: &str = "us-east-1";
/// The account everything claims to belong to.
pub(crate) const ACCOUNT: &str = "123456789012";
/// The credentials that the services accept: those of whoever made them. A function has a key of its own.
pub(crate) const ACCESS_KEY: &str = "local-cloud";
/// See [`ACCESS_KEY`].
pub(crate) const SECRET_KEY: &str = "local-cloud-secret";

/// The MD5 of bytes in hex: what S3 and SQS name as their check.
fn md5(bytes: &[u8]) -> String {
    let mut hash = Md5::new();
    hash.update(bytes);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An address that this machine alone reaches. Port 0 is any free port.
pub(crate) fn here(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// A listener, with the URL that reaches it from this machine.
pub(crate) async fn listen(address: SocketAddr) -> std::io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind(address).await?;
    let mut bound = listener.local_addr()?;
    if bound.ip().is_unspecified() {
        bound.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    Ok((listener, format!("http://{bound}")))
}
