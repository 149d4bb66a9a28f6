//! `aptix doctor`: an account of AWS over its wire protocols, with a real provider behind it, and what can be wrong with both.

use serde_json::json;

use crate::support::{Account, Facts, System};

#[tokio::test]
async fn sound_deployment_has_no_failed_check() {
    let system = System::start().await;
    let account = Account::start(&system).await;
    let (status, lines) = account.doctor().await;
    assert_eq!(status, Some(0), "{lines:#?}");
    let subjects: Vec<&str> = lines.iter().map(|line| line[8..].split(':').next().unwrap()).collect();
    let expected = [
        "stack",
        "secret of OpenAiApiKeySecretArn",
        "model",
        "Qdrant",
        "issuer",
        "API",
        "concurrency",
        "alarms",
        "alarm topic",
    ];
    assert_eq!(subjects, expected, "{lines:#?}");
    let not_ok: Vec<&String> = lines.iter().filter(|line| !line.starts_with("ok ")).collect();
    assert!(matches!(not_ok[..], [line] if line.contains("aptix sign-in --stack agent-dev")), "{not_ok:#?}");
}

/// A change of the account that makes one check fail.
type Change = Box<dyn FnOnce(&mut Facts)>;

fn set(facts: &mut Facts, name: &'static str, value: &str) {
    facts.parameters.insert(name, value.to_owned());
}

#[tokio::test]
async fn each_problem_is_one_line_with_its_fix() {
    let system = System::start().await;
    let account = Account::start(&system).await;
    let secret = "secret of OpenAiApiKeySecretArn";
    let problems: [(&str, Change, i32, &str); 11] = [
        ("stack", Box::new(|facts| facts.status = "UPDATE_ROLLBACK_FAILED"), 1, "describe-stack-events"),
        (
            secret,
            Box::new(|facts| facts.secret = Some("{\"OPENAI_API_KEY\":\"sk-marker\"}".into())),
            1,
            "put-secret-value",
        ),
        (secret, Box::new(|facts| facts.secret = None), 0, "your credentials lack a permission"),
        ("model", Box::new(|facts| facts.secret = Some("invalid-sk".into())), 1, "rejected the key"),
        ("model", Box::new(|facts| set(facts, "ModelName", "gpt-9")), 1, "has no model \"gpt-9\""),
        (
            "model",
            Box::new(|facts| set(facts, "OpenAiBaseUrl", "http://127.0.0.1:9/v1")),
            1,
            "can't reach http://127.0.0.1:9/v1",
        ),
        ("Qdrant", Box::new(|facts| set(facts, "QdrantUrl", "http://127.0.0.1:9")), 1, "Check QdrantUrl"),
        ("issuer", Box::new(|facts| facts.flows = json!([])), 0, "doesn't allow SRP"),
        ("concurrency", Box::new(|facts| facts.quota = 10), 0, "request-service-quota-increase"),
        (
            "alarms",
            Box::new(|facts| facts.alarm_actions = Vec::new()),
            0,
            "these alarms notify nobody: agent-dev-A",
        ),
        ("alarm topic", Box::new(|facts| facts.subscription = "PendingConfirmation"), 0, "aws sns subscribe"),
    ];
    for (subject, change, status, finding) in problems {
        let (found, line) = account.line_after(subject, change).await;
        assert_eq!(found, Some(status), "{line}");
        assert!(line.contains(finding) && !line.starts_with("ok "), "{line}");
        assert!(
            !line.contains("marker") && !line.contains("invalid-sk"),
            "no part of a secret is shown: {line}"
        );
    }
}
