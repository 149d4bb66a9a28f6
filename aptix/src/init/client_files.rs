//! The client that a project depends on, as a folder of the project. No registry has it, and this copy has the version of the
//! program.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::template::Language;

/// Folder of the client in the project.
const FOLDER: &str = "vendor/aptix";

/// Embeds files of a client together with their paths.
macro_rules! files {
    ($folder:literal, $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../clients/", $folder, "/", $path)))),*]
    };
}

const PYTHON: &[(&str, &str)] = files![
    "python",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "pyproject.toml",
    "src/aptix/__init__.py",
    "src/aptix/_approvals.py",
    "src/aptix/_client.py",
    "src/aptix/_follow.py",
    "src/aptix/_http.py",
    "src/aptix/_paths.py",
    "src/aptix/_queue.py",
    "src/aptix/_request.py",
    "src/aptix/_retry.py",
    "src/aptix/_run_tools.py",
    "src/aptix/_session.py",
    "src/aptix/_sse.py",
    "src/aptix/_sync.py",
    "src/aptix/_threads.py",
    "src/aptix/_turn.py",
    "src/aptix/errors.py",
    "src/aptix/events.py",
    "src/aptix/langchain.py",
    "src/aptix/options.py",
    "src/aptix/py.typed",
    "src/aptix/pydantic_ai.py",
    "src/aptix/resume_store.py",
    "src/aptix/testing.py",
    "src/aptix/tools.py",
    "src/aptix/wire/__init__.py",
    "src/aptix/wire/_base.py",
    "src/aptix/wire/answers.py",
    "src/aptix/wire/approvals.py",
    "src/aptix/wire/budgets.py",
    "src/aptix/wire/sessions.py",
    "src/aptix/wire/turns.py",
];

const JAVASCRIPT: &[(&str, &str)] = files![
    "javascript",
    "README.md",
    "package.json",
    "src/ai-sdk.js",
    "src/approvals.js",
    "src/assistant-ui.js",
    "src/errors.js",
    "src/events.js",
    "src/follow.js",
    "src/http.js",
    "src/id.js",
    "src/index.js",
    "src/patch.js",
    "src/paths.js",
    "src/queue.js",
    "src/request.js",
    "src/resume-store.js",
    "src/retry.js",
    "src/session.js",
    "src/sse.js",
    "src/testing.js",
    "src/tools.js",
    "src/turn.js",
    "src/wire.js",
];

/// Writes the client of a language into a project.
pub(super) fn write(project: &Path, language: Language) -> std::io::Result<()> {
    for (path, text) in of(language) {
        let file = project.join(FOLDER).join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        match *path {
            "package.json" => fs::write(&file, installable(text))?,
            _ => fs::write(&file, text)?,
        }
    }
    Ok(())
}

const fn of(language: Language) -> &'static [(&'static str, &'static str)] {
    match language {
        Language::Python => PYTHON,
        Language::Javascript => JAVASCRIPT,
    }
}

/// Removes what only the client's own checkout has: its scripts, their packages, and types, which a script makes.
fn installable(package: &str) -> String {
    let Ok(mut package) = serde_json::from_str::<Value>(package) else { return package.to_owned() };
    if let Some(members) = package.as_object_mut() {
        for name in ["scripts", "devDependencies", "files"] {
            members.remove(name);
        }
    }
    let exports = package.get_mut("exports").and_then(Value::as_object_mut);
    for conditions in
        exports.into_iter().flat_map(|exports| exports.values_mut()).filter_map(Value::as_object_mut)
    {
        conditions.remove("types");
    }
    format!("{package:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_file_of_a_client_is_embedded() {
        for (language, folder) in [(Language::Python, "python"), (Language::Javascript, "javascript")] {
            let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients").join(folder);
            let mut pending = vec![client.join("src")];
            while let Some(folder) = pending.pop() {
                for entry in fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    let name = path.strip_prefix(&client).unwrap().to_str().unwrap().replace('\\', "/");
                    if path.is_dir() {
                        pending.push(path);
                    } else if !name.contains("__pycache__") {
                        assert!(of(language).iter().any(|(path, _)| *path == name), "{name} isn't embedded");
                    }
                }
            }
        }
    }
}
