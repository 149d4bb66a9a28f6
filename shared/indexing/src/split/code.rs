//! Splits programs by their syntax tree. Each chunk has the symbol that it declares or is part of.

use std::ops::Range;

use tree_sitter::{Node, TreeCursor};

use super::boundary::{Boundary, cut};
use super::chunk::{ChunkLength, Fallback, Split, Symbol, chunk, limit_name};
use super::line_index::LineIndex;
use super::parse::parse;
use crate::language::Syntax;

/// The maximum depth of the tree at which declarations and boundaries are collected. Deeper lines are cut as text.
const MAX_DEPTH: usize = 64;
/// The level of a boundary between a comment or attribute and its declaration, below all others.
const ATTACHED: usize = MAX_DEPTH;
/// A declaration and its position.
struct Declaration {
    name: String,
    kind: &'static str,
    /// The index of the declaration around it.
    parent: Option<usize>,
    bytes: Range<usize>,
}

/// Splits a text, unless parsing it is too expensive.
pub(super) fn split(
    text: &str,
    syntax: Syntax,
    lines: &LineIndex,
    length: ChunkLength,
) -> Result<Split, Fallback> {
    let tree = parse(text, syntax)?;
    let mut outline = Outline::new(text, lines);
    outline.collect(&mut tree.walk(), None, 0);

    let chunks = cut(text, &outline.boundaries, length).into_iter().filter_map(|range| {
        let mut chunk = chunk(text, range.clone(), lines)?;
        let part = text.get(range.clone())?;
        let begins = range.start + (part.len() - part.trim_start().len());
        chunk.symbol = outline.symbol_of(&(begins..range.start + part.trim_end().len()));
        Some(chunk)
    });
    Ok(Split { title: title(tree.root_node(), text), chunks: chunks.collect(), fallback: None })
}

/// The boundaries and declarations of a program, each in order.
struct Outline<'a> {
    text: &'a str,
    lines: &'a LineIndex,
    boundaries: Vec<Boundary>,
    declarations: Vec<Declaration>,
    /// The last row with a boundary. A row has one boundary, which belongs to the outermost node that begins there.
    last_row: Option<usize>,
}

impl<'a> Outline<'a> {
    fn new(text: &'a str, lines: &'a LineIndex) -> Self {
        Self { text, lines, boundaries: Vec::new(), declarations: Vec::new(), last_row: None }
    }

    /// Collects the node and the nodes below it, in the order of the text.
    fn collect(&mut self, cursor: &mut TreeCursor<'_>, parent: Option<usize>, depth: usize) {
        let node = cursor.node();
        let mut parent = parent;
        if let Some((name, kind)) = symbol(node, self.text) {
            let name = limit_name(&name).to_owned();
            self.declarations.push(Declaration { name, kind, parent, bytes: node.byte_range() });
            parent = Some(self.declarations.len() - 1);
        }
        if depth == MAX_DEPTH || !cursor.goto_first_child() {
            return;
        }
        let mut previous: Option<Node<'_>> = None;
        loop {
            let child = cursor.node();
            let attached = previous.is_some_and(|previous| is_attached(previous, child));
            self.add_boundary(child, if attached { ATTACHED + depth } else { depth });
            self.collect(cursor, parent, depth + 1);
            previous = Some(child);
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
    }

    fn add_boundary(&mut self, node: Node<'_>, level: usize) {
        let row = node.start_position().row;
        if self.last_row.is_none_or(|last| last < row) {
            self.last_row = Some(row);
            // The indentation belongs to the line.
            let (begin, line) = (node.start_byte(), self.lines.line_start(node.start_byte()));
            let is_indented = self.text.get(line..begin).is_some_and(|before| before.trim().is_empty());
            self.boundaries.push(Boundary { byte: if is_indented { line } else { begin }, level });
        }
    }

    /// Returns the innermost declaration that contains the chunk, or else the first one that begins in it.
    fn symbol_of(&self, chunk: &Range<usize>) -> Option<Symbol> {
        let begun = self.declarations.partition_point(|declaration| declaration.bytes.start <= chunk.start);
        // Declarations are nested, so that one around the chunk is the last that has begun, or around that one.
        let mut around = begun.checked_sub(1).and_then(|last| self.declarations.get(last));
        while let Some(declaration) = around.filter(|declaration| declaration.bytes.end < chunk.end) {
            around = self.parent(declaration);
        }
        let first = self.declarations.partition_point(|declaration| declaration.bytes.start < chunk.start);
        let first = self.declarations.get(first);
        let declaration = around.or(first.filter(|first| first.bytes.start < chunk.end))?;
        let mut within: Vec<String> =
            std::iter::successors(self.parent(declaration), |declaration| self.parent(declaration))
                .map(|declaration| declaration.name.clone())
                .collect();
        within.reverse();
        Some(Symbol { name: declaration.name.clone(), kind: declaration.kind, within })
    }

    fn parent(&self, declaration: &Declaration) -> Option<&Declaration> {
        self.declarations.get(declaration.parent?)
    }
}

/// Returns true if the first node describes the second: a comment or an attribute directly above it.
fn is_attached(first: Node<'_>, second: Node<'_>) -> bool {
    let describes = ["comment", "attribute", "decorator"].iter().any(|kind| first.kind().contains(kind));
    describes && second.start_position().row <= first.end_position().row + 1
}

/// Returns the name and the kind of a declaration. The node kinds are the grammars' own; no two grammars use one
/// with different meanings.
fn symbol(node: Node<'_>, text: &str) -> Option<(String, &'static str)> {
    let kind = match node.kind() {
        "function_item"
        | "function_declaration"
        | "function_definition"
        | "generator_function_declaration" => "function",
        "method_declaration" | "method_definition" => "method",
        "constructor_declaration" => "constructor",
        "struct_item" | "struct_specifier" | "struct_declaration" => "struct",
        "enum_item" | "enum_specifier" | "enum_declaration" => "enum",
        "class_declaration" | "class_definition" | "class_specifier" | "abstract_class_declaration" => {
            "class"
        }
        "record_declaration" => "record",
        "interface_declaration" => "interface",
        "trait_item" => "trait",
        "impl_item" => "impl",
        "mod_item" | "namespace_definition" | "namespace_declaration" => "module",
        "type_item" | "type_alias_declaration" | "type_spec" => "type",
        "const_item" | "static_item" => "constant",
        "macro_definition" => "macro",
        "variable_declarator" if holds_function(node) => "function",
        _ => return None,
    };
    let name_node = node.child_by_field_name("name").or_else(|| match node.kind() {
        "impl_item" => node.child_by_field_name("type"),
        "function_definition" => node.child_by_field_name("declarator").and_then(innermost_declarator),
        _ => None,
    })?;
    // A use and not a declaration if it has no body: `struct a b;`.
    if node.kind().ends_with("_specifier") && node.child_by_field_name("body").is_none() {
        return None;
    }
    let name = name_node.utf8_text(text.as_bytes()).ok()?;
    Some((name.split('<').next().unwrap_or(name).trim().to_owned(), kind))
        .filter(|(name, _)| !name.is_empty())
}

fn holds_function(node: Node<'_>) -> bool {
    let value = node.child_by_field_name("value");
    value.is_some_and(|value| matches!(value.kind(), "arrow_function" | "function_expression" | "function"))
}

/// In C the name is nested within its declarators: `char *(*name)(int)`.
fn innermost_declarator(node: Node<'_>) -> Option<Node<'_>> {
    let mut node = node;
    while let Some(inner) = node.child_by_field_name("declarator") {
        node = inner;
    }
    Some(node)
}

/// Returns the first sentence of the comment or docstring at the beginning of the file, unless it is a licence.
fn title(root: Node<'_>, text: &str) -> Option<String> {
    let first = root.child(0)?;
    let is_comment = first.kind().contains("comment");
    let is_docstring = first.kind() == "expression_statement"
        && first.child(0).is_some_and(|child| child.kind() == "string");
    if !is_comment && !is_docstring {
        return None;
    }
    // Each line comment is a separate node.
    let mut comment = String::new();
    let mut cursor = root.walk();
    for node in root.children(&mut cursor).take_while(|node| node.kind() == first.kind()) {
        let line = node.utf8_text(text.as_bytes()).unwrap_or_default();
        let text_of_line = line.trim().trim_matches(|c: char| "/*!#\"'".contains(c) || c.is_whitespace());
        if text_of_line.is_empty() && !comment.is_empty() {
            break;
        }
        comment.push_str(text_of_line);
        comment.push(' ');
    }
    let paragraph = comment.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().filter(|word| *word != "*").collect();
    let title_text = words.join(" ");
    let sentence = title_text.split_inclusive(". ").next().unwrap_or(&title_text).trim();
    let title = limit_name(sentence).trim_end_matches('.');
    let is_licence =
        ["copyright", "license", "licence", "spdx"].iter().any(|word| title.to_lowercase().contains(word));
    (!title.is_empty() && !is_licence).then(|| title.to_owned())
}
