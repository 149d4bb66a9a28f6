//! A JSON error that is safe to log.

use serde_json::error::Category;

/// A failure to read JSON that doesn't quote its content. The messages of serde quote what they found, and stored
/// JSON may hold prompts or answers (I14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at line {line}, column {column}")]
pub struct JsonError {
    problem: &'static str,
    line: usize,
    column: usize,
}

impl From<&serde_json::Error> for JsonError {
    fn from(error: &serde_json::Error) -> Self {
        let problem = match error.classify() {
            Category::Syntax => "invalid JSON",
            Category::Data => "unexpected JSON structure",
            Category::Eof => "truncated JSON",
            Category::Io => "read or write failure",
        };
        Self { problem, line: error.line(), column: error.column() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_names_position_not_content() {
        let misread = |json: &str| {
            let error = serde_json::from_str::<Vec<u8>>(json).unwrap_err();
            let misread = JsonError::from(&error);
            assert!(!format!("{misread}{misread:?}").contains("marker"), "{misread:?}");
            misread.to_string()
        };
        assert_eq!(misread("[1,\n\"marker\"]"), "unexpected JSON structure at line 2, column 8");
        assert_eq!(misread("[1, marker]"), "invalid JSON at line 1, column 5");
        assert_eq!(misread("[1, "), "truncated JSON at line 1, column 4");
    }
}
