//! Checks of a URL before its host is looked up.

use std::net::IpAddr;

use ::url::{Host, Url};

use crate::refusal::Refusal;

/// Names of hosts on this machine or in its network, which a public name service doesn't have.
const INNER_SUFFIXES: [&str; 9] =
    ["localhost", "local", "localdomain", "internal", "intranet", "lan", "home.arpa", "corp", "home"];

/// The longest URL.
const MAX_URL_BYTES: usize = 2_000;

/// The host of a URL, as a name or as an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostKind {
    /// A name, in lowercase and without a trailing dot.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// Parses a URL whose text means the same to every parser.
///
/// # Errors
/// If it isn't a URL, or has a part that parsers read in different ways.
pub(crate) fn parse(text: &str) -> Result<(Url, HostKind), Refusal> {
    if text.len() > MAX_URL_BYTES {
        return Err(Refusal::TooLong(MAX_URL_BYTES));
    }
    // Parsers drop or fold these, and not all in the same way. A backslash ends the host for some of them.
    if text.contains(|c: char| c == '\\' || c.is_whitespace() || c.is_control()) {
        return Err(Refusal::Malformed);
    }
    let url = Url::parse(text).map_err(|_| Refusal::Malformed)?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(Refusal::Scheme(url.scheme().chars().take(16).collect()));
    }
    let authority =
        text.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    if !url.username().is_empty()
        || url.password().is_some()
        || authority.is_none_or(|part| part.contains('@'))
    {
        return Err(Refusal::Credentials);
    }
    if url.fragment().is_some() {
        return Err(Refusal::Fragment);
    }
    let host = match url.host() {
        Some(Host::Ipv4(address)) => HostKind::Address(address.into()),
        Some(Host::Ipv6(address)) => HostKind::Address(address.into()),
        Some(Host::Domain(name)) => HostKind::Name(name.trim_end_matches('.').to_owned()),
        None => return Err(Refusal::Malformed),
    };
    Ok((url, host))
}

/// True for a name that no public name service has.
pub(crate) fn is_inner_name(name: &str) -> bool {
    let is_under =
        |suffix: &&str| name == *suffix || name.strip_suffix(*suffix).is_some_and(|rest| rest.ends_with('.'));
    !name.contains('.') || INNER_SUFFIXES.iter().any(is_under)
}
