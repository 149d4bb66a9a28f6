//! The services that the functions use, as servers on this machine that speak the real wire protocols.
//!
//! The functions use the regular AWS SDK and Qdrant client, and can't tell the difference.

pub(crate) mod dynamodb;
pub(crate) mod provision;
pub(crate) mod qdrant;
pub(crate) mod s3;
pub(crate) mod sqs;

use std::net::{Ipv4Addr, SocketAddr};

use s3s::crypto::{Checksum, Md5};
use tokio::net::TcpListener;

/// AWS region of every service.
pub(crate) const REGION: &str = "us-east-1";
/// AWS account of every service.
pub(crate) const ACCOUNT: &str = "123456789012";
/// Access key that the services accept from the local cloud and its commands. Each function has a key of its own.
pub(crate) const ACCESS_KEY: &str = "local-cloud";
/// Secret that belongs to [`ACCESS_KEY`].
pub(crate) const SECRET_KEY: &str = "local-cloud-secret";

/// Returns the MD5 of bytes in hex, which S3 and SQS use as a checksum.
fn md5(bytes: &[u8]) -> String {
    let mut hash = Md5::new();
    hash.update(bytes);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a loopback address. Port 0 picks a free port.
pub(crate) fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Opens a listener. Returns it with its URL on this machine.
pub(crate) async fn listen(address: SocketAddr) -> std::io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind(address).await?;
    let mut bound = listener.local_addr()?;
    if bound.ip().is_unspecified() {
        bound.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    Ok((listener, format!("http://{bound}")))
}
