//! An error as a log tells it: what happened, and why, down to the first cause.

use std::{error::Error, fmt};

/// What an error and each of its sources say, joined by `: `. What says the same as the one before it is
/// left out: many errors say what their source says.
///
/// An error's Display holds no contents (I14), so neither does this.
pub fn causes<'a>(error: &'a (dyn Error + 'a)) -> impl fmt::Display + 'a {
    Causes(error)
}

struct Causes<'a>(&'a (dyn Error + 'a));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.0.to_string();
        f.write_str(&said)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            let says = cause.to_string();
            if says != said {
                write!(f, ": {says}")?;
                said = says;
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
    #[error("{says}")]
    struct Link {
        says: &'static str,
        source: Option<Box<dyn Error + Send + Sync>>,
    }

    /// Errors that say this, each the source of the one before.
    fn chain(says: &[&'static str]) -> Link {
        let (first, rest) = says.split_first().unwrap();
        let source = (!rest.is_empty()).then(|| chain(rest).into());
        Link { says: first, source }
    }

    #[test]
    fn every_cause_is_told_from_the_outermost_to_the_first() {
        assert_eq!(causes(&chain(&["alone"])).to_string(), "alone");
        let error = chain(&["the table is unavailable", "service error", "refused"]);
        assert_eq!(causes(&error).to_string(), "the table is unavailable: service error: refused");
    }

    #[test]
    fn what_neighbours_say_alike_is_said_once() {
        let error = chain(&["a", "a", "a", "b", "b", "a"]);
        assert_eq!(causes(&error).to_string(), "a: b: a");
    }

    #[test]
    fn a_boxed_error_has_causes_too() {
        let boxed: Box<dyn Error + Send + Sync> = chain(&["a", "b"]).into();
        assert_eq!(causes(boxed.as_ref()).to_string(), "a: b");
    }
}
