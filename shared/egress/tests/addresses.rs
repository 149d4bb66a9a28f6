//! The addresses and tricks that a guard refuses, as a table.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use egress::{AllowedHost, Forbidden, Guard, Loopback, Refusal, Resolve};
use futures::{FutureExt, future::BoxFuture};

/// A name service that gives the n-th answer to the n-th lookup, and the last one from then on.
struct Answers(Vec<Vec<IpAddr>>, AtomicUsize);

impl Answers {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |addresses: &&[&str]| addresses.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self(answers.iter().map(parse).collect(), AtomicUsize::new(0)))
    }
}

impl Resolve for Answers {
    fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let number = self.1.fetch_add(1, Ordering::SeqCst);
        let answer = self.0.get(number).or(self.0.last()).cloned().unwrap_or_default();
        async move { Ok(answer) }.boxed()
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

const PUBLIC: &[&str] = &["93.184.216.34"];

fn guard(answers: &[&[&str]]) -> Guard {
    Guard::new(Loopback::Forbidden, Vec::new()).with_resolver(Answers::new(answers))
}

fn refusal(guard: &Guard, url: &str) -> Refusal {
    block_on(guard.resolve(url)).expect_err(url)
}

#[test]
fn literal_address_is_refused_by_its_class() {
    use Forbidden::{Embedded, LinkLocal, Loopback as Local, Multicast, Private, Reserved, Unspecified};
    let guard = guard(&[PUBLIC]);
    for (host, class) in [
        ("127.0.0.1", Local),
        ("127.1", Local),
        ("2130706433", Local),
        ("0x7f000001", Local),
        ("0177.0.0.1", Local),
        ("0x7f.1", Local),
        ("127.0.0.1.", Local),
        ("%31%32%37.0.0.1", Local),
        ("0.0.0.0", Unspecified),
        ("0", Unspecified),
        ("10.0.0.1", Private),
        ("172.31.255.255", Private),
        ("192.168.1.1", Private),
        ("100.64.0.1", Private),
        ("169.254.169.254", LinkLocal),
        ("169.254.170.2", LinkLocal),
        ("169.254.170.23", LinkLocal),
        ("169.254.100.1", LinkLocal),
        ("168.63.129.16", LinkLocal),
        ("192.0.0.192", Reserved),
        ("192.0.0.8", Reserved),
        ("198.18.0.1", Reserved),
        ("192.0.2.1", Reserved),
        ("198.51.100.1", Reserved),
        ("203.0.113.1", Reserved),
        ("192.88.99.1", Reserved),
        ("224.0.0.1", Multicast),
        ("240.0.0.1", Reserved),
        ("255.255.255.255", Reserved),
        ("[::1]", Local),
        ("[::]", Unspecified),
        ("[::ffff:127.0.0.1]", Embedded),
        ("[::ffff:7f00:1]", Embedded),
        ("[::127.0.0.1]", Embedded),
        ("[::ffff:0:127.0.0.1]", Embedded),
        ("[64:ff9b::a9fe:a9fe]", Embedded),
        ("[64:ff9b:1::1]", Embedded),
        ("[2002:7f00:1::]", Embedded),
        ("[2001:0::1]", Embedded),
        ("[2606:4700::5efe:7f00:1]", Embedded),
        ("[fe80::1]", LinkLocal),
        ("[fec0::1]", Private),
        ("[fd00:ec2::254]", LinkLocal),
        ("[fd12:3456::1]", Private),
        ("[ff02::1]", Multicast),
        ("[5f00::1]", Reserved),
        ("[100::1]", Reserved),
        ("[2001:db8::1]", Reserved),
        ("[3fff::1]", Reserved),
        ("①②⑦.0.0.1", Local),
        ("127。0。0。1", Local),
    ] {
        for url in [format!("https://{host}/"), format!("https://{host}:8443/x?y=z")] {
            assert_eq!(refusal(&guard, &url), Refusal::Address(class), "{url}");
            assert_eq!(guard.check(&url), Err(Refusal::Address(class)), "{url}");
        }
    }
}

#[test]
fn name_of_this_machine_or_its_network_is_refused() {
    let guard = guard(&[PUBLIC]);
    for host in [
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "ｌｏｃａｌｈｏｓｔ",
        "metadata.google.internal",
        "ip-10-0-0-1.ec2.internal",
        "router.local",
        "metadata",
        "db.home.arpa",
    ] {
        assert_eq!(refusal(&guard, &format!("https://{host}/")), Refusal::InnerName, "{host}");
    }
}

#[test]
fn url_that_parsers_read_differently_is_refused() {
    let guard = guard(&[PUBLIC]);
    for (url, expected) in [
        ("https://good.example@127.0.0.1/", Refusal::Credentials),
        ("https://user:password@good.example/", Refusal::Credentials),
        ("https://@good.example/", Refusal::Credentials),
        ("https://127.0.0.1#@good.example", Refusal::Fragment),
        ("https://good.example/#x", Refusal::Fragment),
        (r"https://good.example\@127.0.0.1", Refusal::Malformed),
        ("https://good.example\t.evil.example/", Refusal::Malformed),
        (" https://good.example/", Refusal::Malformed),
        ("https://[fe80::1%25eth0]/", Refusal::Malformed),
        ("https://", Refusal::Malformed),
        ("good.example", Refusal::Malformed),
        ("", Refusal::Malformed),
        ("https://good.example:99999/", Refusal::Malformed),
        ("https://999.1.1.1/", Refusal::Malformed),
    ] {
        assert_eq!(refusal(&guard, url), expected, "{url:?}");
    }
    let long = format!("https://good.example/{}", "x".repeat(2_000));
    assert!(matches!(refusal(&guard, &long), Refusal::TooLong(_)));
}

#[test]
fn scheme_and_port_are_those_of_https() {
    let guard = guard(&[PUBLIC]);
    for scheme in ["http", "file", "ftp", "gopher", "unix", "ws"] {
        let found = refusal(&guard, &format!("{scheme}://good.example/"));
        assert_eq!(found, Refusal::Scheme(scheme.to_owned()));
    }
    for port in [22, 25, 80, 6379, 8443, 9001] {
        assert_eq!(refusal(&guard, &format!("https://good.example:{port}/")), Refusal::Port(port));
    }
    assert!(block_on(guard.resolve("https://good.example:443/v1?a=b")).is_ok());
}

#[test]
fn one_forbidden_address_refuses_the_whole_answer() {
    for (answer, class) in [
        (&["93.184.216.34", "10.0.0.1"][..], Forbidden::Private),
        (&["93.184.216.34", "::ffff:10.0.0.1"], Forbidden::Embedded),
        (&["2606:4700::1111", "169.254.169.254"], Forbidden::LinkLocal),
        (&["127.0.0.1"], Forbidden::Loopback),
    ] {
        assert_eq!(
            refusal(&guard(&[answer]), "https://good.example/"),
            Refusal::Address(class),
            "{answer:?}"
        );
    }
    assert_eq!(refusal(&guard(&[&[]]), "https://good.example/"), Refusal::NotFound);
    let many: Vec<String> = (0..65).map(|n| format!("93.184.216.{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(refusal(&guard(&[&many]), "https://good.example/"), Refusal::TooManyAddresses);
}

#[test]
fn rebinding_name_keeps_the_address_that_was_checked() {
    let answers = Answers::new(&[PUBLIC, &["127.0.0.1"]]);
    let guard = Guard::new(Loopback::Forbidden, Vec::new()).with_resolver(Arc::<Answers>::clone(&answers));
    let target = block_on(guard.resolve("https://rebinding.example/")).unwrap();
    assert_eq!(target.addresses(), ["93.184.216.34:443".parse().unwrap()]);
    assert_eq!(answers.1.load(Ordering::SeqCst), 1, "one lookup");
    assert_eq!(refusal(&guard, "https://rebinding.example/"), Refusal::Address(Forbidden::Loopback));
}

#[test]
fn operator_can_allow_a_private_host_and_no_other_class() {
    let allowed: Vec<AllowedHost> =
        ["tickets.internal:8443", "10.0.0.7", "169.254.169.254", "127.0.0.1", "localhost", "[::1]"]
            .map(|host| host.parse().unwrap())
            .into();
    let guard = |answer: &[&str]| {
        Guard::new(Loopback::Forbidden, allowed.clone()).with_resolver(Answers::new(&[answer]))
    };
    let private = guard(&["10.1.2.3"]);
    assert!(block_on(private.resolve("https://tickets.internal:8443/v1")).is_ok());
    assert!(block_on(private.resolve("https://10.0.0.7/")).is_ok());
    assert_eq!(refusal(&private, "https://tickets.internal/"), Refusal::InnerName);
    assert_eq!(refusal(&private, "http://tickets.internal:8443/"), Refusal::Scheme("http".to_owned()));
    assert_eq!(refusal(&private, "https://10.0.0.8/"), Refusal::Address(Forbidden::Private));
    assert_eq!(refusal(&private, "https://good.example/"), Refusal::Address(Forbidden::Private));
    for answer in ["127.0.0.1", "169.254.169.254", "::1", "0.0.0.0"] {
        let answer = [answer];
        let found = refusal(&guard(&answer), "https://tickets.internal:8443/");
        assert!(matches!(found, Refusal::Address(_)), "{answer:?}: {found:?}");
    }
    for url in ["https://169.254.169.254/", "https://127.0.0.1/", "https://[::1]/"] {
        assert!(matches!(refusal(&private, url), Refusal::Address(_)), "{url}");
    }
    assert_eq!(refusal(&private, "https://localhost/"), Refusal::InnerName);
}

#[test]
fn local_cloud_reaches_loopback_except_its_own_ports() {
    let local = |answer: &[&str]| {
        Guard::new(Loopback::ExceptPorts(vec![8080, 9001]), Vec::new()).with_resolver(Answers::new(&[answer]))
    };
    let guard = local(&["127.0.0.1", "::1"]);
    for url in
        ["http://127.0.0.1:7000/", "http://localhost:7000/x", "https://[::1]:7443/", "http://127.9.9.9/"]
    {
        assert!(block_on(guard.resolve(url)).is_ok(), "{url}");
    }
    for host in ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "LOCALHOST."] {
        assert_eq!(refusal(&guard, &format!("http://{host}:9001/")), Refusal::OwnPort(9001), "{host}");
    }
    let private = Refusal::Address(Forbidden::Private);
    assert_eq!(refusal(&guard, "https://10.0.0.1/"), private);
    assert_eq!(
        refusal(&guard, "https://good.example/"),
        Refusal::Address(Forbidden::Loopback),
        "a name isn't local"
    );
    assert_eq!(refusal(&local(&["10.0.0.1"]), "http://localhost:7000/"), private);
    assert_eq!(refusal(&local(PUBLIC), "http://localhost:7000/"), Refusal::InnerName);
    for unspecified in ["http://0.0.0.0:7000/", "http://[::]:7000/", "http://[::ffff:127.0.0.1]:7000/"] {
        assert!(matches!(refusal(&guard, unspecified), Refusal::Address(_)), "{unspecified}");
    }
}
