//! Formats an error with its chain of causes, for logs.

use std::{error::Error, fmt};

/// Joins the messages of an error and all its sources with `: `. Repeated neighbours are omitted, because many
/// errors repeat the message of their source.
///
/// The `Display` of an error holds no request or response content (I14), so neither does this.
pub fn causes<'a>(error: &'a (dyn Error + 'a)) -> impl fmt::Display + 'a {
    Causes(error)
}

struct Causes<'a>(&'a (dyn Error + 'a));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut previous = self.0.to_string();
        f.write_str(&previous)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            let message = cause.to_string();
            if message != previous {
                write!(f, ": {message}")?;
                previous = message;
            }
            source = cause.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{message}")]
    struct Link {
        message: &'static str,
        source: Option<Box<dyn Error + Send + Sync>>,
    }

    /// Builds a chain of errors with these messages, outermost first.
    fn chain(messages: &[&'static str]) -> Link {
        let (first, rest) = messages.split_first().unwrap();
        let source = (!rest.is_empty()).then(|| chain(rest).into());
        Link { message: first, source }
    }

    #[test]
    fn causes_listed_outermost_first() {
        assert_eq!(causes(&chain(&["alone"])).to_string(), "alone");
        let error = chain(&["the table is unavailable", "service error", "refused"]);
        assert_eq!(causes(&error).to_string(), "the table is unavailable: service error: refused");
    }

    #[test]
    fn repeated_neighbouring_messages_omitted() {
        let error = chain(&["a", "a", "a", "b", "b", "a"]);
        assert_eq!(causes(&error).to_string(), "a: b: a");
    }

    #[test]
    fn boxed_error_lists_causes() {
        let boxed: Box<dyn Error + Send + Sync> = chain(&["a", "b"]).into();
        assert_eq!(causes(boxed.as_ref()).to_string(), "a: b");
    }
}
