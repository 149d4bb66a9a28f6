//! The three checksums of S3, in place of the `crc-fast` of crates.io for what asks it for no others: the SDK and the local S3.
//!
//! That one knows a hundred, and its tables are 0.65 MB of each function's zip. This one is what those two call of it: the
//! sum of what is stored by `crc32fast`, the two that S3 has besides by `crc` (docs/decisions/0019-small-programs.md).

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

/// A checksum of what comes in pieces.
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
    /// The checksum of nothing yet.
    #[must_use]
    pub fn new(algorithm: CrcAlgorithm) -> Self {
        Self(match algorithm {
            CrcAlgorithm::Crc32IsoHdlc => State::IsoHdlc(crc32fast::Hasher::new()),
            CrcAlgorithm::Crc32Iscsi => State::Iscsi(ISCSI.digest()),
            CrcAlgorithm::Crc64Nvme => State::Nvme(NVME.digest()),
        })
    }

    /// Takes the next piece.
    pub fn update(&mut self, data: &[u8]) {
        match &mut self.0 {
            State::IsoHdlc(hasher) => hasher.update(data),
            State::Iscsi(digest) => digest.update(data),
            State::Nvme(digest) => digest.update(data),
        }
    }

    /// The checksum of all pieces.
    #[must_use]
    pub fn finalize(self) -> u64 {
        match self.0 {
            State::IsoHdlc(hasher) => hasher.finalize().into(),
            State::Iscsi(digest) => digest.finalize().into(),
            State::Nvme(digest) => digest.finalize(),
        }
    }
}

/// The checksum of a whole.
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
    fn the_checksums_are_those_of_the_catalogue_in_whatever_pieces() {
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
