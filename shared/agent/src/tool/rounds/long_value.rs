//! Long values, which are also files of their turn.

use contracts::FileAddress;

/// Maximum size of a value that is stored only inline, in bytes. A longer one is also stored as a file of its turn if
/// `ModelCallInfo::has_long_values` is set.
pub const MAX_INLINE_VALUE_BYTES: usize = 16 << 10;

/// Returns the address of the file with a long value.
pub(super) fn long_value_address(value: &str) -> Option<FileAddress> {
    (value.len() > MAX_INLINE_VALUE_BYTES).then(|| FileAddress::hash_bytes(value.as_bytes()))
}
