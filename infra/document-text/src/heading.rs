//! Headings of Markdown.

/// The deepest level of Markdown.
const MAX_LEVEL: usize = 6;

/// Appends Markdown whose headings are made deeper by this many levels, so that they are parts of the heading before it. What
/// a fence encloses changes too: a document must not be able to write the heading of a page.
pub(crate) fn push_below(markdown: &mut String, part: &str, levels: usize) {
    for line in part.trim().lines() {
        let level = line.len() - line.trim_start_matches('#').len();
        if (1..=MAX_LEVEL).contains(&level) && line.get(level..).is_some_and(|rest| rest.starts_with(' ')) {
            markdown.push_str(&"#".repeat(levels.min(MAX_LEVEL - level)));
        }
        markdown.push_str(line);
        markdown.push('\n');
    }
    markdown.push('\n');
}

/// Appends a heading of one line.
pub(crate) fn push(markdown: &mut String, level: usize, title: &str) {
    let title: Vec<&str> = title.split_whitespace().collect();
    markdown.push_str(&format!("{} {}\n\n", "#".repeat(level), title.join(" ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_a_page_are_below_it() {
        let mut markdown = String::new();
        push(&mut markdown, 2, "Page\n 1");
        push_below(&mut markdown, "# Title\n#hashtag\n```\n## Page 9\n```\n##### Deep\n", 2);
        assert_eq!(markdown, "## Page 1\n\n### Title\n#hashtag\n```\n#### Page 9\n```\n###### Deep\n\n");
    }
}
