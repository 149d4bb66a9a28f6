//! Turns the model's text into a safe file name.
//!
//! Names are rewritten and not rejected, since a rejection makes the model send the whole file again. The name
//! becomes part of an object key, of a link, and of a name on a user's disk, so only characters that suit all three
//! remain.

use contracts::request::FileName;

/// The maximum length of a name, in characters.
const MAX_CHARS: usize = 60;

/// The maximum length of a percent-encoded name, as in keys and links. File systems allow names of 255 bytes.
const MAX_ENCODED_BYTES: usize = 240;

/// The maximum length of an extension that is preserved when a name is cut.
const MAX_EXTENSION_CHARS: usize = 12;

/// Names that Windows reserves for devices, with any extension.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Returns one safe path segment, or `None` if no character remains.
///
/// Letters and digits of any script stay, and `_`, `-` and single dots between other characters. Everything else,
/// including slashes and control characters, becomes `_`.
pub(super) fn sanitize(name: &str) -> Option<FileName> {
    let mut sanitized = String::new();
    for char in name.chars() {
        let char = if char.is_alphanumeric() || matches!(char, '-' | '.') { char } else { '_' };
        // Collapse runs, so that no `..` and no row of underscores from a path's slashes remains.
        if char.is_alphanumeric() || !sanitized.ends_with(char) {
            sanitized.push(char);
        }
    }
    let sanitized = sanitized.trim_matches(['.', '_', '-']);
    if sanitized.is_empty() {
        return None;
    }
    let mut shortened = shorten(sanitized);
    if is_device(&shortened) {
        shortened.insert(0, '_');
    }
    FileName::new(&shortened).ok()
}

/// Shortens a long name but preserves its extension.
fn shorten(name: &str) -> String {
    let fits = |chars: usize, bytes: usize| chars <= MAX_CHARS && bytes <= MAX_ENCODED_BYTES;
    if fits(name.chars().count(), name.chars().map(encoded_len).sum()) {
        return name.to_owned();
    }
    let (stem, extension) = name
        .rfind('.')
        .and_then(|dot| name.split_at_checked(dot))
        .filter(|(_, extension)| extension.chars().count() <= MAX_EXTENSION_CHARS)
        .unwrap_or((name, ""));
    let (mut chars, mut bytes) = (extension.chars().count(), extension.chars().map(encoded_len).sum());
    let stem = stem.chars().take_while(|char| {
        (chars, bytes) = (chars + 1, bytes + encoded_len(*char));
        fits(chars, bytes)
    });
    // The cut may leave a dot before the extension's dot.
    stem.collect::<String>().trim_end_matches(['.', '_', '-']).to_owned() + extension
}

/// Returns the number of bytes of a percent-encoded character.
fn encoded_len(char: char) -> usize {
    if char.is_ascii() { 1 } else { 3 * char.len_utf8() }
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_lowercase();
    let numbered = |prefix| {
        let mut rest = stem.strip_prefix(prefix).unwrap_or_default().chars();
        // Superscript digits count for Windows too.
        matches!((rest.next(), rest.next()), (Some(digit), None) if digit.is_numeric())
    };
    DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sanitized_name(name: &str) -> Option<String> {
        sanitize(name).map(String::from)
    }

    #[test]
    fn names_are_sanitized() {
        for (raw, expected) in [
            ("report.md", "report.md"),
            ("Übersicht-2.csv", "Übersicht-2.csv"),
            ("src/app/main.rs", "src_app_main.rs"),
            (r"C:\temp\x.txt", "C_temp_x.txt"),
            ("../../etc/passwd", "etc_passwd"),
            (".gitignore", "gitignore"),
            ("a..b", "a.b"),
            ("a\0b\n.txt", "a_b_.txt"),
            ("%2e%2e%2fx", "2e_2e_2fx"),
            ("nul.txt", "_nul.txt"),
            ("COM1", "_COM1"),
            ("lpt²", "_lpt²"),
            ("comb.txt", "comb.txt"),
            ("console.log", "console.log"),
            ("evil\u{202e}gnp.exe", "evil_gnp.exe"),
        ] {
            assert_eq!(sanitized_name(raw).as_deref(), Some(expected), "{raw}");
        }
        for nothing in ["", " ", "..", "///", "\0", "._-"] {
            assert_eq!(sanitized_name(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn long_name_keeps_its_extension() {
        let long = sanitized_name(&format!("{}.json", "x".repeat(100))).unwrap();
        assert_eq!(long.chars().count(), MAX_CHARS);
        assert!(long.ends_with("x.json"));
        for stem in ["x", "é", "日", "𝔞"] {
            for chars in [100, 300, 100_000] {
                let long = sanitized_name(&format!("{}.json", stem.repeat(chars))).unwrap();
                assert!(long.ends_with(&format!("{stem}.json")), "{long}");
                assert!(long.chars().count() <= MAX_CHARS, "{long}");
                assert!(long.chars().map(encoded_len).sum::<usize>() <= MAX_ENCODED_BYTES, "{long}");
            }
        }
        assert_eq!(sanitized_name(&"a.".repeat(300)).unwrap().chars().count(), MAX_CHARS - 1);
    }

    proptest! {
        #[test]
        fn sanitized_name_is_never_a_path(raw in prop_oneof![
            any::<String>(),
            r"[./\\~:%\x00a-c ]{0,40}",
            r"(\.\./|\.\.\\|%2e|\x00|con|nul|com1|[a-z.]){0,12}",
        ]) {
            if let Some(name) = sanitized_name(&raw) {
                prop_assert!(!name.contains("..") && !name.starts_with('.') && !name.ends_with('.'), "{name:?}");
                prop_assert!(!name.chars().any(|c| c.is_control() || "/\\:%~<>\"|?* \u{202e}".contains(c)), "{name:?}");
                let bytes: usize = name.chars().map(encoded_len).sum();
                prop_assert!((1..=255).contains(&bytes), "{name:?}");
                prop_assert!(!is_device(&name), "{name:?}");
                prop_assert_eq!(sanitized_name(&name).map(|n| n.trim_matches('_').to_owned()), Some(name.trim_matches('_').to_owned()));
            }
        }
    }
}
