//! What processes used, as the system counts it. Linux tells; elsewhere nothing is known.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The length of a tick of the system's clock, in which it tells CPU time.
const TICK: Duration = Duration::from_millis(10);

/// What the processes of one function used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    /// CPU time, of the user and of the system, since they began.
    pub(super) cpu: Duration,
    /// The most memory that one of them held at once, in bytes.
    pub(super) peak: u64,
}

/// What each function's processes used that have this variable in their environment, by the function's name.
pub(super) fn used(variable: &str) -> BTreeMap<String, Used> {
    let mut used: BTreeMap<String, Used> = BTreeMap::new();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        if let Some((function, of_process)) = of_process(&process.path(), variable) {
            let sum = used.entry(function).or_default();
            sum.cpu += of_process.cpu;
            sum.peak = sum.peak.max(of_process.peak);
        }
    }
    used
}

fn of_process(folder: &Path, variable: &str) -> Option<(String, Used)> {
    let read = |file: &str| std::fs::read(folder.join(file)).ok();
    let environment = read("environ")?;
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find(|one| *one == variable.as_bytes())?;
    let arguments = String::from_utf8(read("cmdline")?).ok()?;
    let mut arguments = arguments.split('\0').skip_while(|argument| *argument != "function");
    let function = arguments.nth(1)?.to_owned();
    let stat = String::from_utf8(read("stat")?).ok()?;
    let status = String::from_utf8(read("status")?).ok()?;
    Some((function, Used { cpu: TICK * cpu_ticks(&stat)?, peak: peak(&status)? }))
}

/// The name, in parentheses, may hold blanks; the time of the user is the twelfth field after it, the system's the next.
fn cpu_ticks(stat: &str) -> Option<u32> {
    let mut fields = stat.rsplit_once(") ")?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u32>().ok()? + fields.next()?.parse::<u32>().ok()?)
}

fn peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_used_is_read_from_what_the_system_says_of_it() {
        let stat = "7 (a name (1)) S 1 7 7 0 -1 4194560 900 0 0 0 12 3 0 0 20 0 2 0 99 1000 200";
        assert_eq!(cpu_ticks(stat), Some(15));
        assert_eq!(peak("Name:\taptix\nVmHWM:\t   21504 kB\nVmRSS:\t 1 kB\n"), Some(21_504 * 1024));
        assert_eq!((cpu_ticks("7 (a) S 1"), peak("Name:\taptix\n")), (None, None));
    }
}
