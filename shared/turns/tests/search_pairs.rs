//! Texts and queries in many scripts: the scan finds what a user expects, and the index never misses what the scan finds.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::BTreeSet;

use turns::text_search::{SearchTerms, add_terms};

const PAIRS: &str = include_str!("data/search_pairs.tsv");

#[test]
fn pairs_of_every_script_are_found_as_expected() {
    let (mut scripts, mut count, mut faults) = (BTreeSet::new(), 0, Vec::new());
    for line in PAIRS.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [script, text, query, expected] = fields.as_slice() else { panic!("{line}") };
        assert!(matches!(*expected, "found" | "not"), "{line}");
        let words = SearchTerms::parse(query).unwrap();
        let is_found = words.matches_all(words.find_in(text).matched);
        if is_found != (*expected == "found") {
            faults.push(line);
        }
        let mut terms = BTreeSet::new();
        add_terms(text, &mut terms);
        assert!(!is_found || words.terms().is_subset(&terms), "the index misses {query} in {text}");
        scripts.insert(*script);
        count += 1;
    }
    assert_eq!(faults, [""; 0]);
    assert!(count >= 200 && scripts.len() >= 25, "{count} pairs in {} scripts", scripts.len());
}
