//! The scope of AWS signatures, and the hosts of Amazon Bedrock, which name theirs.

/// Hosts by prefix and suffix around the region, with the service that their signatures name.
const HOSTS: [(&str, &str, &str); 3] = [
    ("bedrock-runtime.", ".amazonaws.com", "bedrock"),
    ("bedrock-runtime-fips.", ".amazonaws.com", "bedrock"),
    ("bedrock-mantle.", ".api.aws", "bedrock-mantle"),
];

/// The scope of a signature: the AWS service and the region that it is valid for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningScope {
    service: String,
    region: String,
}

impl SigningScope {
    /// Creates a scope. Returns `None` unless both names consist of lower-case letters, digits and hyphens.
    #[must_use]
    pub fn new(service: &str, region: &str) -> Option<Self> {
        let is_name = |name: &str| {
            let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            (1..=64).contains(&name.len()) && name.bytes().all(allowed)
        };
        (is_name(service) && is_name(region))
            .then(|| Self { service: service.to_owned(), region: region.to_owned() })
    }

    /// Returns the service's name in the scope, such as `bedrock`.
    #[must_use]
    pub fn service(&self) -> &str {
        &self.service
    }

    /// Returns the region.
    #[must_use]
    pub fn region(&self) -> &str {
        &self.region
    }

    /// Returns the scope for the host of a URL, see [`Self::of_bedrock_host`].
    #[must_use]
    pub fn of_bedrock_url(url: &str) -> Option<Self> {
        Self::of_bedrock_host(reqwest::Url::parse(url).ok()?.host_str()?)
    }

    /// Returns the scope for a public host of Bedrock, or `None` for any other host, such as a VPC endpoint.
    #[must_use]
    pub fn of_bedrock_host(host: &str) -> Option<Self> {
        HOSTS.iter().find_map(|(prefix, suffix, service)| {
            Self::new(service, host.strip_prefix(prefix)?.strip_suffix(suffix)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bedrock_host_names_service_and_region() {
        for (host, expected) in [
            ("bedrock-runtime.us-east-1.amazonaws.com", Some(("bedrock", "us-east-1"))),
            ("bedrock-runtime-fips.us-gov-west-1.amazonaws.com", Some(("bedrock", "us-gov-west-1"))),
            ("bedrock-mantle.eu-central-1.api.aws", Some(("bedrock-mantle", "eu-central-1"))),
            ("bedrock-runtime.amazonaws.com", None),
            ("vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com", None),
            ("api.openai.com", None),
        ] {
            let scope = SigningScope::of_bedrock_host(host);
            let scope = scope.as_ref().map(|scope| (scope.service(), scope.region()));
            assert_eq!(scope, expected, "{host}");
        }
    }

    #[test]
    fn scope_needs_names_of_letters_digits_and_hyphens() {
        for (service, region) in [("", "us-east-1"), ("bedrock", ""), ("bedrock", "US-EAST-1"), ("a/b", "r")]
        {
            assert_eq!(SigningScope::new(service, region), None, "{service} {region}");
        }
    }
}
