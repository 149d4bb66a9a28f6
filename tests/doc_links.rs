//! The documents and the code say the same: what is cited is written down, and what is named is there.
//!
//! Clauses and rulings are in `docs/specification.md`, the rules of a turn's life and its invariants in
//! `docs/internals/correctness.md`. A document that names a file or a test is held to it.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The page with a row for every clause and a heading for every ruling.
const SPECIFICATION: &str = "docs/specification.md";
/// The page with a heading for every rule and every invariant.
const RULES: &str = "docs/internals/correctness.md";
/// The documents whose every path and every test is looked up.
const DOCUMENTS: [&str; 9] = [
    SPECIFICATION,
    RULES,
    "docs/internals/lifecycle.md",
    "docs/reference/limits.md",
    "docs/reference/formats.md",
    "docs/reference/logs.md",
    "docs/internals/architecture.md",
    "docs/internals/extending.md",
    "CONTRIBUTING.md",
];
/// Prefixes of record names.
const RECORDS: [&str; 4] = ["AGN-", "DD-", "IDX-", "TUL-"];
/// An example of what a user may say, which names a record that there is not.
const NO_CITATION: (&str, &str) = ("shared/agent/data/modes.json", concat!("AGN", "-040"));
/// Endings that make a name in backticks a path, even if its first folder is misspelled.
const ENDINGS: [&str; 8] = [".rs", ".md", ".json", ".yaml", ".toml", ".mjs", ".py", ".html"];

#[test]
fn cited_clauses_have_a_row_in_the_specification() {
    let repository = Repository::read();
    let rows = rows(repository.text(SPECIFICATION));
    let mut cited = 0;
    let mut unknown = Vec::new();
    for (path, text) in &repository.files {
        for (at, clause) in clauses(text) {
            cited += 1;
            if !rows.contains(&clause) && (path.as_str(), clause.as_str()) != NO_CITATION {
                unknown.push(format!("{path}:{} cites {clause}", line(text, at)));
            }
        }
    }
    assert!(cited > 200, "only {cited} citations were found: they are no longer read");
    none(&unknown, "These clauses have no row in docs/specification.md");
}

/// A reader pastes a block into a file or a request.
#[test]
fn json_of_the_documents_parses() {
    let repository = Repository::read();
    let mut blocks = 0;
    let mut invalid = Vec::new();
    for (path, text) in repository.files.iter().filter(|(path, _)| path.ends_with(".md")) {
        for (at, _) in text.match_indices("```json\n") {
            let start = at + "```json\n".len();
            let Some(block) = text[start..].split("```").next() else { continue };
            blocks += 1;
            // A block of several values is JSON Lines.
            let values = serde_json::Deserializer::from_str(block).into_iter::<serde_json::Value>();
            if let Some(error) = values.filter_map(Result::err).next() {
                invalid.push(format!("{path}:{}: {error}", line(text, at)));
            }
        }
    }
    assert!(blocks > 20, "only {blocks} blocks were found: they are no longer read");
    none(&invalid, "These blocks are not JSON");
}

#[test]
fn cited_rulings_have_a_heading_in_the_specification() {
    // In two pieces, so that this line cites none.
    const MARK: &str = concat!("ruling", ": ");
    let repository = Repository::read();
    let text = repository.text(SPECIFICATION);
    let rulings: Vec<&str> = headings(text).filter_map(|heading| heading.strip_prefix(MARK)).collect();
    let mut unknown = Vec::new();
    for (path, text) in &repository.files {
        for (at, _) in text.match_indices(MARK) {
            let cited = &text[at + MARK.len()..];
            let is_this = |name: &&str| {
                let rest = cited.strip_prefix(*name);
                rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            };
            if !rulings.iter().any(is_this) {
                let cited = cited.lines().next().unwrap_or_default();
                unknown.push(format!("{path}:{} cites {MARK}{cited}", line(text, at)));
            }
        }
    }
    assert!(!rulings.is_empty(), "{SPECIFICATION} has no rulings");
    none(&unknown, "These rulings have no heading in docs/specification.md");
}

#[test]
fn cited_rules_and_invariants_are_in_the_correctness_page() {
    let repository = Repository::read();
    let first = |heading: &str| rules(heading).into_iter().next().filter(|rule| heading.starts_with(rule));
    let known: BTreeSet<String> = headings(repository.text(RULES)).filter_map(first).collect();
    let mut cited = 0;
    let mut unknown = Vec::new();
    for (path, text) in &repository.files {
        for (number, comment) in comments(path, text) {
            for rule in rules(&comment) {
                cited += 1;
                if !known.contains(&rule) {
                    unknown.push(format!("{path}:{number} cites {rule}"));
                }
            }
        }
    }
    assert!(cited > 50, "only {cited} citations were found: they are no longer read");
    none(&unknown, "These rules and invariants have no heading in docs/internals/correctness.md");
}

/// Links of every Markdown page lead to a file, and to a heading of it if they name one.
#[test]
fn links_of_every_page_have_targets() {
    let repository = Repository::read();
    let (mut checked, mut broken) = (0, Vec::new());
    for (page, text) in repository.files.iter().filter(|(path, _)| path.ends_with(".md")) {
        for (number, link) in page_links(text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let (path, anchor) =
                link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
            let target = if path.is_empty() { page.clone() } else { resolve(page, path) };
            let has_anchor = |anchor: &str| {
                let text = repository.files.get(&target).map_or("", String::as_str);
                !target.ends_with(".md") || headings(text).any(|heading| slug(heading) == anchor)
            };
            if !repository.has(&target) || !anchor.is_none_or(has_anchor) {
                broken.push(format!("{page}:{number} links to {link}"));
            }
        }
    }
    assert!(checked > 200, "only {checked} links were found");
    none(&broken, "These links have no target");
}

/// Returns the links of a page outside of code blocks, with their lines.
fn page_links(text: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            found.extend(links(line).map(|link| (number + 1, link)));
        }
    }
    found
}

/// Returns the path of a link's target, relative to the root of the repository.
fn resolve(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Returns the anchor that forges and mdBook give a heading.
fn slug(heading: &str) -> String {
    let text = heading.split("](").next().unwrap_or(heading).trim_start_matches('[');
    let lower = text.to_lowercase();
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn files_and_tests_named_in_documents_exist() {
    let repository = Repository::read();
    let mut named = 0;
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        let Some(text) = repository.files.get(document) else {
            missing.push(format!("{document} itself"));
            continue;
        };
        for (number, name) in names(text) {
            let found = match name {
                Name::Code(code) => repository.has_code(code),
                Name::Link(link) => repository.has_link(document, link),
            };
            named += usize::from(found.is_some());
            if found == Some(false) {
                missing.push(format!("{document}:{number} names {}", name.text()));
            }
        }
    }
    none(&missing, "These are not in the repository");
    assert!(named > 200, "only {named} names were found: they are no longer read");
}

#[test]
fn cited_documents_are_in_the_repository() {
    // In two pieces each, so that this file has none of them.
    let absent =
        [["DESIGN", " §"], ["LIFE", "CYCLE"], ["READING", ".md"], ["FACTS", ".md"], ["STYLE", ".md"]]
            .map(|pieces| pieces.concat());
    let repository = Repository::read();
    let mut cited = Vec::new();
    for (path, text) in &repository.files {
        for word in &absent {
            let places = text.match_indices(word.as_str());
            cited.extend(places.map(|(at, _)| format!("{path}:{} cites {word}", line(text, at))));
        }
    }
    none(&cited, "These cite documents that are not in the repository");
}

#[test]
fn every_citation_syntax_is_parsed() {
    let read = |text: &str| clauses(text).into_iter().map(|(_, clause)| clause).collect::<Vec<_>>();
    let clause = |record: &str, section: &str| format!("{record} §{section}");
    let [a, d] = ["AGN-034", "DD-002B"].map(str::to_owned);
    assert_eq!(read("(AGN-034 §4.5, §4.6) and DD-002B."), [clause(&a, "4.5"), clause(&a, "4.6"), d.clone()]);
    assert_eq!(read("AGN-034 §4.1 to §4.3; AGN-034"), [clause(&a, "4.1"), clause(&a, "4.3"), a.clone()]);
    assert_eq!(read("AGN-034 §2 and §3's, DD-002B, RFC 8785 §3.2"), [clause(&a, "2"), clause(&a, "3"), d]);
    assert_eq!(
        read("/// (AGN-034\n    //! §5.) \"AGN-034 \\\n   §2.1\""),
        [clause(&a, "5"), clause(&a, "2.1")]
    );
    assert_eq!(read("ADD-001 DD-01 AGN-0344 agn-034"), [""; 0]);
    assert_eq!(read("AGN-013/014"), ["AGN-013", "AGN-014"]);
    assert_eq!(
        rules("Rules 3, 5 and 9 of it, rule 8; I4, I16: rule of HI4 I4x"),
        ["Rule 3", "Rule 5", "Rule 9", "Rule 8", "I4", "I16"]
    );
}

/// Fails with the whole list, unless it is empty.
#[track_caller]
fn none(offenders: &[String], what: &str) {
    assert!(offenders.is_empty(), "{what} ({}):\n{}", offenders.len(), offenders.join("\n"));
}

/// Minified libraries of others, whose text is not ours.
const LIBRARIES: &str = "clients/console/vendor/";

/// The text files of the repository.
struct Repository {
    files: BTreeMap<String, String>,
    folders: BTreeSet<String>,
}

impl Repository {
    /// Reads the tracked files, and the untracked ones that are not ignored.
    fn read() -> Self {
        let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root)
            .output()
            .expect("git runs");
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let listed = String::from_utf8(listed.stdout).expect("paths are UTF-8");
        let mut files = BTreeMap::new();
        let mut folders = BTreeSet::new();
        for path in listed.split_terminator('\0') {
            // Git also lists what was deleted and not yet committed.
            let Ok(bytes) = fs::read(root.join(path)) else { continue };
            folders.extend(Path::new(path).ancestors().skip(1).filter_map(Path::to_str).map(str::to_owned));
            let text = if path.starts_with(LIBRARIES) { Vec::new() } else { bytes };
            files.insert(path.to_owned(), String::from_utf8(text).unwrap_or_default());
        }
        Self { files, folders }
    }

    /// A document's text.
    #[track_caller]
    fn text(&self, path: &str) -> &str {
        self.files.get(path).unwrap_or_else(|| panic!("{path} is not there"))
    }

    fn has(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.folders.contains(path)
    }

    /// True if the file or test named in backticks exists; none for other text.
    fn has_code(&self, code: &str) -> Option<bool> {
        let (path, test) = code.split_once("::").map_or((code, None), |(path, test)| (path, Some(test)));
        let path = path.strip_suffix('/').unwrap_or(path);
        let is_part = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        };
        let first = path.split('/').next().unwrap_or_default();
        let is_path = if path.contains('/') {
            path.split('/').all(is_part)
                && (self.folders.contains(first) || ENDINGS.iter().any(|ending| path.ends_with(ending)))
        } else {
            self.files.contains_key(path)
        };
        is_path.then(|| self.has(path) && test.is_none_or(|test| self.has_test(path, test)))
    }

    /// True if a file, or one below a folder, has a test of this name. Module names may precede it.
    fn has_test(&self, path: &str, test: &str) -> bool {
        let below = format!("{path}/");
        let mut words: Vec<String> = test.split("::").map(|module| format!("mod {module}")).collect();
        let name = words.pop().unwrap_or_default().replacen("mod ", "fn ", 1);
        words.push(name);
        let has = |text: &str, word: &str| {
            let is_whole =
                |at: usize| !text[at + word.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
            text.match_indices(word).any(|(at, _)| is_whole(at))
        };
        let of_path = |file: &str| file == path || file.starts_with(&below);
        self.files
            .iter()
            .filter(|(file, _)| of_path(file) && file.ends_with(".rs"))
            .any(|(_, text)| words.iter().all(|word| has(text, word)))
    }

    /// True if the target of a link exists; none for a link out of the repository.
    fn has_link(&self, document: &str, link: &str) -> Option<bool> {
        let target = link.split('#').next().unwrap_or_default();
        if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
            return None;
        }
        Some(self.has(&resolve(document, target)))
    }
}

/// The clauses that have a row: what stands in backticks at the beginning of a table's line.
fn rows(text: &str) -> BTreeSet<String> {
    let ids = text.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0));
    ids.map(str::to_owned).collect()
}

/// The texts of a page's headings.
fn headings(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim())
}

/// Every clause that a text cites, and where.
fn clauses(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for prefix in RECORDS {
        for (at, _) in text.match_indices(prefix) {
            let Some((record, rest)) = record(&text[at..], prefix) else { continue };
            if text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '-') {
                continue;
            }
            let sections = sections(rest);
            if sections.is_empty() {
                found.push((at, record.clone()));
            }
            found.extend(sections.into_iter().map(|section| (at, format!("{record} §{section}"))));
            // Two records in one breath, the second by its number alone.
            let second = rest.strip_prefix('/').and_then(|rest| rest.get(..3)).filter(|rest| is_number(rest));
            found.extend(second.map(|number| (at, format!("{prefix}{number}"))));
        }
    }
    found.sort();
    found
}

/// A record's name, three digits and perhaps a letter, and what follows it.
fn record<'a>(text: &'a str, prefix: &str) -> Option<(String, &'a str)> {
    let digits = text.get(prefix.len()..prefix.len() + 3)?;
    let mut end = prefix.len() + digits.len();
    if !is_number(digits) {
        return None;
    }
    if text[end..].starts_with(['A', 'B', 'C', 'D']) {
        end += 1;
    }
    let rest = &text[end..];
    (!rest.starts_with(char::is_alphanumeric)).then(|| (text[..end].to_owned(), rest))
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|digit| digit.is_ascii_digit())
}

/// The sections that follow a record's name: `§4.5, §4.6`, `§2 and §3`, `§4.1 to §4.3`.
fn sections(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(section) = beyond_gap(rest).strip_prefix('§') {
        let length = section.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(section.len());
        if length == 0 {
            break;
        }
        found.push(section[..length].trim_end_matches('.').to_owned());
        rest = &section[length..];
        let Some(next) = beyond_word(rest) else { break };
        rest = next;
    }
    found
}

/// Skips the word between two numbers of a list.
fn beyond_word(text: &str) -> Option<&str> {
    [", and ", ", ", " and ", " to "].iter().find_map(|word| text.strip_prefix(word))
}

/// Skips blanks, line ends, and comment markers at the beginning of a line.
fn beyond_gap(text: &str) -> &str {
    let mut rest = text.trim_start_matches(' ');
    loop {
        let next = rest.strip_prefix('\\').unwrap_or(rest);
        let Some(next) = next.trim_start_matches('\r').strip_prefix('\n') else { return rest };
        let next = next.trim_start();
        let marks = ["//!", "///", "//", "#"];
        rest = marks.iter().find_map(|mark| next.strip_prefix(mark)).unwrap_or(next).trim_start_matches(' ');
    }
}

/// The rules and invariants that a text cites: `Rule 3`, `I4`.
fn rules(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in text.match_indices("ule").filter(|(at, _)| text[..*at].ends_with(['r', 'R'])) {
        let before = &text[..at - 1];
        let after = &text[at + "ule".len()..];
        let Some(mut rest) = after.strip_prefix("s ").or_else(|| after.strip_prefix(' ')) else { continue };
        while !before.ends_with(is_word) {
            let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            if length == 0 {
                break;
            }
            found.push((at, format!("Rule {}", &rest[..length])));
            rest = &rest[length..];
            let Some(next) = beyond_word(rest) else { break };
            rest = next;
        }
    }
    for (at, _) in text.match_indices('I') {
        let rest = &text[at + 1..];
        let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let is_alone =
            !text[..at].ends_with(|c| is_word(c) || c == '-') && !rest[length..].starts_with(is_word);
        if (1..=2).contains(&length) && is_alone {
            found.push((at, format!("I{}", &rest[..length])));
        }
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, rule)| rule).collect()
}

/// The comments of a file, line by line; a page is one from its first to its last.
fn comments(path: &str, text: &str) -> Vec<(usize, String)> {
    let mark = match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("md") => "",
        Some("rs" | "mjs" | "js" | "html") => "//",
        Some("json" | "snap" | "lock" | "txt") => return Vec::new(),
        _ => "#",
    };
    let comment = |line: &str| Some(line.split_once(mark)?.1.to_owned());
    let of_line = |line: &str| if mark.is_empty() { Some(line.to_owned()) } else { comment(line) };
    (1..).zip(text.lines()).filter_map(|(number, line)| Some((number, of_line(line)?))).collect()
}

/// A name on a page.
#[derive(Clone, Copy)]
enum Name<'a> {
    /// In backticks.
    Code(&'a str),
    /// As the target of a link.
    Link(&'a str),
}

impl<'a> Name<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Code(text) | Self::Link(text) => text,
        }
    }
}

/// Everything that a page names outside of its fenced blocks, and the line.
fn names(text: &str) -> Vec<(usize, Name<'_>)> {
    let mut found = Vec::new();
    let mut fence = None;
    for (number, line) in (1..).zip(text.lines()) {
        let ticks = line.trim_start().bytes().take_while(|byte| *byte == b'`').count();
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            Some(open) if ticks >= open => fence = None,
            Some(_) => {}
            None => {
                found.extend(line.split('`').skip(1).step_by(2).map(|code| (number, Name::Code(code))));
                found.extend(links(line).map(|link| (number, Name::Link(link))));
            }
        }
    }
    found
}

/// The targets of a line's links. What stands in backticks is no link, but a link's text may.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let ends = line.match_indices("](").filter(|(at, _)| line[..*at].matches('`').count().is_multiple_of(2));
    ends.filter_map(|(at, mark)| Some(line[at + mark.len()..].split_once(')')?.0))
}

/// The number of the line that a place is in.
fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
