//! The rules for the hosts, ports and addresses of a deployment.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use ::url::Url;
use tokio::time::timeout;

use crate::{
    address::{Forbidden, classify},
    hosts::AllowedHost,
    parked::Parked,
    refusal::{MAX_ADDRESSES, Refusal},
    resolve::{Resolve, SystemResolver},
    url::{self, HostKind},
};

/// The longest time for a lookup.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// The rule for the machine's own addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Loopback {
    /// They are forbidden. On AWS they have the Runtime API, which hands out the events of other callers.
    #[default]
    Forbidden,
    /// They are allowed, over HTTP too, except for these ports. For a local cloud, whose own ports these are.
    ExceptPorts(Vec<u16>),
}

/// A checked URL with the addresses of its host. Connections go to these and to no others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub(crate) url: Url,
    pub(crate) addresses: Vec<SocketAddr>,
}

impl Target {
    /// Returns the URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the addresses of its host, with the port.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

/// Judges URLs by the rules of a deployment.
#[derive(Clone)]
pub struct Guard {
    loopback: Loopback,
    allowed: Vec<AllowedHost>,
    resolver: Arc<dyn Resolve>,
    pub(crate) tls: Option<Arc<rustls::ClientConfig>>,
    pub(crate) parked: Parked,
}

impl Guard {
    /// Creates a guard with the name service of the system. `allowed` are hosts of private networks.
    #[must_use]
    pub fn new(loopback: Loopback, allowed: Vec<AllowedHost>) -> Self {
        let tls = tls::client_config().ok().map(Arc::new);
        Self { loopback, allowed, resolver: Arc::new(SystemResolver), tls, parked: Parked::default() }
    }

    /// Replaces the name service.
    #[must_use]
    pub fn with_resolver(self, resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, ..self }
    }

    /// Replaces the TLS configuration.
    #[must_use]
    pub fn with_tls(self, config: rustls::ClientConfig) -> Self {
        Self { tls: Some(Arc::new(config)), ..self }
    }

    /// Parses a URL and checks everything but the addresses of a name.
    ///
    /// # Errors
    /// Returns the rule that it breaks.
    pub fn check(&self, text: &str) -> Result<Url, Refusal> {
        self.parse(text).map(|(url, ..)| url)
    }

    /// Checks a URL, looks its host up once, and checks every address. One forbidden address refuses all of them:
    /// a resolver that returns several may return another order the next time.
    ///
    /// # Errors
    /// Returns the rule that it breaks.
    pub async fn resolve(&self, text: &str) -> Result<Target, Refusal> {
        let (url, host, port) = self.parse(text)?;
        let addresses = match &host {
            HostKind::Address(address) => vec![*address],
            HostKind::Name(name) => match timeout(LOOKUP_TIMEOUT, self.resolver.addresses(name)).await {
                Ok(Ok(addresses)) => addresses,
                Ok(Err(_)) | Err(_) => return Err(Refusal::NotFound),
            },
        };
        if addresses.len() > MAX_ADDRESSES {
            return Err(Refusal::TooManyAddresses);
        }
        addresses.iter().try_for_each(|address| self.check_address(&url, &host, port, *address))?;
        let addresses: Vec<_> = addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        match addresses.is_empty() {
            true => Err(Refusal::NotFound),
            false => Ok(Target { url, addresses }),
        }
    }

    fn parse(&self, text: &str) -> Result<(Url, HostKind, u16), Refusal> {
        let (url, host) = url::parse(text)?;
        let port = url.port_or_known_default().ok_or(Refusal::Malformed)?;
        let is_loopback = match &host {
            HostKind::Address(address) => classify(*address) == Some(Forbidden::Loopback),
            HostKind::Name(name) => name == "localhost",
        };
        if is_loopback && let Loopback::ExceptPorts(own) = &self.loopback {
            return match own.contains(&port) {
                true => Err(Refusal::OwnPort(port)),
                false => Ok((url, host, port)),
            };
        }
        let is_allowed = self.is_allowed(&url, port);
        match &host {
            HostKind::Address(address) => self.check_address(&url, &host, port, *address)?,
            HostKind::Name(name) if url::is_inner_name(name) && (name == "localhost" || !is_allowed) => {
                return Err(Refusal::InnerName);
            }
            HostKind::Name(_) => {}
        }
        if url.scheme() != "https" {
            return Err(Refusal::Scheme(url.scheme().to_owned()));
        }
        match port == 443 || is_allowed {
            true => Ok((url, host, port)),
            false => Err(Refusal::Port(port)),
        }
    }

    fn is_allowed(&self, url: &Url, port: u16) -> bool {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        self.allowed.iter().any(|allowed| allowed.is(host, port))
    }

    fn check_address(&self, url: &Url, host: &HostKind, port: u16, address: IpAddr) -> Result<(), Refusal> {
        let Some(class) = classify(address) else {
            // A local name with a public address is somebody's trick.
            return match host {
                HostKind::Name(name) if name == "localhost" => Err(Refusal::InnerName),
                _ => Ok(()),
            };
        };
        let is_local = match host {
            HostKind::Name(name) => name == "localhost",
            HostKind::Address(_) => true,
        };
        let may_be_local = is_local && matches!(self.loopback, Loopback::ExceptPorts(_));
        let is_allowed = match class {
            Forbidden::Loopback => may_be_local,
            class => class.can_be_allowed() && self.is_allowed(url, port),
        };
        if is_allowed { Ok(()) } else { Err(Refusal::Address(class)) }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("loopback", &self.loopback).field("allowed", &self.allowed).finish()
    }
}
