//! Signatures of thinking, which can be checked without memory. Two APIs have them.

use sha2::{Digest, Sha256};

/// Returns the signature of a thought.
#[must_use]
pub fn sign(thinking: &str) -> String {
    let digest = Sha256::digest(format!("scripted thinking {thinking}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
