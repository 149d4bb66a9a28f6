//! Dependencies between crates point one way, as docs/internals/architecture.md draws them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// The crates that each crate may depend on. A new crate has to be added here.
const ALLOWED: &[(&str, &[&str])] = &[
    ("contracts", &[]),
    ("openapi", &["contracts"]),
    ("settings", &[]),
    ("tls", &[]),
    ("protocol", &["contracts"]),
    ("agent", &["contracts", "protocol"]),
    ("turns", &["contracts", "protocol", "agent"]),
    ("storage", &["contracts", "protocol", "agent", "turns", "settings", "tls"]),
    ("llm", &["contracts", "agent", "tls"]),
    ("retrieval", &["contracts", "protocol", "agent", "turns", "llm", "tls"]),
    ("testkit", &["contracts", "protocol", "agent", "turns"]),
    ("indexing", &["contracts", "agent", "llm", "retrieval"]),
    ("runtime", &["contracts", "protocol", "settings", "tls"]),
    (
        "service",
        &["contracts", "protocol", "agent", "turns", "storage", "llm", "retrieval", "runtime", "settings"],
    ),
    ("mock-model", &[]),
    ("execute", &["contracts", "runtime", "service"]),
    ("tool-continuation", &["contracts", "runtime", "service"]),
    ("session-read", &["contracts", "protocol", "turns", "storage", "runtime", "service", "settings"]),
    ("turn-finalizer", &["contracts", "protocol", "turns", "storage", "runtime", "service", "settings"]),
    ("authorizer", &["contracts", "runtime", "settings", "tls"]),
    (
        "local",
        &[
            "contracts",
            "protocol",
            "agent",
            "turns",
            "storage",
            "llm",
            "retrieval",
            "indexing",
            "execute",
            "tool-continuation",
            "session-read",
            "turn-finalizer",
            "authorizer",
            "mock-model",
            "openapi",
            "settings",
        ],
    ),
    ("client", &[]),
    ("aptix", &["client", "contracts", "llm", "indexing", "local", "mock-model", "openapi", "settings"]),
];

/// Libraries that only these crates may use.
const RESERVED: &[(&str, &[&str])] = &[
    ("aws-sdk-dynamodb", &["storage", "local"]),
    ("aws-sdk-s3", &["storage", "local"]),
    ("aws-sdk-sqs", &["storage", "local"]),
    ("aws-sdk-secretsmanager", &["storage"]),
    ("reqwest", &["llm", "retrieval", "storage", "runtime", "authorizer", "client", "local"]),
    ("qdrant-client", &["retrieval", "indexing"]),
];

/// The modules of `service` that functions without a model may use.
const WITHOUT_MODEL: &[(&str, &[&str])] =
    &[("session-read", &["session_index"]), ("turn-finalizer", &["providers", "session_index"])];

#[test]
fn crates_depend_only_on_allowed_crates() {
    let crates = dependencies();
    for (name, dependencies) in &crates {
        let (_, allowed) = ALLOWED
            .iter()
            .find(|(allowed, _)| allowed == name)
            .unwrap_or_else(|| panic!("add the new crate {name} to ALLOWED"));
        for dependency in dependencies.iter().filter(|dependency| crates.contains_key(*dependency)) {
            assert!(allowed.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
        }
        for (library, users) in RESERVED {
            let used = dependencies.iter().any(|dependency| dependency == library);
            assert!(!used || users.contains(&name.as_str()), "{name} must not use {library}");
        }
    }
}

#[test]
fn functions_without_a_model_use_only_their_part_of_service() {
    for (name, folder) in crates() {
        let Some((_, allowed)) = WITHOUT_MODEL.iter().find(|(function, _)| *function == name) else {
            continue;
        };
        for file in sources(&folder.join("src")) {
            for module in taken_from(&fs::read_to_string(file).unwrap(), "service::") {
                assert!(allowed.contains(&module.as_str()), "{name} must not use service::{module}");
            }
        }
    }
}

/// Returns the normal dependencies of every package of the workspace.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let named = |value: &Value| value["name"].as_str().unwrap().to_owned();
    packages
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            (
                named(package),
                dependencies.filter(|dependency| dependency["kind"].is_null()).map(named).collect(),
            )
        })
        .collect()
}

fn metadata() -> Value {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo metadata runs");
    serde_json::from_slice(&metadata.stdout).expect("metadata is JSON")
}

/// Modules of a crate, and the flows of the engine, depend on each other in one direction.
#[test]
fn modules_of_a_crate_form_no_circle() {
    for (name, folder) in crates() {
        assert_no_circle(&name, &folder.join("src"), "crate::");
        if name == "turns" {
            assert_no_circle("turns::flow", &folder.join("src/flow"), "crate::flow::");
        }
    }
}

fn assert_no_circle(name: &str, folder: &Path, prefix: &str) {
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in sources(folder) {
        let module = module_of(folder, &file);
        // The crate's own list of modules is no dependency; tests look at everything.
        if ["lib", "main", "mod"].contains(&module.as_str()) || file.ends_with("tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let taken = modules.entry(module.clone()).or_default();
        taken.extend(taken_from(code, prefix).into_iter().filter(|other| *other != module));
    }
    let known: BTreeSet<String> = modules.keys().cloned().collect();
    // Take away what depends on nothing that is left, again and again: what stays is a circle.
    let mut left: BTreeMap<String, BTreeSet<String>> = modules
        .into_iter()
        .map(|(module, taken)| (module, taken.intersection(&known).cloned().collect()))
        .collect();
    loop {
        let free: Vec<String> =
            left.iter().filter(|(_, taken)| taken.is_empty()).map(|(module, _)| module.clone()).collect();
        if free.is_empty() {
            break;
        }
        left.retain(|module, _| !free.contains(module));
        left.values_mut().for_each(|taken| taken.retain(|other| !free.contains(other)));
    }
    assert!(left.is_empty(), "a circle in {name}: {left:?}");
}

/// The modules that a file names after `prefix`, in paths and in the first level of braces.
fn taken_from(code: &str, prefix: &str) -> BTreeSet<String> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut taken = BTreeSet::new();
    for (at, _) in code.match_indices(prefix) {
        let rest = &code[at + prefix.len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let (mut depth, mut word) = (0, String::new());
            for c in list.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        taken.insert(first_word(&word));
                        word.clear();
                        continue;
                    }
                    _ => {}
                }
                word.push(c);
            }
            taken.insert(first_word(&word));
            taken.remove("");
        } else {
            taken.insert(first_word(rest));
        }
    }
    taken
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The child of `folder` that a file belongs to.
fn module_of(folder: &Path, file: &Path) -> String {
    let first = file.strip_prefix(folder).unwrap().components().next().unwrap();
    Path::new(first.as_os_str()).file_stem().unwrap().to_string_lossy().into_owned()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Every crate of the workspace, with its folder.
fn crates() -> Vec<(String, PathBuf)> {
    let packages = metadata()["packages"].as_array().unwrap().clone();
    let folder =
        |package: &Value| Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned();
    packages.iter().map(|package| (package["name"].as_str().unwrap().to_owned(), folder(package))).collect()
}
