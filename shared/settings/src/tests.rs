use std::{collections::BTreeSet, time::Duration};

use crate::*;

/// How the Lambda service starts a process.
const BEGUN: (&str, &str) = ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand");

fn faults(env: Env) -> Vec<String> {
    env.finish().err().map(|invalid| invalid.faults().to_vec()).unwrap_or_default()
}

#[test]
fn the_page_is_what_the_list_says() {
    let committed = include_str!("../../../docs/settings.md");
    assert_eq!(committed, page(), "run `cargo run -p aptix -- settings > docs/settings.md`");
}

#[test]
fn each_setting_is_listed_once_and_its_default_keeps_its_rule() {
    let mut names = BTreeSet::new();
    for setting in ALL.iter().flat_map(|(_, settings)| *settings) {
        assert!(names.insert(setting.name()), "{} is there twice", setting.name());
        assert!(setting.has_a_right_default(), "{}: {}", setting.name(), setting.absent());
        assert!(!setting.readers().is_empty(), "{}", setting.name());
    }
    assert!(names.len() > 40, "{}", names.len());
}

#[test]
fn everything_that_is_wrong_is_named_at_once_with_its_rule() {
    let mut env = Env::of([
        ("LEASE_SECONDS", "soon"),
        ("OPENAI_RETRIES", "11"),
        ("OPENAI_CHAIN", "sometimes"),
        ("DIAGNOSTIC_TOOLS", "yes"),
        ("QDRANT_URL", "localhost:6334"),
        ("TOKEN_AUDIENCES", "web,,cli"),
        ("PAYLOAD_BUCKET", "  "),
    ]);
    assert_eq!(env.read(&LEASE_SECONDS), Duration::from_secs(30));
    assert_eq!(env.read(&OPENAI_RETRIES), 2);
    assert_eq!(env.read(&OPENAI_CHAIN), "auto");
    assert!(!env.read(&DIAGNOSTIC_TOOLS));
    assert_eq!(env.read(&QDRANT_URL), None);
    assert!(env.read(&TOKEN_AUDIENCES).is_empty());
    env.read(&PAYLOAD_BUCKET);
    env.read(&TABLE_NAME);
    assert_eq!(
        faults(env),
        [
            "LEASE_SECONDS must be 0.05 to 3600 seconds",
            "OPENAI_RETRIES must be 0 to 10 times",
            "OPENAI_CHAIN must be auto, provider or local",
            "DIAGNOSTIC_TOOLS must be true or false",
            "QDRANT_URL must be an http or https URL",
            "TOKEN_AUDIENCES must be one or more names with a comma between two",
            "PAYLOAD_BUCKET must be set",
            "TABLE_NAME must be set",
        ]
    );
}

#[test]
fn a_value_that_keeps_its_rule_is_read() {
    let mut env = Env::of([
        ("LEASE_SECONDS", "1.5"),
        ("OPENAI_CHAIN", "local"),
        ("DIAGNOSTIC_TOOLS", "true"),
        ("TOKEN_AUDIENCES", "web, cli"),
        ("EMBEDDING_DIMENSIONS", "256"),
        ("FINALIZE_QUEUE_URL", "http://127.0.0.1:9324/queue"),
    ]);
    assert_eq!(env.read(&LEASE_SECONDS), Duration::from_millis(1_500));
    assert_eq!(env.read(&OPENAI_CHAIN), "local");
    assert!(env.read(&DIAGNOSTIC_TOOLS));
    assert_eq!(env.read(&TOKEN_AUDIENCES), ["web", "cli"]);
    assert_eq!(env.read(&EMBEDDING_DIMENSIONS), Some(256));
    assert_eq!(env.read(&FINALIZE_QUEUE_URL), "http://127.0.0.1:9324/queue");
    assert_eq!(env.read(&EMBEDDING_BASE_URL), None);
    assert_eq!(faults(env), Vec::<String>::new());
}

#[test]
fn every_setting_of_a_developer_is_refused_on_aws() {
    fn read<K: Kind, A: Absent>(env: &mut Env, setting: &Setting<K, A>) -> Option<&'static str> {
        env.read(setting);
        Some(setting.name)
    }
    let of_developers: BTreeSet<_> = ALL
        .iter()
        .flat_map(|(_, settings)| *settings)
        .filter(|setting| setting.given() == Given::Developer)
        .map(|setting| setting.name())
        .collect();
    let mut env = Env::of(of_developers.iter().map(|name| (*name, "true")).chain([BEGUN]));
    let read: BTreeSet<_> = [
        read(&mut env, &BUFFERED_RESPONSES),
        read(&mut env, &DEVELOPMENT_CLAIMS),
        read(&mut env, &DIAGNOSTIC_TOOLS),
        read(&mut env, &EMBEDDING_API_KEY),
        read(&mut env, &OPENAI_API_KEY),
        read(&mut env, &QDRANT_API_KEY),
    ]
    .into_iter()
    .flatten()
    .collect();
    assert_eq!(read, of_developers);
    let refused = faults(env);
    assert_eq!(refused.len(), of_developers.len(), "{refused:?}");
    assert!(refused.iter().all(|fault| fault.ends_with("refused on AWS")), "{refused:?}");
}

#[test]
fn what_is_for_developers_is_refused_on_aws_alone() {
    let key = ("OPENAI_API_KEY", "sk-1");
    let read = |more: &[(&str, &str)]| {
        let mut env = Env::of([&[BEGUN, key], more].concat());
        env.read(&OPENAI_API_KEY);
        faults(env)
    };
    assert_eq!(read(&[]), ["OPENAI_API_KEY is for a developer's machine, and is refused on AWS"]);
    // An endpoint of the company's own network.
    let inside =
        read(&[("AWS_ENDPOINT_URL_DYNAMODB", "https://vpce-1.dynamodb.us-east-1.vpce.amazonaws.com")]);
    assert_eq!(inside.len(), 1);
    assert_eq!(read(&[("AWS_SAM_LOCAL", "true")]), Vec::<String>::new());
    assert_eq!(read(&[("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:8000")]), Vec::<String>::new());
}
