//! Excerpts of long text.

use contracts::text::one_line;
use protocol::detail::Excerpt;

use crate::text::head;

/// Maximum length of an excerpt, in Unicode scalar values.
pub const MAX_EXCERPT_CHARS: usize = 1_024;

/// Maximum length of a session's name, in Unicode scalar values.
const MAX_NAME_CHARS: usize = 80;

/// Minimum length of a sentence that is a name by itself, in Unicode scalar values. Shorter ones can be abbreviations.
const MIN_SENTENCE_CHARS: usize = 16;

/// Returns the head of a text: at most [`MAX_EXCERPT_CHARS`] scalar values, truncated as [`head`] does.
#[must_use]
pub fn excerpt_of(text: &str) -> Excerpt {
    let head = head(text, MAX_EXCERPT_CHARS);
    Excerpt { text: head.to_owned(), is_truncated: head.len() < text.len() }
}

/// Returns a session's default name: the first line of its first instruction that says something, without Markdown.
///
/// Code blocks, greetings, and what a coding agent puts before its user's words are skipped if another line follows. A longer line is cut after its first sentence, or
/// else after a word. Control and direction characters are removed, as in a title.
///
/// # Examples
/// ```
/// use agent::text::excerpt::session_name;
///
/// assert_eq!(session_name(Some("Hi!\n\n## Fix the `build`")), "Fix the build");
/// ```
#[must_use]
pub fn session_name(instruction: Option<&str>) -> String {
    let text = instruction.unwrap_or_default();
    let has_word = |line: &String| line.contains(char::is_alphanumeric);
    let said = Some(after_agent_blocks(text)).filter(|said| !said.is_empty()).unwrap_or(text);
    let line = prose_lines(said).map(plain_line).find(|line| is_telling(line));
    let line = line.or_else(|| text.lines().map(plain_line).find(has_word));
    // An instruction without letters and digits is its own name.
    let line = line.or_else(|| text.lines().map(one_line).find(|line| !line.is_empty()));
    shorten(&line.unwrap_or_else(|| "Untitled session".to_owned()))
}

/// Returns a session's name from the title that a model wrote: its first line with a word, as plain text.
///
/// Markdown, a label, quotation marks around it and a final period are removed. Returns `None` if no word is left.
///
/// # Examples
/// ```
/// use agent::text::excerpt::name_from_title;
///
/// assert_eq!(name_from_title("**Title:** \"Leases.\"").as_deref(), Some("Leases"));
/// ```
#[must_use]
pub fn name_from_title(text: &str) -> Option<String> {
    let has_word = |line: &str| line.contains(char::is_alphanumeric);
    let line = prose_lines(text).map(plain_line).find(|line| has_word(line))?;
    let title = match line.split_once(':') {
        Some((label, rest)) if label.eq_ignore_ascii_case("title") => rest.trim(),
        _ => line.as_str(),
    };
    let title = without_period(without_quotes(without_period(title)));
    has_word(title).then(|| shorten(title))
}

/// Quotation marks. An opening one in one language closes in another.
const QUOTES: &str = "\"'“”„‟‘’‚‛«»‹›「」『』";

/// Removes quotation marks around a whole text.
fn without_quotes(text: &str) -> &str {
    let is_quote = |c: char| QUOTES.contains(c);
    let inner = text.strip_prefix(is_quote).and_then(|inner| inner.strip_suffix(is_quote));
    // Marks that open and close within it quote only parts of it.
    inner
        .filter(|inner| text.chars().next().is_none_or(|first| !inner.contains(first)))
        .map_or(text, str::trim)
}

fn without_period(text: &str) -> &str {
    text.strip_suffix(['.', '。']).map_or(text, str::trim_end)
}

/// Greetings that are no subject, in lower case.
const GREETINGS: [&str; 10] = [
    "hi",
    "hello",
    "hey",
    "hi there",
    "hello there",
    "hey there",
    "good morning",
    "good afternoon",
    "good evening",
    "dear all",
];

/// Returns the text after the blocks that a coding agent puts before its user's words, such as `<environment_context>` or
/// `<system-reminder>`. Their names have two words, unlike those of HTML.
fn after_agent_blocks(text: &str) -> &str {
    let block = |text: &str| -> Option<usize> {
        let (name, _) = text.strip_prefix('<')?.split_once('>')?;
        let is_name =
            name.contains(['_', '-', ' ']) && name.chars().all(|c| c.is_alphabetic() || "_- ".contains(c));
        let end = format!("</{}>", Some(name).filter(|_| is_name)?);
        Some(text.find(&end)?.saturating_add(end.len()))
    };
    let mut rest = text.trim_start();
    while let Some(after) = block(rest).and_then(|end| rest.get(end..)) {
        rest = after.trim_start();
    }
    rest
}

/// Returns the lines outside of fenced code blocks.
fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = ["```", "~~~"].iter().any(|fence| line.trim_start().starts_with(fence));
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Removes the marks of Markdown: headings, quotes, list items, emphasis and code. Also removes what isn't visible.
fn plain_line(line: &str) -> String {
    let body =
        line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '>' | '-' | '*' | '+'));
    let body = match body.split_once(". ") {
        Some((number, rest)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => body,
    };
    one_line(&body.replace("**", "").replace('`', ""))
}

fn is_telling(line: &str) -> bool {
    let words = line.trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    !words.is_empty() && !GREETINGS.contains(&words.as_str())
}

/// Shortens a line to [`MAX_NAME_CHARS`]: after its first sentence, after a word, or at a grapheme boundary.
fn shorten(line: &str) -> String {
    let cut = head(line, MAX_NAME_CHARS);
    if cut.len() == line.len() {
        return line.to_owned();
    }
    let sentence = cut.char_indices().find_map(|(at, c)| {
        let (before, rest) = cut.split_at(at);
        let is_followed_by_space = rest.strip_prefix(c).is_some_and(|after| after.starts_with(' '));
        let is_end = matches!(c, '.' | '?' | '!') && is_followed_by_space || matches!(c, '。' | '？' | '！');
        let is_stop = matches!(c, '.' | '。');
        let end = if is_stop { at } else { at + c.len_utf8() };
        (is_end && before.chars().count() >= MIN_SENTENCE_CHARS).then_some(end)
    });
    if let Some(end) = sentence {
        return cut.split_at(end).0.to_owned();
    }
    let cut = head(line, MAX_NAME_CHARS - 1);
    let end = cut.rfind(char::is_whitespace).filter(|&end| end > cut.len() / 2).unwrap_or(cut.len());
    let words = cut.split_at(end).0;
    format!("{}…", words.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_at_limit_is_complete_and_longer_is_truncated() {
        let text = "é".repeat(1_024);
        assert_eq!(excerpt_of(&text), Excerpt { text: text.clone(), is_truncated: false });
        assert_eq!(excerpt_of(&"é".repeat(1_025)), Excerpt { text, is_truncated: true });
    }

    #[test]
    fn excerpt_never_splits_grapheme() {
        // A family emoji has seven scalar values. Only complete ones stay.
        let family = "👨‍👩‍👧‍👦";
        let Excerpt { text: summary, is_truncated: is_cut } = excerpt_of(&family.repeat(400));
        assert!(is_cut);
        assert_eq!(summary.chars().count() % family.chars().count(), 0);
        assert!(summary.chars().count() <= MAX_EXCERPT_CHARS);
    }

    #[test]
    fn session_name_is_first_telling_line() {
        for (instruction, name) in [
            ("\n  Fix the build \nplease", "Fix the build"),
            ("Hello!\n\nFix the build.", "Fix the build."),
            ("Hello", "Hello"),
            ("## Fix the **slow** `build`\nIt takes an hour.", "Fix the slow build"),
            ("- first\n- second", "first"),
            ("1. Fix it", "Fix it"),
            ("```rust\nfn main() {}\n```\nWhat does this do?", "What does this do?"),
            ("```rust\nfn main() {}\n```", "rust"),
            ("> quoted\nanswer", "quoted"),
            ("???", "???"),
            ("2 + 2", "2 + 2"),
            ("<environment_context>\n<cwd>/a</cwd>\n</environment_context>\n\nFix it", "Fix it"),
            (
                "<system-reminder>\nBe kind.\n</system-reminder>\n<user_instructions>x</user_instructions> Fix it",
                "Fix it",
            ),
            ("<system-reminder>Be kind.</system-reminder>", "<system-reminder>Be kind.</system-reminder>"),
            ("<b>Fix</b> it", "<b>Fix</b> it"),
            ("Fix\u{202e} the\tbuild\u{7}", "Fix the build"),
            ("\u{2066}\u{0}\n\u{1b}[2K???", "[2K???"),
            ("\u{202e}\u{1b}", "Untitled session"),
            ("\u{301}\u{302}", "\u{301}\u{302}"),
        ] {
            assert_eq!(session_name(Some(instruction)), name, "{instruction:?}");
        }
        assert_eq!(session_name(None), "Untitled session");
        assert_eq!(session_name(Some(" \n ")), "Untitled session");
    }

    #[test]
    fn title_is_one_plain_line_without_label_and_quotes() {
        for (text, name) in [
            ("Leases", Some("Leases")),
            ("  \n\"How leases end.\"\nIt is about leases.", Some("How leases end")),
            ("**Title:** How leases end", Some("How leases end")),
            ("title: ‘Leases’.", Some("Leases")),
            ("# «Fin des baux»", Some("Fin des baux")),
            ("「リースの終わり」。", Some("リースの終わり")),
            ("\"Rev\" and \"Seq\"", Some("\"Rev\" and \"Seq\"")),
            ("Retries: why they wait", Some("Retries: why they wait")),
            ("Ada's leases", Some("Ada's leases")),
            ("a\tb\u{7}c \u{202e}d\re", Some("a bc d e")),
            ("```\ncode\n```\nA title", Some("A title")),
            ("", None),
            ("\"...\"", None),
            ("Title:", None),
        ] {
            assert_eq!(name_from_title(text).as_deref(), name, "{text:?}");
        }
        let long = name_from_title(&"word ".repeat(100)).unwrap();
        assert!(long.chars().count() <= MAX_NAME_CHARS && long.ends_with("word…"), "{long}");
    }

    #[test]
    fn long_session_name_ends_after_sentence_or_word() {
        let more = "and much more about it ".repeat(10);
        assert_eq!(
            session_name(Some(&format!("Why does the retry wait twice? {more}"))),
            "Why does the retry wait twice?"
        );
        assert_eq!(
            session_name(Some(&format!("Move the cache into its own crate. {more}"))),
            "Move the cache into its own crate"
        );
        let name = session_name(Some(&format!("Compare, e.g. with a table, {more}")));
        assert_eq!(name, "Compare, e.g. with a table, and much more about it and much more about it and…");
        let long_word = session_name(Some(&"é".repeat(200)));
        assert_eq!(long_word, format!("{}…", "é".repeat(79)));
        assert!(session_name(Some(&"word ".repeat(100))).chars().count() <= MAX_NAME_CHARS);
        // One grapheme that is longer than a name.
        let marks = session_name(Some(&"\u{301}".repeat(200)));
        assert_eq!(marks, format!("{}…", "\u{301}".repeat(79)));
        assert_eq!(excerpt_of(&"\u{301}".repeat(2_000)).text.chars().count(), MAX_EXCERPT_CHARS);
    }
}
