//! How many files this process may have open: its soft limit is often 1,024 and far below its hard one.
//!
//! Every connection is one, and a few hundred clients at once have as many to the gateway, to the Runtime
//! API and to the stores each.

/// More than this is never needed, and some systems name a hard limit that they refuse.
const ENOUGH: u64 = 65_536;

/// Raises the soft limit as far as the hard one allows. Functions inherit it.
pub(crate) fn allow_most() {
    // With fewer the local cloud works all the same, for fewer clients.
    let _ = rlimit::increase_nofile_limit(ENOUGH);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_soft_limit_becomes_the_hard_one_or_enough() {
        allow_most();
        let (soft, hard) = rlimit::Resource::NOFILE.get().unwrap();
        assert!(soft >= hard.min(ENOUGH), "{soft} of {hard}");
    }
}
