//! Text of a server, as a person can review it.

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{DefaultIgnorableCodePoint, GeneralCategory},
};

/// The presentation selector of emoji. It is common, and carries no text.
const EMOJI_PRESENTATION: char = '\u{fe0f}';

/// Returns true for characters that show nothing or change the order of others: controls, directions, tags, zero widths
/// and variation selectors. A model reads them, and a person who accepts a description doesn't see them.
fn is_hidden(c: char) -> bool {
    if matches!(c, '\n' | '\t' | EMOJI_PRESENTATION) {
        return false;
    }
    CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
        || matches!(
            CodePointMapData::<GeneralCategory>::new().get(c),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
                | GeneralCategory::PrivateUse
                | GeneralCategory::Unassigned
        )
}

/// Returns true if the text holds a hidden character.
pub(crate) fn has_hidden(text: &str) -> bool {
    text.chars().any(is_hidden)
}

/// Returns the text with hidden characters as escapes, such as `\u{202e}`.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Returns the visible text in at most `limit` bytes, with an ellipsis where the rest is missing. For messages alone: a
/// description that is too long excludes its tool.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    // An escape is longer than its character, so the source is cut first and the result once more.
    let source = &text[..text.floor_char_boundary(limit)];
    let mut shown = visible(source);
    if source.len() < text.len() || shown.len() > limit {
        shown.truncate(shown.floor_char_boundary(limit.saturating_sub('…'.len_utf8())));
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_become_escapes() {
        let cases = [
            ("a\u{202e}b", "a\\u{202e}b"),
            ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"),
            ("\u{e0041}\u{e007f}", "\\u{e0041}\\u{e007f}"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
            ("soft\u{ad}hyphen\u{1b}[31m", "soft\\u{ad}hyphen\\u{1b}[31m"),
            ("\u{e0100}\u{3164}\u{2028}", "\\u{e0100}\\u{3164}\\u{2028}"),
            ("a\r\nb", "a\\u{d}\nb"),
        ];
        for (text, shown) in cases {
            assert_eq!(visible(text), shown);
            assert!(has_hidden(text));
            assert!(!has_hidden(shown));
        }
    }

    #[test]
    fn visible_text_is_unchanged() {
        for text in ["List\tfiles.\nIn a folder.", "Ünïcödé עברית 漢字", "✔\u{fe0f} 🙂", "e\u{301}"]
        {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn excerpt_has_at_most_its_bytes() {
        assert_eq!(excerpt("short", 8), "short");
        assert_eq!(excerpt("a longer text", 8), "a lon…");
        assert_eq!(excerpt("ééééé", 8), "éé…");
        assert!(excerpt(&"\u{202e}".repeat(100), 64).len() <= 64);
    }
}
