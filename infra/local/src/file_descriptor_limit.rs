//! The file-descriptor limit of this process. The soft limit is often 1,024, far below the hard one.
//!
//! Every connection takes a descriptor. A few hundred clients at once need as many to the gateway, to the Runtime API
//! and to each store.

/// Upper bound for the soft limit. More is never needed, and some systems report a hard limit that they then refuse.
const MAX_FILES: u64 = 65_536;

/// Raises the soft limit as far as the hard one allows. Functions inherit it.
pub(crate) fn raise() {
    // A failure is not fatal: with fewer descriptors the local cloud serves fewer clients.
    let _ = rlimit::increase_nofile_limit(MAX_FILES);
}

/// Returns the number of files that this process may open, or `None` if the system sets no limit.
pub(crate) fn current() -> Option<usize> {
    #[cfg(unix)]
    {
        usize::try_from(rlimit::Resource::NOFILE.get_soft().ok()?).ok()
    }
    #[cfg(not(unix))]
    {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn soft_limit_rises_to_hard_limit_or_maximum() {
        raise();
        let (soft, hard) = rlimit::Resource::NOFILE.get().unwrap();
        assert!(soft >= hard.min(MAX_FILES), "{soft} of {hard}");
    }
}
