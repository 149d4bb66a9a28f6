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
    /// Peak resident memory of a single process, in bytes.
    pub(crate) peak: u64,
    /// Resident memory of the largest process, in bytes.
    pub(crate) resident: u64,
}

/// A process of a function.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) function: String,
    pub(crate) usage: Usage,
}

/// Returns the usage of the processes with this variable in their environment, by function name.
pub(crate) fn of_functions(variable: &str) -> BTreeMap<String, Usage> {
    let mut usage: BTreeMap<String, Usage> = BTreeMap::new();
    for process in processes(variable) {
        let sum = usage.entry(process.function).or_default();
        sum.cpu += process.usage.cpu;
        sum.peak = sum.peak.max(process.usage.peak);
        sum.resident = sum.resident.max(process.usage.resident);
    }
    usage
}

/// Returns the processes of functions with this variable in their environment.
pub(crate) fn processes(variable: &str) -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| process(&entry.path(), variable)).collect()
}

fn process(folder: &Path, variable: &str) -> Option<Process> {
    let id = folder.file_name()?.to_str()?.parse().ok()?;
    let read = |file: &str| std::fs::read(folder.join(file)).ok();
    let environment = read("environ")?;
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find(|one| *one == variable.as_bytes())?;
    let arguments = String::from_utf8(read("cmdline")?).ok()?;
    let mut arguments = arguments.split('\0').skip_while(|argument| *argument != "function");
    let function = arguments.nth(1)?.to_owned();
    let stat = String::from_utf8(read("stat")?).ok()?;
    let status = String::from_utf8(read("status")?).ok()?;
    let (peak, resident) = (memory(&status, "VmHWM:")?, memory(&status, "VmRSS:")?);
    Some(Process { id, function, usage: Usage { cpu: TICK * cpu_ticks(&stat)?, peak, resident } })
}

/// The process name, in parentheses, may contain blanks. User time is the twelfth field after it, and system time the
/// next.
fn cpu_ticks(stat: &str) -> Option<u32> {
    let mut fields = stat.rsplit_once(") ")?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u32>().ok()? + fields.next()?.parse::<u32>().ok()?)
}

/// Returns an amount of memory in bytes.
fn memory(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_usage_is_read_from_proc() {
        let stat = "7 (a name (1)) S 1 7 7 0 -1 4194560 900 0 0 0 12 3 0 0 20 0 2 0 99 1000 200";
        assert_eq!(cpu_ticks(stat), Some(15));
        let status = "Name:\taptix\nVmHWM:\t   21504 kB\nVmRSS:\t 1 kB\n";
        assert_eq!((memory(status, "VmHWM:"), memory(status, "VmRSS:")), (Some(21_504 * 1024), Some(1024)));
        assert_eq!((cpu_ticks("7 (a) S 1"), memory("Name:\taptix\n", "VmHWM:")), (None, None));
    }
}
