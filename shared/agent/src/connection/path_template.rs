//! The template of an HTTP tool's path.

/// A path in which arguments stand for parts of segments, such as `/tickets/{id}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTemplate(Vec<Segment>);

/// A part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Text that is sent as it is.
    Literal(String),
    /// An argument, which is percent-encoded.
    Argument(String),
}

impl PathTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// Returns the rule that it breaks.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if !text.starts_with('/') {
            return Err("must begin with a slash");
        }
        if text.contains("//") {
            return Err("must not have an empty segment");
        }
        let is_path = |c: char| c.is_ascii_alphanumeric() || "/-._~!$&'()*+,;=:@%{}".contains(c);
        if !text.chars().all(is_path) {
            return Err("may hold only the characters of a URL's path, and {name} for an argument");
        }
        let mut segments = Vec::new();
        for part in text.split('/').skip(1) {
            if matches!(part, "." | "..") || part.to_ascii_lowercase().contains("%2e") {
                return Err("must not have segments such as . and ..");
            }
        }
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or("has a brace that isn't closed")?;
            if name.is_empty() || name.contains('{') || literal.contains('}') {
                return Err("must have the name of an argument between braces");
            }
            segments.push(Segment::Literal(literal.to_owned()));
            segments.push(Segment::Argument(name.to_owned()));
            rest = after;
        }
        if rest.contains('}') {
            return Err("has a brace that isn't opened");
        }
        segments.push(Segment::Literal(rest.to_owned()));
        Ok(Self(segments))
    }

    /// Returns the parts in their order.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Returns the names of the arguments in it.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|segment| match segment {
            Segment::Argument(name) => Some(name.as_str()),
            Segment::Literal(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_has_literals_and_arguments() {
        let template = PathTemplate::parse("/v1/tickets/{id}/notes/{note}.json").unwrap();
        assert_eq!(template.arguments().collect::<Vec<_>>(), ["id", "note"]);
        assert_eq!(template.segments().first(), Some(&Segment::Literal("/v1/tickets/".to_owned())));
        assert_eq!(template.segments().last(), Some(&Segment::Literal(".json".to_owned())));
    }

    #[test]
    fn template_that_could_leave_its_path_is_refused() {
        for wrong in [
            "",
            "tickets",
            "/a//b",
            "/a?b",
            "/a#b",
            "/a b",
            "/../b",
            "/a/./b",
            "/a/%2e%2E/b",
            "/{",
            "/}",
            "/{}",
            "/{a{b}}",
            "/{a}}",
            "/a\\b",
            "/é",
        ] {
            assert!(PathTemplate::parse(wrong).is_err(), "{wrong}");
        }
    }
}
