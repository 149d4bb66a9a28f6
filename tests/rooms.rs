//! Dependencies between rooms point one way (ARCHITECTURE.md).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::{collections::BTreeMap, process::Command};

use serde_json::Value;

/// What each room may depend on. A room that is not named here has to be added on purpose.
const ALLOWED: &[(&str, &[&str])] = &[
    ("contracts", &[]),
    ("protocol", &["contracts"]),
    ("agent", &["contracts", "protocol"]),
    ("turns", &["contracts", "protocol", "agent"]),
    ("storage", &["contracts", "protocol", "agent", "turns"]),
    ("llm", &["contracts", "agent"]),
    ("testkit", &["contracts", "protocol", "agent", "turns"]),
    ("runtime", &["contracts", "protocol"]),
    ("service", &["contracts", "protocol", "agent", "turns", "storage", "llm", "runtime"]),
    ("scripted-model", &[]),
    ("execute", &["contracts", "runtime", "service"]),
    ("tool-continuation", &["contracts", "runtime", "service"]),
    ("session-read", &["contracts", "protocol", "turns", "storage", "runtime"]),
    ("turn-finalizer", &["contracts", "protocol", "turns", "storage", "runtime"]),
    (
        "local",
        &[
            "contracts",
            "protocol",
            "agent",
            "turns",
            "storage",
            "execute",
            "tool-continuation",
            "session-read",
            "turn-finalizer",
            "scripted-model",
        ],
    ),
];

/// What only one room may touch.
const RESERVED: &[(&str, &[&str])] = &[
    ("aws-sdk-dynamodb", &["storage", "local"]),
    ("aws-sdk-s3", &["storage", "local"]),
    ("aws-sdk-sqs", &["storage", "local"]),
    ("aws-sdk-secretsmanager", &["storage"]),
    ("reqwest", &["llm", "local"]),
];

#[test]
fn every_room_depends_on_nothing_but_what_it_may() {
    let rooms = dependencies();
    for (room, dependencies) in &rooms {
        let (_, allowed) =
            ALLOWED.iter().find(|(name, _)| name == room).unwrap_or_else(|| panic!("{room} is new here"));
        for dependency in dependencies.iter().filter(|name| rooms.contains_key(*name)) {
            assert!(allowed.contains(&dependency.as_str()), "{room} must not depend on {dependency}");
        }
        for (library, users) in RESERVED {
            let used = dependencies.iter().any(|dependency| dependency == library);
            assert!(!used || users.contains(&room.as_str()), "{room} must not use {library}");
        }
    }
}

/// The ordinary dependencies of every package of the workspace.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("cargo metadata runs");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("metadata is JSON");
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
