//! The three checksums of S3, in place of the `crc-fast` crate on crates.io.
//!
//! The original supports about a hundred checksums, and its tables take 0.65 MB of each function's zip. This one has only
//! the API that its two users call, the AWS SDK and the local S3: CRC32 by `crc32fast`, the other two by `crc`
//! (docs/internals/decisions/0019-small-programs.md).

use crc::{CRC_32_ISCSI, CRC_64_NVME, Crc};

static ISCSI: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
static NVME: Crc<u64> = Crc::<u64>::new(&CRC_64_NVME);

/// A checksum, by its name in the catalogue of parametrised CRC algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrcAlgorithm {
    /// `CRC32` of S3.
    Crc32IsoHdlc,
    /// `CRC32C` of S3.
    Crc32Iscsi,
    /// `CRC64NVME` of S3.
    Crc64Nvme,
}

/// A checksum of data in chunks.
#[derive(Clone)]
pub struct Digest(State);

#[derive(Clone)]
enum State {
    IsoHdlc(crc32fast::Hasher),
    Iscsi(crc::Digest<'static, u32>),
    Nvme(crc::Digest<'static, u64>),
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Digest").finish_non_exhaustive()
    }
}

impl Digest {
    /// Creates the checksum of no data.
    #[must_use]
    pub fn new(algorithm: CrcAlgorithm) -> Self {
        Self(match algorithm {
            CrcAlgorithm::Crc32IsoHdlc => State::IsoHdlc(crc32fast::Hasher::new()),
            CrcAlgorithm::Crc32Iscsi => State::Iscsi(ISCSI.digest()),
            CrcAlgorithm::Crc64Nvme => State::Nvme(NVME.digest()),
        })
    }

    /// Adds a chunk.
    pub fn update(&mut self, data: &[u8]) {
        match &mut self.0 {
            State::IsoHdlc(hasher) => hasher.update(data),
            State::Iscsi(digest) => digest.update(data),
            State::Nvme(digest) => digest.update(data),
        }
    }

    /// Returns the checksum of all chunks.
    #[must_use]
    pub fn finalize(self) -> u64 {
        match self.0 {
            State::IsoHdlc(hasher) => hasher.finalize().into(),
            State::Iscsi(digest) => digest.finalize().into(),
            State::Nvme(digest) => digest.finalize(),
        }
    }
}

/// Returns the checksum of `data`.
#[must_use]
pub fn checksum(algorithm: CrcAlgorithm, data: &[u8]) -> u64 {
    let mut digest = Digest::new(algorithm);
    digest.update(data);
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_match_the_catalogue_for_any_chunking() {
        let expected = [
            (CrcAlgorithm::Crc32IsoHdlc, 0xcbf4_3926),
            (CrcAlgorithm::Crc32Iscsi, 0xe306_9283),
            (CrcAlgorithm::Crc64Nvme, 0xae8b_1486_0a79_9888),
        ];
        for (algorithm, expected) in expected {
            assert_eq!(checksum(algorithm, b"123456789"), expected, "{algorithm:?}");
            let mut digest = Digest::new(algorithm);
            digest.update(b"1234");
            digest.update(b"");
            digest.update(b"56789");
            assert_eq!(digest.finalize(), expected, "{algorithm:?}");
        }
    }
}
