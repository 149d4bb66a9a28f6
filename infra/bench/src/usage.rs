//! Resource usage of processes, as Linux reports it. On other systems nothing is reported.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Duration of a clock tick, the unit of CPU times.
const TICK: Duration = Duration::from_millis(10);

/// Resource usage of one function's processes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// User and system CPU time since their start.
    pub(crate) cpu: Duration,
    /// Peak memory of a single process, in bytes.
    pub(crate) peak: u64,
}

/// Returns the usage of the processes with this variable in their environment, by function name.
pub(crate) fn of_functions(variable: &str) -> BTreeMap<String, Usage> {
    let mut usage: BTreeMap<String, Usage> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        if let Some((function, process)) = process_usage(&entry.path(), variable) {
            let sum = usage.entry(function).or_default();
            sum.cpu += process.cpu;
            sum.peak = sum.peak.max(process.peak);
        }
    }
    usage
}

fn process_usage(folder: &Path, variable: &str) -> Option<(String, Usage)> {
    let read = |file: &str| std::fs::read(folder.join(file)).ok();
    let environment = read("environ")?;
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find(|one| *one == variable.as_bytes())?;
    let arguments = String::from_utf8(read("cmdline")?).ok()?;
    let mut arguments = arguments.split('\0').skip_while(|argument| *argument != "function");
    let function = arguments.nth(1)?.to_owned();
    let stat = String::from_utf8(read("stat")?).ok()?;
    let status = String::from_utf8(read("status")?).ok()?;
    Some((function, Usage { cpu: TICK * cpu_ticks(&stat)?, peak: peak(&status)? }))
}

/// The process name, in parentheses, may contain blanks. User time is the twelfth field after it, and system time the
/// next.
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
    fn process_usage_is_read_from_proc() {
        let stat = "7 (a name (1)) S 1 7 7 0 -1 4194560 900 0 0 0 12 3 0 0 20 0 2 0 99 1000 200";
        assert_eq!(cpu_ticks(stat), Some(15));
        assert_eq!(peak("Name:\taptix\nVmHWM:\t   21504 kB\nVmRSS:\t 1 kB\n"), Some(21_504 * 1024));
        assert_eq!((cpu_ticks("7 (a) S 1"), peak("Name:\taptix\n")), (None, None));
    }
}
