//! A limit on the CPU time of processes: a cgroup of Linux (version 2).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Root of the cgroups.
const ROOT: &str = "/sys/fs/cgroup";
/// Time over which the quota counts. A longer one lets a process run in bursts that Lambda would stop.
const PERIOD: Duration = Duration::from_millis(20);

/// A limit on the CPU time that processes share. Dropping it removes the limit once they have exited.
#[derive(Debug)]
pub(crate) struct CpuQuota {
    folder: PathBuf,
}

impl CpuQuota {
    /// Creates a quota of a share of one core, without processes.
    ///
    /// # Errors
    /// The reason, if no cgroup can be created, which usually takes privileges.
    pub(crate) fn create(share: f64) -> Result<Self, String> {
        let membership = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let own = own_cgroup(&membership).ok_or("this system has no cgroups of version 2")?;
        let mut reason = format!("there is no {ROOT}");
        // A cgroup with processes can't limit its children, so those above it are tried too.
        for parent in own.ancestors().filter(|parent| parent.starts_with(ROOT)) {
            match Self::create_in(parent, share) {
                Ok(quota) => return Ok(quota),
                Err(error) => reason = format!("can't limit the CPU in {}: {error}", parent.display()),
            }
        }
        Err(reason)
    }

    fn create_in(parent: &Path, share: f64) -> std::io::Result<Self> {
        let folder = parent.join(format!("aptix-bench-{}", std::process::id()));
        fs::create_dir(&folder)?;
        // Removes the folder again if the rest fails.
        let quota = Self { folder };
        let limit = quota.folder.join("cpu.max");
        if !limit.exists() {
            fs::write(parent.join("cgroup.subtree_control"), "+cpu")?;
        }
        fs::write(limit, limit_text(share))?;
        Ok(quota)
    }

    /// Puts a process under the quota.
    ///
    /// # Errors
    /// The reason, if the process may not be moved.
    pub(crate) fn add(&self, process: u32) -> Result<(), String> {
        let moved = fs::write(self.folder.join("cgroup.procs"), process.to_string());
        moved.map_err(|error| {
            format!("can't move the process {process} to {}: {error}", self.folder.display())
        })
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        // Fails if a process still runs. The empty cgroup then stays, which limits nobody.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Returns the folder of this process's cgroup.
fn own_cgroup(membership: &str) -> Option<PathBuf> {
    let path = membership.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(Path::new(ROOT).join(path.trim_start_matches('/')))
}

/// Returns the text of `cpu.max`: the time within a period, and the period.
fn limit_text(share: f64) -> String {
    format!("{} {}", PERIOD.mul_f64(share).as_micros(), PERIOD.as_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quota_is_a_share_of_each_period() {
        assert_eq!(limit_text(256.0 / 1_769.0), "2894 20000");
    }

    #[test]
    fn own_cgroup_is_that_of_version_2() {
        let found = |text| own_cgroup(text).map(|path| path.display().to_string());
        assert_eq!(found("1:cpu:/old\n0::/user.slice/a\n").as_deref(), Some("/sys/fs/cgroup/user.slice/a"));
        assert_eq!(found("0::/\n").as_deref(), Some("/sys/fs/cgroup/"));
        assert_eq!(found("1:cpu:/old\n"), None);
    }
}
