//! Removes a connection's secret from what a target returns.

use serde_json::{Map, Value};

/// The text in place of a secret.
const HIDDEN: &str = "[secret]";

/// The forms of a secret that a target could return.
#[derive(Clone)]
pub(crate) struct Secrecy(Vec<String>);

impl Secrecy {
    /// Hides a secret, as it is and as a JSON string has it.
    pub(crate) fn of(secret: Option<&str>) -> Self {
        let forms = secret.into_iter().filter(|secret| !secret.is_empty()).flat_map(|secret| {
            let json = Value::from(secret).to_string();
            let json = json.trim_matches('"').to_owned();
            [secret.to_owned(), json.replace('/', "\\/"), json]
        });
        Self(forms.collect())
    }

    /// Returns a text without the secret.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, form| text.replace(form, HIDDEN))
    }

    /// Returns a value without the secret, in names and in strings.
    pub(crate) fn hide_in(&self, value: Value) -> Value {
        match value {
            _ if self.0.is_empty() => value,
            Value::String(text) => Value::from(self.hide(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.hide_in(item)).collect(),
            Value::Object(members) => {
                let members =
                    members.into_iter().map(|(name, value)| (self.hide(&name), self.hide_in(value)));
                Value::Object(members.collect::<Map<_, _>>())
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secret_is_hidden_in_every_form() {
        let secrecy = Secrecy::of(Some(r#"a"b/c\d"#));
        for text in [r#"x a"b/c\d y"#, r#"x a\"b/c\\d y"#, r#"x a\"b\/c\\d y"#] {
            assert_eq!(secrecy.hide(text), "x [secret] y");
        }
        let value = json!({ r#"a"b/c\d"#: ["k", { "n": r#"<a"b/c\d>"# }], "n": 1 });
        assert_eq!(secrecy.hide_in(value), json!({ "[secret]": ["k", { "n": "<[secret]>" }], "n": 1 }));
        assert_eq!(Secrecy::of(None).hide("x"), "x");
        assert_eq!(Secrecy::of(Some("")).hide("x"), "x");
    }
}
