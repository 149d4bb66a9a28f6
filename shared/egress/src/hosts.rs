//! Hosts that an operator allows although they are in a private network.

use std::str::FromStr;

/// A host of a private network, with its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    name: String,
    port: u16,
}

/// The reason that a text isn't an allowed host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} must be HOST or HOST:PORT in lowercase, such as tickets.internal.example:8443")]
pub struct InvalidHost(String);

impl AllowedHost {
    /// True for this host of a URL, without a dot at its end, and this port.
    #[must_use]
    pub fn is(&self, host: &str, port: u16) -> bool {
        self.name == host && self.port == port
    }
}

impl FromStr for AllowedHost {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(text.to_owned());
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-:[]".contains(c);
        if !text.chars().all(is_part) {
            return Err(invalid());
        }
        // Parsed as part of a URL, so that it has the form in which URLs have their hosts.
        let url = url::Url::parse(&format!("https://{text}/")).map_err(|_| invalid())?;
        let name = url.host_str().filter(|name| text.starts_with(*name)).ok_or_else(invalid)?;
        let port = url.port_or_known_default().ok_or_else(invalid)?;
        match url.path() == "/" && url.username().is_empty() && url.query().is_none() {
            true => Ok(Self { name: name.to_owned(), port }),
            false => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_may_have_a_port_and_nothing_else() {
        let host: AllowedHost = "tickets.example".parse().unwrap();
        assert!(
            host.is("tickets.example", 443) && !host.is("tickets.example", 80) && !host.is("a.example", 443)
        );
        assert!("10.0.0.1:8443".parse::<AllowedHost>().unwrap().is("10.0.0.1", 8443));
        for wrong in ["", "a/b", "a@b", "https://a", "A.example", "a.example?x", "*.example", "a b", "0x7f.1"]
        {
            assert!(wrong.parse::<AllowedHost>().is_err(), "{wrong}");
        }
    }
}
