//! The checksum that S3 and SQS use.

use s3s::crypto::{Checksum, Md5};

/// Returns the MD5 of bytes in hex.
pub(super) fn md5(bytes: &[u8]) -> String {
    let mut hash = Md5::new();
    hash.update(bytes);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
