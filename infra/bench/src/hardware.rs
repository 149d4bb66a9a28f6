//! The machine that the metrics were measured on.

/// Describes the machine in one line: cores, memory, load, and whether this is a release build.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?.split_once(':')?.1;
        Some(line.trim().to_owned())
    };
    let processor = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown processor".into());
    let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_else(|| "unknown memory".into());
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("unknown");
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!("{cores} cores ({processor}), {memory}, load {load}, {profile} build")
}
