//! Where JSON stopped being what it should be.

use serde_json::error::Category;

/// JSON that could not be read, without a word of it: serde's own errors quote what they found, and what is
/// stored may be a prompt or an answer (I14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} at line {line}, column {column}")]
pub struct Misread {
    what: &'static str,
    line: usize,
    column: usize,
}

impl From<&serde_json::Error> for Misread {
    fn from(error: &serde_json::Error) -> Self {
        let what = match error.classify() {
            Category::Syntax => "no JSON",
            Category::Data => "JSON of another shape",
            Category::Eof => "JSON that ends too early",
            Category::Io => "a failure to read or write",
        };
        Self { what, line: error.line(), column: error.column() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_where_and_not_what() {
        let misread = |json: &str| {
            let error = serde_json::from_str::<Vec<u8>>(json).unwrap_err();
            let misread = Misread::from(&error);
            assert!(!format!("{misread}{misread:?}").contains("marker"), "{misread:?}");
            misread.to_string()
        };
        assert_eq!(misread("[1,\n\"marker\"]"), "JSON of another shape at line 2, column 8");
        assert_eq!(misread("[1, marker]"), "no JSON at line 1, column 5");
        assert_eq!(misread("[1, "), "JSON that ends too early at line 1, column 4");
    }
}
