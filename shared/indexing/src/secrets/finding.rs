//! The reason to refuse a file.

use std::fmt;

/// The rule that a file matches, without the secret itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// The file has such a name.
    Name(&'static str),
    /// The content has a value that matches a rule.
    Content {
        /// The id of the rule.
        rule: &'static str,
        /// The line of the value, from 1.
        line: u32,
    },
    /// The rules can't be read, so that nothing is known about the file.
    NoRules,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(pattern) => write!(f, "name {pattern}"),
            Self::Content { rule, line } => write!(f, "{rule} in line {line}"),
            Self::NoRules => f.write_str("rules unreadable"),
        }
    }
}
