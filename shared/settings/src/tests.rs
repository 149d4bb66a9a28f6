use std::{collections::BTreeSet, time::Duration};

use crate::*;

/// The variable that the Lambda service sets when it starts a process.
const ON_LAMBDA: (&str, &str) = ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand");

fn faults(env: Env) -> Vec<String> {
    env.finish().err().map(|invalid| invalid.faults().to_vec()).unwrap_or_default()
}

#[test]
fn reference_page_is_current() {
    let committed = include_str!("../../../docs/reference/settings.md");
    assert_eq!(committed, page(), "run `cargo run -p aptix -- settings > docs/reference/settings.md`");
}

#[test]
fn settings_are_unique_with_valid_defaults() {
    let mut names = BTreeSet::new();
    for setting in ALL.iter().flat_map(|(_, settings)| *settings) {
        assert!(names.insert(setting.name()), "{} is listed twice", setting.name());
        assert!(setting.has_valid_default(), "{}: {}", setting.name(), setting.when_absent());
        assert!(!setting.readers().is_empty(), "{}", setting.name());
    }
    assert!(names.len() > 40, "{}", names.len());
}

#[test]
fn all_faults_reported_together() {
    let mut env = Env::from_vars([
        ("LEASE_SECONDS", "soon"),
        ("OPENAI_RETRIES", "11"),
        ("CONVERSATION_STATE", "sometimes"),
        ("DIAGNOSTIC_TOOLS", "yes"),
        ("QDRANT_URL", "localhost:6334"),
        ("TOKEN_AUDIENCES", "web,,cli"),
        ("PAYLOAD_BUCKET", "  "),
    ]);
    assert_eq!(env.read(&LEASE_SECONDS), Duration::from_secs(30));
    assert_eq!(env.read(&OPENAI_RETRIES), 2);
    assert_eq!(env.read(&CONVERSATION_STATE), "auto");
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
            "CONVERSATION_STATE must be auto, provider or local",
            "DIAGNOSTIC_TOOLS must be true or false",
            "QDRANT_URL must be an http or https URL",
            "TOKEN_AUDIENCES must be a comma-separated list of names",
            "PAYLOAD_BUCKET must be set",
            "TABLE_NAME must be set",
        ]
    );
}

#[test]
fn valid_values_are_read() {
    let mut env = Env::from_vars([
        ("LEASE_SECONDS", "1.5"),
        ("CONVERSATION_STATE", "local"),
        ("DIAGNOSTIC_TOOLS", "true"),
        ("TOKEN_AUDIENCES", "web, cli"),
        ("EMBEDDING_DIMENSIONS", "256"),
        ("FINALIZE_QUEUE_URL", "http://127.0.0.1:9324/queue"),
    ]);
    assert_eq!(env.read(&LEASE_SECONDS), Duration::from_millis(1_500));
    assert_eq!(env.read(&CONVERSATION_STATE), "local");
    assert!(env.read(&DIAGNOSTIC_TOOLS));
    assert_eq!(env.read(&TOKEN_AUDIENCES), ["web", "cli"]);
    assert_eq!(env.read(&EMBEDDING_DIMENSIONS), Some(256));
    assert_eq!(env.read(&FINALIZE_QUEUE_URL), "http://127.0.0.1:9324/queue");
    assert_eq!(env.read(&EMBEDDING_BASE_URL), None);
    assert_eq!(faults(env), Vec::<String>::new());
}

#[test]
fn developer_settings_refused_on_aws() {
    fn read<K: Kind, A: Presence>(env: &mut Env, setting: &Setting<K, A>) -> Option<&'static str> {
        env.read(setting);
        Some(setting.name)
    }
    let of_developers: BTreeSet<_> = ALL
        .iter()
        .flat_map(|(_, settings)| *settings)
        .filter(|setting| setting.set_by() == SetBy::Developer)
        .map(|setting| setting.name())
        .collect();
    let mut env = Env::from_vars(of_developers.iter().map(|name| (*name, "true")).chain([ON_LAMBDA]));
    let read: BTreeSet<_> = [
        read(&mut env, &AWS_ENDPOINT_URL_LAMBDA),
        read(&mut env, &BUFFERED_RESPONSES),
        read(&mut env, &CONNECTION_OWN_PORTS),
        read(&mut env, &DEVELOPMENT_CLAIMS),
        read(&mut env, &DIAGNOSTIC_TOOLS),
        read(&mut env, &EMBEDDING_API_KEY),
        read(&mut env, &OPENAI_API_KEY),
        read(&mut env, &PROVIDER_CREDENTIALS_URL),
        read(&mut env, &PROVIDER_MESSAGES),
        read(&mut env, &QDRANT_API_KEY),
        read(&mut env, &STORE_RAW_PAYLOADS),
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
fn byte_order_mark_before_a_value_is_ignored() {
    let mut env = Env::from_vars([("MODEL_PROVIDERS", "\u{feff} [] "), ("OPENAI_RETRIES", "\u{feff}3")]);
    assert_eq!((env.read(&MODEL_PROVIDERS).as_deref(), env.read(&OPENAI_RETRIES)), (Some("[]"), 3));
    assert_eq!(faults(env), Vec::<String>::new());
}

#[test]
fn developer_settings_accepted_off_aws() {
    let key = ("OPENAI_API_KEY", "sk-1");
    let read = |more: &[(&str, &str)]| {
        let mut env = Env::from_vars([&[ON_LAMBDA, key], more].concat());
        env.read(&OPENAI_API_KEY);
        faults(env)
    };
    assert_eq!(read(&[]), ["OPENAI_API_KEY is for a developer's machine, and is refused on AWS"]);
    // A VPC endpoint: TLS, so still AWS.
    let inside =
        read(&[("AWS_ENDPOINT_URL_DYNAMODB", "https://vpce-1.dynamodb.us-east-1.vpce.amazonaws.com")]);
    assert_eq!(inside.len(), 1);
    assert_eq!(read(&[("AWS_SAM_LOCAL", "true")]), Vec::<String>::new());
    assert_eq!(read(&[("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:8000")]), Vec::<String>::new());
}
