//! Converts the main content of an HTML page into Markdown. The work is linear in the page's length.

/// A converted page.
pub(super) struct Page {
    pub(super) title: Option<String>,
    pub(super) markdown: String,
}

/// Elements whose content is not the page's text.
const SKIPPED: &[&str] = &[
    "script", "style", "template", "noscript", "svg", "math", "iframe", "object", "select", "button", "form",
    "nav", "footer", "aside", "head", "title",
];

/// Elements that begin and end on lines of their own.
const BLOCKS: &[&str] = &[
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "ul",
    "ol",
    "dl",
    "dt",
    "dd",
    "table",
    "blockquote",
    "figure",
    "figcaption",
    "hr",
    "details",
    "summary",
    "address",
];

/// Elements that hold the main content, best first.
const MAIN: &[&str] = &["main", "article", "body"];

/// The maximum indentation of nested lists, in levels.
const MAX_INDENT: usize = 6;

/// Converts a page.
pub(super) fn convert(html: &str) -> Page {
    // Of the same length as the page, since only ASCII letters change.
    let lower = html.to_ascii_lowercase();
    let title = between(html, &lower, "title")
        .map(|title| decode(&title.split_whitespace().collect::<Vec<_>>().join(" ")));
    let main = MAIN.iter().find_map(|name| between(html, &lower, name)).unwrap_or(html);
    let mut writer = Writer::default();
    let lower = main.to_ascii_lowercase();
    let mut rest = 0;
    // Elements that are never closed from here on. They hide nothing, and are looked for once.
    let mut unclosed: Vec<&str> = Vec::new();
    while let Some(tag) = next_tag(main, &lower, rest) {
        writer.text(main.get(rest..tag.from).unwrap_or_default());
        rest = tag.to;
        if SKIPPED.contains(&tag.name) && !tag.is_end {
            if !unclosed.contains(&tag.name) {
                match end_of(&lower, tag.name, tag.to) {
                    Some(end) => rest = end,
                    None => unclosed.push(tag.name),
                }
            }
            continue;
        }
        writer.tag(tag.name, tag.is_end);
    }
    writer.text(main.get(rest..).unwrap_or_default());
    Page { title: title.filter(|title| !title.is_empty()), markdown: writer.output.trim().to_owned() }
}

/// Returns the content of the first element of this name, up to its last closing tag.
fn between<'a>(html: &'a str, lower: &str, name: &str) -> Option<&'a str> {
    let open = format!("<{name}");
    let mut starts = lower.match_indices(&open).map(|(at, _)| at + open.len());
    let after_name = starts.find(|at| {
        lower.as_bytes().get(*at).is_some_and(|byte| matches!(byte, b'>' | b' ' | b'\n' | b'\t'))
    })?;
    let from = tag_end(lower.as_bytes(), after_name);
    let close = format!("</{name}");
    let to = if name == "title" {
        lower.get(from..)?.find(&close).map(|at| from + at)
    } else {
        lower.rfind(&close)
    };
    html.get(from..to.filter(|to| *to >= from).unwrap_or(html.len()))
}

struct Tag<'a> {
    name: &'a str,
    is_end: bool,
    from: usize,
    to: usize,
}

/// Returns the next tag at or after a byte. Comments and declarations are tags without a name.
fn next_tag<'a>(html: &str, lower: &'a str, start: usize) -> Option<Tag<'a>> {
    let bytes = lower.as_bytes();
    let mut at = start;
    loop {
        let from = at + lower.get(at..)?.find('<')?;
        if lower.get(from..)?.starts_with("<!--") {
            let to = lower.get(from + 4..)?.find("-->").map_or(html.len(), |end| from + 4 + end + 3);
            return Some(Tag { name: "", is_end: false, from, to });
        }
        let is_end = bytes.get(from + 1) == Some(&b'/');
        let begins = from + 1 + usize::from(is_end);
        let is_declaration = matches!(bytes.get(begins), Some(b'!' | b'?'));
        if !is_declaration && !bytes.get(begins).is_some_and(u8::is_ascii_lowercase) {
            at = from + 1;
            continue;
        }
        let rest = lower.get(begins..)?;
        let name = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).next().unwrap_or_default();
        return Some(Tag { name, is_end, from, to: tag_end(bytes, begins) });
    }
}

/// Returns the byte after the `>` that ends a tag; one in quotes doesn't.
fn tag_end(bytes: &[u8], from: usize) -> usize {
    let mut quote = None;
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        match (quote, *byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') if bytes.get(at - 1) == Some(&b'=') => quote = Some(*byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    bytes.len()
}

/// Returns the byte after an element's closing tag, without regard to nested elements of the same name.
fn end_of(lower: &str, name: &str, from: usize) -> Option<usize> {
    let close = format!("</{name}");
    let at = from + lower.get(from..)?.find(&close)?;
    Some(tag_end(lower.as_bytes(), at))
}

/// Writes Markdown.
#[derive(Default)]
struct Writer {
    output: String,
    list_depth: usize,
    is_preformatted: bool,
}

impl Writer {
    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = decode(text).replace('¶', "");
        if self.is_preformatted {
            self.output.push_str(&text);
            return;
        }
        let joins = |c: Option<char>| c.is_none_or(char::is_whitespace);
        for (index, word) in text.split_whitespace().enumerate() {
            let spaced = index > 0 || text.starts_with(char::is_whitespace);
            if spaced && !joins(self.output.chars().next_back()) {
                self.output.push(' ');
            }
            self.output.push_str(word);
        }
        if text.ends_with(char::is_whitespace) && !joins(self.output.chars().next_back()) {
            self.output.push(' ');
        }
    }

    fn tag(&mut self, name: &str, is_end: bool) {
        match (name, is_end) {
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", false) => {
                self.block();
                let depth = name.as_bytes().get(1).map_or(1, |digit| usize::from(digit - b'0'));
                self.output.push_str(&"#".repeat(depth));
                self.output.push(' ');
            }
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", true) => self.block(),
            ("pre", _) if self.is_preformatted != is_end => {}
            ("pre", false) => {
                self.block();
                self.output.push_str("```\n");
                self.is_preformatted = true;
            }
            ("pre", true) => {
                self.is_preformatted = false;
                self.line();
                self.output.push_str("```");
                self.block();
            }
            _ if self.is_preformatted => {}
            ("ul" | "ol", false) => {
                self.list_depth += 1;
                self.line();
            }
            ("ul" | "ol", true) => {
                self.list_depth = self.list_depth.saturating_sub(1);
                if self.list_depth == 0 { self.block() } else { self.line() }
            }
            ("li", false) => {
                self.line();
                self.output.push_str(&"  ".repeat(self.list_depth.saturating_sub(1).min(MAX_INDENT)));
                self.output.push_str("- ");
            }
            ("tr" | "br", _) => self.line(),
            ("td" | "th", true) => self.output.push_str(" | "),
            ("code", _) => self.output.push('`'),
            // A paragraph of an item stays on its line.
            ("p" | "div", false) if self.output.ends_with("- ") => {}
            (name, _) if BLOCKS.contains(&name) => self.block(),
            _ => {}
        }
    }

    fn line(&mut self) {
        let length = self.output.trim_end_matches(' ').len();
        self.output.truncate(length);
        if !self.output.is_empty() && !self.output.ends_with('\n') {
            self.output.push('\n');
        }
    }

    fn block(&mut self) {
        self.line();
        if !self.output.is_empty() && !self.output.ends_with("\n\n") {
            self.output.push('\n');
        }
    }
}

/// Decodes the references to characters that are common in texts. Others stay as they are.
fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        let name = after.get(..after.floor_char_boundary(12)).unwrap_or_default().split_once(';');
        match name.and_then(|(name, _)| Some((name, character(name)?))) {
            Some((name, character)) => {
                decoded.push(character);
                rest = after.get(name.len() + 1..).unwrap_or_default();
            }
            None => {
                decoded.push('&');
                rest = after;
            }
        }
    }
    decoded + rest
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']);
        let code = hex.map_or_else(|| number.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok())?;
        return char::from_u32(code).filter(|c| *c != '\0');
    }
    let named = [
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("nbsp", ' '),
        ("shy", '\u{ad}'),
        ("hellip", '…'),
        ("mdash", '—'),
        ("ndash", '–'),
        ("lsquo", '‘'),
        ("rsquo", '’'),
        ("ldquo", '“'),
        ("rdquo", '”'),
        ("laquo", '«'),
        ("raquo", '»'),
        ("bull", '•'),
        ("middot", '·'),
        ("times", '×'),
        ("deg", '°'),
        ("euro", '€'),
        ("copy", '©'),
        ("reg", '®'),
        ("trade", '™'),
        ("sect", '§'),
        ("para", '¶'),
        ("rarr", '→'),
        ("larr", '←'),
        ("auml", 'ä'),
        ("ouml", 'ö'),
        ("uuml", 'ü'),
        ("Auml", 'Ä'),
        ("Ouml", 'Ö'),
        ("Uuml", 'Ü'),
        ("szlig", 'ß'),
        ("eacute", 'é'),
        ("egrave", 'è'),
        ("ecirc", 'ê'),
        ("agrave", 'à'),
        ("aacute", 'á'),
        ("ccedil", 'ç'),
        ("iacute", 'í'),
        ("oacute", 'ó'),
        ("uacute", 'ú'),
        ("ntilde", 'ñ'),
        ("aring", 'å'),
        ("oslash", 'ø'),
    ];
    named.iter().find(|(known, _)| *known == name).map(|(_, character)| *character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn main_content_becomes_markdown() {
        let page = convert(
            "<!doctype html><html><head><title>Leases &amp; turns</title><style>p{}</style></head><body>\
             <nav><a href='/'>Home</a></nav><main class=\"a>b\"><header><h1>Leases<a>¶</a></h1></header>\
             <p>A <em>lease</em> is\n renewed.</p><script>if (a < b) { p() }</script>\
             <ul><li><p>One</p></li><li>Two<ul><li>Three</li></ul></li></ul>\
             <pre>fn a() {\n    b &lt; c\n}\n</pre><table><tr><th>Key</th><td>Value</td></tr></table></main>\
             <footer>Imprint</footer></body></html>",
        );
        assert_eq!(page.title.as_deref(), Some("Leases & turns"));
        let expected = "# Leases\n\nA lease is renewed.\n\n- One\n\n- Two\n  - Three\n\n```\nfn a() {\n    b < c\n}\n```\n\nKey | Value |";
        assert_eq!(page.markdown, expected);
    }

    #[test]
    fn page_without_main_element_has_its_body() {
        assert_eq!(convert("<p>1 < 2 &unknown; &#x41;").markdown, "1 < 2 &unknown; A");
        assert_eq!(convert("<body><nav>x<p>y").markdown, "x\n\ny", "an open element hides nothing");
    }

    proptest! {
        #[test]
        fn any_page_is_converted(html in "([<>/='\"! a-z-]|<p>|<pre>|</pre>|<!--|-->|<nav>|</nav>|&amp;|é){0,80}") {
            let page = convert(&html);
            prop_assert!(page.markdown.len() <= 8 * html.len() + 8);
        }
    }
}
