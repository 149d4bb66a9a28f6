//! Classes of IP addresses that an org may not reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A class of addresses that isn't part of the public internet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Forbidden {
    /// The machine itself: 127.0.0.0/8 and ::1.
    #[error("a loopback address")]
    Loopback,
    /// No address: 0.0.0.0/8 and ::.
    #[error("an unspecified address")]
    Unspecified,
    /// The same link, where clouds serve metadata and credentials: 169.254.0.0/16, fe80::/10 and fd00:ec2::/32.
    #[error("a link-local address, where clouds serve credentials")]
    LinkLocal,
    /// A private network: RFC 1918, RFC 6598 and fc00::/7.
    #[error("an address of a private network")]
    Private,
    /// Several hosts: 224.0.0.0/4 and ff00::/8.
    #[error("a multicast address")]
    Multicast,
    /// An IPv6 address that leads to an IPv4 address: mapped, compatible, translated, 6to4 and Teredo.
    #[error("an IPv6 address that stands for an IPv4 address")]
    Embedded,
    /// Any other address outside the public internet, such as those for documentation and benchmarks.
    #[error("a reserved address")]
    Reserved,
}

impl Forbidden {
    /// True for addresses that an operator may allow for a host.
    pub(crate) fn can_be_allowed(self) -> bool {
        self == Self::Private
    }
}

/// Returns the class of an address that isn't public. `None` for a public address.
pub(crate) fn classify(address: IpAddr) -> Option<Forbidden> {
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

/// The IPv4 addresses that aren't public, by the registry of special addresses (RFC 6890).
const V4: [(Ipv4Addr, u32, Forbidden); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, Forbidden::Unspecified),
    (Ipv4Addr::new(10, 0, 0, 0), 8, Forbidden::Private),
    (Ipv4Addr::new(100, 64, 0, 0), 10, Forbidden::Private),
    (Ipv4Addr::new(127, 0, 0, 0), 8, Forbidden::Loopback),
    (Ipv4Addr::new(169, 254, 0, 0), 16, Forbidden::LinkLocal),
    (Ipv4Addr::new(172, 16, 0, 0), 12, Forbidden::Private),
    // Has the metadata of a cloud at 192.0.0.192.
    (Ipv4Addr::new(192, 0, 0, 0), 24, Forbidden::Reserved),
    (Ipv4Addr::new(192, 0, 2, 0), 24, Forbidden::Reserved),
    (Ipv4Addr::new(192, 88, 99, 0), 24, Forbidden::Reserved),
    (Ipv4Addr::new(192, 168, 0, 0), 16, Forbidden::Private),
    (Ipv4Addr::new(198, 18, 0, 0), 15, Forbidden::Reserved),
    (Ipv4Addr::new(198, 51, 100, 0), 24, Forbidden::Reserved),
    (Ipv4Addr::new(203, 0, 113, 0), 24, Forbidden::Reserved),
    (Ipv4Addr::new(224, 0, 0, 0), 4, Forbidden::Multicast),
    (Ipv4Addr::new(240, 0, 0, 0), 4, Forbidden::Reserved),
    // Azure's platform address, which serves credentials and is public by its number.
    (Ipv4Addr::new(168, 63, 129, 16), 32, Forbidden::LinkLocal),
];

fn classify_v4(address: Ipv4Addr) -> Option<Forbidden> {
    let is_in = |network: Ipv4Addr, bits: u32| {
        let mask = u32::MAX.checked_shl(32_u32.saturating_sub(bits)).unwrap_or(0);
        address.to_bits() & mask == network.to_bits()
    };
    V4.into_iter().find_map(|(network, bits, class)| is_in(network, bits).then_some(class))
}

/// Only 2000::/3 is assigned to hosts of the internet, so everything outside it is forbidden, whatever it will be.
fn classify_v6(address: Ipv6Addr) -> Option<Forbidden> {
    let [a, b, c, d, e, f, _, _] = address.segments();
    match (a, b, c, d, e, f) {
        _ if address.is_unspecified() => Some(Forbidden::Unspecified),
        _ if address.is_loopback() => Some(Forbidden::Loopback),
        // ::/32 has the compatible, mapped and translated (SIIT) forms, 64:ff9b::/16 NAT64.
        (0 | 0x64, ..) => Some(Forbidden::Embedded),
        (0xfd00, 0x0ec2, ..) | (0xfe80..=0xfebf, ..) => Some(Forbidden::LinkLocal),
        (0xfc00..=0xfdff | 0xfec0..=0xfeff, ..) => Some(Forbidden::Private),
        (0xff00..=0xffff, ..) => Some(Forbidden::Multicast),
        // Teredo and 6to4.
        (0x2001, 0, ..) | (0x2002, ..) => Some(Forbidden::Embedded),
        // Protocol assignments (2001::/23), and documentation.
        (0x2001, 0..=0x1ff | 0xdb8, ..) | (0x3fff, 0..=0xfff, ..) => Some(Forbidden::Reserved),
        // ISATAP: an interface id that ends in an IPv4 address.
        (0x2000..=0x3fff, _, _, _, 0 | 0x200, 0x5efe) => Some(Forbidden::Embedded),
        (0x2000..=0x3fff, ..) => None,
        _ => Some(Forbidden::Reserved),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_forbidden_networks_are_public() {
        for public in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2606:4700::1111",
            "2001:db7::1",
            "2003::1",
            "3fff:1000::1",
            "3ffe::1",
        ] {
            assert_eq!(classify(public.parse().unwrap()), None, "{public}");
        }
    }

    #[test]
    fn address_outside_global_unicast_is_forbidden() {
        for segment in (0..=0xffff_u16).filter(|segment| !(0x2000..=0x3fff).contains(segment)) {
            let address = Ipv6Addr::new(segment, 1, 2, 3, 4, 5, 6, 7);
            assert!(classify(address.into()).is_some(), "{address}");
        }
    }
}
