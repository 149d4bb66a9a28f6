//! Secrets: readable, and the key alone.

use serde_json::{Value, json};

use super::Finding;
use crate::aws::Aws;

/// Reads the secret that a parameter names. Returns the secret if it can be used.
pub async fn read(aws: &Aws, parameter: &str, arn: &str) -> (Finding, Option<String>) {
    let subject = format!("secret of {parameter}");
    let read = aws.json("secretsmanager", "secretsmanager.GetSecretValue", &json!({"SecretId": arn})).await;
    let value = match read {
        Ok(value) => value,
        Err(error) if error.code() == Some("ResourceNotFoundException") => {
            let text =
                format!("there is no secret {arn}. Create one, and deploy with its ARN in {parameter}.");
            return (Finding::failed(subject, text), None);
        }
        Err(error) => return (Finding::of_error(&subject, &error), None),
    };
    let text = value.get("SecretString").and_then(Value::as_str);
    match problem(text) {
        Some(problem) => {
            let fix = format!("aws secretsmanager put-secret-value --secret-id {arn} --secret-string KEY");
            (Finding::failed(subject, format!("{problem}. Store the key alone: `{fix}`.")), None)
        }
        None => (Finding::ok(subject, "readable, and a key alone"), text.map(str::to_owned)),
    }
}

/// Returns the problem of a secret's text, without a part of it.
fn problem(text: Option<&str>) -> Option<&'static str> {
    let text = match text {
        None => return Some("it is binary"),
        Some(text) => text,
    };
    if text.trim().is_empty() {
        Some("it is empty")
    } else if serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()) {
        Some("it is JSON, as the console's editor for keys and values writes it")
    } else if text.trim().chars().any(char::is_whitespace) {
        // Functions remove white space around a key.
        Some("it has white space within")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_key_alone_is_accepted() {
        for (text, found) in [
            (Some("sk-123"), None),
            (Some("{\"OPENAI_API_KEY\":\"sk-123\"}"), Some("JSON")),
            (Some("sk-123\n"), None),
            (Some("Bearer sk-123"), Some("within")),
            (Some(""), Some("empty")),
            (None, Some("binary")),
        ] {
            let problem = problem(text);
            assert_eq!(problem.is_some(), found.is_some(), "{text:?}");
            assert!(problem.unwrap_or_default().contains(found.unwrap_or_default()), "{text:?}: {problem:?}");
        }
    }
}
