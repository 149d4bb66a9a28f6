//! Members of a request that the service ignores, and the header that names them.

use std::cell::RefCell;

use axum::response::Response;
use http::{HeaderName, HeaderValue};

use crate::error::ApiError;

/// Names what a request asked for without an effect.
const HEADER: HeaderName = HeaderName::from_static("x-aptix-ignored");
/// The most members that are named.
const MAX_NAMED: usize = 16;
/// The longest name of a member, in characters.
const MAX_NAME_CHARS: usize = 64;

thread_local! {
    /// The members that the running parse has ignored. None: members are not ignored but refused.
    static RUNNING: RefCell<Option<Ignored>> = const { RefCell::new(None) };
}

/// Members that carry state or a promise. They are never ignored, wherever they are.
const PROMISES: &[&str] = &[
    "compaction",
    "container",
    "context_management",
    "conversation",
    "mcp_servers",
    "output_config",
    "prompt",
    "thread",
];

/// Members that are hints in any object: in a message, a part of it, or a tool.
const HINTS_ANYWHERE: &[&str] =
    &["cache_control", "defer_loading", "output_schema", "prompt_cache_breakpoint"];

/// Returns true if a member that an object doesn't have carries state or a promise.
pub(super) fn is_promise(name: &str) -> bool {
    PROMISES.contains(&name) || name.starts_with("previous_")
}

/// Returns true if a member is a hint in any object.
pub(super) fn is_hint_anywhere(name: &str) -> bool {
    HINTS_ANYWHERE.contains(&name)
}

/// The members of a request that have no effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ignored {
    /// The paths of the first ones.
    named: Vec<String>,
    /// The number of the others.
    more: usize,
}

impl Ignored {
    /// Returns the first member as an error, for an org that accepts none.
    #[must_use]
    pub fn refusal(&self) -> Option<ApiError> {
        self.named.first().map(|param| ApiError::unknown(param))
    }

    /// Returns a response with the header that names the members, if there are any.
    #[must_use]
    pub fn warn(&self, mut response: Response) -> Response {
        if let Some(value) = self.header() {
            response.headers_mut().insert(HEADER, value);
        }
        response
    }

    fn header(&self) -> Option<HeaderValue> {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "_-.[]".contains(*c);
        let name = |name: &String| -> String {
            name.chars().take(MAX_NAME_CHARS).map(|c| if is_plain(&c) { c } else { '?' }).collect()
        };
        let mut names: Vec<String> = self.named.iter().map(name).collect();
        if names.is_empty() {
            return None;
        }
        if self.more > 0 {
            names.push(format!("and {} more", self.more));
        }
        HeaderValue::try_from(names.join(", ")).ok()
    }

    fn add(&mut self, param: String) {
        if self.named.len() < MAX_NAMED {
            self.named.push(param)
        } else {
            self.more = self.more.saturating_add(1)
        }
    }
}

/// Parses a request, and collects what it ignores. A parse runs on one thread from its start to its end.
pub(crate) fn collect<T>(parse: impl FnOnce() -> Result<T, ApiError>) -> Result<(T, Ignored), ApiError> {
    RUNNING.replace(Some(Ignored::default()));
    let parsed = parse();
    let ignored = RUNNING.take().unwrap_or_default();
    parsed.map(|parsed| (parsed, ignored))
}

/// Ignores a member. False outside a parse that ignores members.
pub(crate) fn ignore(param: String) -> bool {
    RUNNING.with_borrow_mut(|running| running.as_mut().map(|ignored| ignored.add(param)).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_never_ignored() {
        for name in ["thread", "previous_thing", "mcp_servers", "compaction", "container"] {
            assert!(is_promise(name), "{name}");
        }
        assert!(!is_promise("colour"));
    }

    #[test]
    fn header_is_bounded_and_plain() {
        let read = || {
            for n in 0..20 {
                assert!(ignore(format!("input[{n}].\u{fc}\r\n{}", "x".repeat(100))));
            }
            Ok(())
        };
        let ((), ignored) = collect(read).unwrap();
        let header = ignored.header().unwrap();
        let header = header.to_str().unwrap();
        assert!(header.starts_with("input[0].???xxx") && header.ends_with(", and 4 more"), "{header}");
        assert!(header.len() < 1_200, "{}", header.len());
        assert_eq!(ignored.refusal().unwrap().code.as_deref(), Some("unknown_parameter"));
        assert!(!ignore("x".to_owned()), "no parse runs");
        assert_eq!(Ignored::default().header(), None);
    }
}
