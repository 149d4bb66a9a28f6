//! The names of documents. The API allows few characters in them, and no name twice in a conversation.

use std::collections::HashSet;

/// The most characters of a name, with room for a number.
const MAX_CHARS: usize = 180;

/// The names of a conversation's documents so far, in lower case.
#[derive(Debug, Default)]
pub(super) struct DocumentNames(HashSet<String>);

impl DocumentNames {
    /// Returns the name for a file: with a hyphen for every character that the API refuses, and a number if an earlier
    /// document has the name. A replayed conversation yields the same names.
    pub(super) fn unique(&mut self, file: &str) -> String {
        let is_allowed = |character: char| character.is_ascii_alphanumeric() || "-()[]".contains(character);
        let allowed = file.split_whitespace().collect::<Vec<_>>().join(" ");
        let allowed = allowed.chars().take(MAX_CHARS);
        let name: String = allowed.map(|c| if is_allowed(c) || c == ' ' { c } else { '-' }).collect();
        let name = if name.is_empty() { "document".to_owned() } else { name };
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let mut candidates = std::iter::once(name.clone()).chain(numbered);
        let unique = candidates.find(|candidate| !self.0.contains(&candidate.to_ascii_lowercase()));
        let unique = unique.unwrap_or(name);
        self.0.insert(unique.to_ascii_lowercase());
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_allowed_and_unique() {
        let mut names = DocumentNames::default();
        for (file, expected) in [
            ("plan.pdf", "plan-pdf"),
            ("Plan.pdf", "Plan-pdf (2)"),
            ("plan.pdf", "plan-pdf (3)"),
            ("a  b\u{a0}[1]_(x).pdf", "a b [1]-(x)-pdf"),
            ("\u{fc}.pdf", "--pdf"),
            (" ", "document"),
        ] {
            assert_eq!(names.unique(file), expected, "{file}");
        }
        assert!(names.unique(&"x".repeat(500)).len() <= 200);
    }
}
