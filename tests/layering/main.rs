//! Dependencies between crates and between modules point one way, as docs/internals/architecture.md draws them, and
//! files are short.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

mod features;
mod graph;
mod source;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use graph::Graph;
use serde_json::Value;
use source::{code, modules, paths_from, rust_files};

/// The longest Rust file, in lines.
const MAX_LINES: usize = 800;

/// The crates that each crate may depend on. A new crate has to be added here.
const ALLOWED: &[(&str, &[&str])] = &[
    ("contracts", &[]),
    ("openapi", &["contracts"]),
    ("settings", &[]),
    ("sigv4", &[]),
    ("tls", &[]),
    ("egress", &["tls"]),
    ("breaker", &["contracts"]),
    ("protocol", &["contracts"]),
    ("agent", &["contracts", "protocol"]),
    ("turns", &["contracts", "protocol", "agent"]),
    ("knowledge", &["contracts", "protocol", "agent", "turns"]),
    ("storage", &["contracts", "protocol", "agent", "turns", "knowledge", "settings", "tls"]),
    ("llm", &["contracts", "agent", "breaker", "sigv4", "tls"]),
    ("remote-tools", &["contracts", "protocol", "agent", "breaker", "egress", "mcp-client", "sigv4", "tls"]),
    ("retrieval", &["contracts", "protocol", "agent", "turns", "breaker", "llm", "tls"]),
    ("testkit", &["contracts", "protocol", "agent", "turns"]),
    ("indexing", &["contracts", "agent", "llm", "retrieval"]),
    ("runtime", &["contracts", "protocol", "settings", "tls"]),
    (
        "service",
        &[
            "contracts",
            "protocol",
            "agent",
            "turns",
            "knowledge",
            "storage",
            "breaker",
            "egress",
            "llm",
            "remote-tools",
            "retrieval",
            "runtime",
            "settings",
            "sigv4",
        ],
    ),
    ("histories", &["contracts", "protocol", "agent", "turns", "runtime"]),
    ("fronts", &["contracts", "agent", "turns", "runtime"]),
    ("openai-api", &["contracts", "protocol", "agent", "turns", "runtime", "histories", "fronts"]),
    ("anthropic-api", &["contracts", "agent", "turns", "runtime", "histories", "fronts"]),
    ("mcp-api", &["contracts", "runtime", "histories", "fronts"]),
    ("ag-ui-api", &["contracts", "protocol", "agent", "turns", "runtime", "histories", "fronts"]),
    ("mcp-client", &[]),
    ("mock-model", &[]),
    ("mock-wires", &["mock-model"]),
    (
        "execute",
        &[
            "contracts",
            "protocol",
            "agent",
            "turns",
            "knowledge",
            "runtime",
            "service",
            "histories",
            "fronts",
            "openai-api",
            "anthropic-api",
            "mcp-api",
            "ag-ui-api",
        ],
    ),
    ("tool-continuation", &["contracts", "runtime", "service"]),
    (
        "session-read",
        &[
            "contracts",
            "protocol",
            "agent",
            "turns",
            "knowledge",
            "storage",
            "runtime",
            "service",
            "settings",
            "fronts",
            "openai-api",
            "anthropic-api",
            "mcp-api",
            "ag-ui-api",
        ],
    ),
    ("turn-finalizer", &["contracts", "protocol", "turns", "storage", "runtime", "service", "settings"]),
    (
        "knowledge-indexer",
        &[
            "contracts",
            "protocol",
            "turns",
            "knowledge",
            "retrieval",
            "indexing",
            "storage",
            "runtime",
            "service",
            "settings",
        ],
    ),
    ("authorizer", &["contracts", "runtime", "settings", "storage", "tls", "turns"]),
    (
        "local",
        &[
            "contracts",
            "protocol",
            "agent",
            "turns",
            "knowledge",
            "storage",
            "llm",
            "retrieval",
            "indexing",
            "execute",
            "tool-continuation",
            "session-read",
            "turn-finalizer",
            "knowledge-indexer",
            "authorizer",
            "mcp-api",
            "mock-model",
            "openai-api",
            "openapi",
            "runtime",
            "service",
            "settings",
            "sigv4",
        ],
    ),
    ("deployment", &["sigv4", "storage", "tls"]),
    ("aptix-client", &[]),
    (
        "aptix",
        &[
            "aptix-client",
            "contracts",
            "deployment",
            "llm",
            "indexing",
            "local",
            "mock-model",
            "openapi",
            "settings",
        ],
    ),
];

/// Libraries that only these crates may use.
const RESERVED: &[(&str, &[&str])] = &[
    ("aws-sdk-dynamodb", &["storage", "local"]),
    ("aws-sdk-s3", &["storage", "local"]),
    ("aws-sdk-sqs", &["storage", "local"]),
    ("aws-sdk-secretsmanager", &["storage"]),
    // `storage`, `aptix` and `deployment` know where credentials come from. `llm` and `deployment` sign requests that no SDK
    // sends, and `local` verifies those to its services and serves a developer's credentials, all by `sigv4`.
    ("aws-config", &["storage", "deployment", "aptix"]),
    ("aws-credential-types", &["storage", "llm", "deployment", "local", "sigv4"]),
    ("aws-sigv4", &["sigv4"]),
    ("aws-smithy-eventstream", &["llm", "mock-wires"]),
    (
        "reqwest",
        &[
            "llm",
            "mcp-client",
            "remote-tools",
            "retrieval",
            "storage",
            "runtime",
            "authorizer",
            "aptix-client",
            "local",
            "deployment",
            "aptix",
        ],
    ),
    ("qdrant-client", &["retrieval", "indexing"]),
];

/// The modules of `service` that functions may use that run no turns.
const WITHOUT_TURNS: &[(&str, &[&str])] = &[
    ("session-read", &["handlers", "session_index"]),
    ("turn-finalizer", &["connections", "providers", "session_index", "titles", "webhooks"]),
    ("knowledge-indexer", &["providers", "sources"]),
];

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
fn functions_without_turns_use_only_their_part_of_service() {
    for (name, folder) in crates() {
        let Some((_, allowed)) = WITHOUT_TURNS.iter().find(|(function, _)| *function == name) else {
            continue;
        };
        for file in rust_files(&folder.join("src")) {
            for path in paths_from(&code(&fs::read_to_string(file).unwrap()), "service::") {
                assert!(allowed.contains(&path[1].as_str()), "{name} must not use {}", path.join("::"));
            }
        }
    }
}

/// A patch of a dependency and an optimization level of one package need a gain that a user feels.
#[test]
fn build_has_no_patch_and_at_most_six_levels() {
    let manifest = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")).unwrap();
    let levels = manifest.lines().filter(|line| line.starts_with("opt-level")).count();
    assert!(!manifest.contains("[patch"), "a dependency is patched");
    assert!((1..=6).contains(&levels), "{levels} optimization levels");
}

/// Each target that is built for tests costs time, so those without tests are left out.
#[test]
fn every_target_with_tests_or_examples_is_tested() {
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        for target in package["targets"].as_array().unwrap() {
            let (kind, path) =
                (target["kind"][0].as_str().unwrap(), Path::new(target["src_path"].as_str().unwrap()));
            if !matches!(kind, "lib" | "bin") {
                continue;
            }
            let is_beside_library = kind == "bin" && path.with_file_name("lib.rs").is_file();
            let files =
                if is_beside_library { vec![path.to_owned()] } else { rust_files(path.parent().unwrap()) };
            let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
            let has_tests =
                texts.iter().any(|text| text.contains("#[cfg(test)]") || text.contains("#[test]"));
            assert_eq!(target["test"], has_tests, "`test` of the {kind} of {}", package["name"]);
            if kind == "lib" {
                let has_examples = texts.iter().any(|text| has_examples(text));
                assert_eq!(target["doctest"], has_examples, "`doctest` of {}", package["name"]);
            }
        }
    }
}

/// True if the comments of a source file contain an example that can be run.
fn has_examples(text: &str) -> bool {
    let comments = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("///").or(line.trim_start().strip_prefix("//!")));
    let mut fences = comments.filter_map(|comment| comment.trim().strip_prefix("```"));
    // Every second fence closes a block.
    std::iter::from_fn(|| {
        let language = fences.next()?;
        fences.next();
        Some(language)
    })
    .any(|language| {
        matches!(language.split(',').next(), Some("" | "rust" | "no_run" | "should_panic" | "compile_fail"))
    })
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

/// Sibling modules, at every depth, depend on each other in one direction.
#[test]
fn modules_of_a_crate_form_no_circle() {
    let mut circles = Vec::new();
    for (name, folder) in crates() {
        let found = Graph::new(&modules(&folder.join("src"))).circles();
        circles.extend(found.into_iter().map(|circle| format!("{name}: {}", circle.join(", "))));
    }
    assert!(circles.is_empty(), "circles between modules:\n{}", circles.join("\n"));
}

#[test]
fn files_have_at_most_800_lines() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let files = rust_files(root);
    assert!(files.len() > 500, "only {} files were found", files.len());
    let lines = |file: &Path| fs::read_to_string(file).unwrap().lines().count();
    let long: Vec<String> = files
        .iter()
        .map(|file| (file.strip_prefix(root).unwrap().display(), lines(file)))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(file, lines)| format!("{file}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "split these files:\n{}", long.join("\n"));
}

#[test]
fn names_of_genai_conventions_stand_in_one_file() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let is_source = |file: &PathBuf| !file.components().any(|part| part.as_os_str() == "tests");
    let files: Vec<PathBuf> = rust_files(root)
        .into_iter()
        .filter_map(|file| file.strip_prefix(root).map(Path::to_owned).ok())
        .filter(is_source)
        .filter(|file| fs::read_to_string(root.join(file)).unwrap().contains("gen_ai."))
        .collect();
    assert_eq!(files, [Path::new("shared/contracts/src/gen_ai.rs")]);
}

/// Returns the circles of a crate that consists of these modules.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let path = |name: &str| name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
    Graph::new(&files.iter().map(|(name, text)| (path(name), code(text))).collect()).circles()
}

#[test]
fn nested_circle_is_found() {
    let direct = [
        ("", "mod a;"),
        ("a", "mod b;\nmod c;\nmod d;"),
        ("a::b", "use super::c::Thing;"),
        ("a::c", "fn call() { crate::a::d::call(); }"),
        ("a::d", "use super::super::{a::{b::deep::Other, e}, Root};"),
        ("a::b::deep", ""),
    ];
    let uses = ["a::b uses super::c::Thing", "a::c uses crate::a::d::call"];
    let [circle] = &circles_of(&direct)[..] else { panic!("{:?}", circles_of(&direct)) };
    assert_eq!(circle[..2], uses);
    assert_eq!(circle[2], "a::d uses super::super::a::b::deep::Other");
    assert_eq!(circles_of(&direct[..4]), Vec::<Vec<String>>::new());
}

#[test]
fn circle_through_a_reexport_is_found() {
    let files = [
        ("", "mod a;\nmod b;"),
        ("a", "mod inner;\npub use inner::Thing as Renamed;"),
        ("a::inner", "use crate::b;"),
        ("b", "pub fn call(_: crate::a::Renamed) {}"),
    ];
    assert_eq!(circles_of(&files), [["a::inner uses crate::b", "b uses crate::a::Renamed"]]);
    let siblings = [
        ("", "mod one;\nmod two;\nuse one::{Thing, other};"),
        ("one", "use super::two;"),
        ("two", "use super::Thing;"),
    ];
    assert_eq!(circles_of(&siblings), [["one uses super::two", "two uses super::Thing"]]);
}

#[test]
fn comments_literals_tests_and_parents_form_no_circle() {
    let files = [
        ("", "mod a;\nmod b;\n#[cfg(test)]\nmod tests;"),
        ("a", "use crate::b::Thing;\nmod child;\nfn call<'a>(_: &'a str) { child::call('{', '\\''); }"),
        ("a::child", "use super::Parent;"),
        (
            "b",
            "/* super::a /* nested */ */ // crate::a\nconst TEXT: &str = \"\\\"crate::a\";\nconst RAW: &str = r#\"super::a\"#;",
        ),
        (
            "b::c",
            "#[cfg(test)]\nuse crate::a::X;\n#[cfg(test)]\nmod tests { fn f() { crate::a::call() } }\npub(in crate::a) struct S;",
        ),
    ];
    assert_eq!(circles_of(&files), Vec::<Vec<String>>::new());
}

/// Every crate of the workspace, with its folder.
fn crates() -> Vec<(String, PathBuf)> {
    let packages = metadata()["packages"].as_array().unwrap().clone();
    let folder =
        |package: &Value| Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned();
    packages.iter().map(|package| (package["name"].as_str().unwrap().to_owned(), folder(package))).collect()
}
