//! Programs: cut by their syntax tree, each chunk with the name of what it declares or stands in.

use std::ops::Range;

use text_splitter::CodeSplitter;
use tree_sitter::{Node, Parser, TreeCursor};

use super::position::Lines;
use super::{Length, Split, Symbol, chunk};
use crate::language::Syntax;

/// How deep declarations are looked for, in levels of the tree.
const DEEPEST: usize = 64;
/// A title is cut there.
const LONGEST_TITLE: usize = 200;

/// A declaration, and where it is.
struct Declared {
    symbol: Symbol,
    bytes: Range<usize>,
}

/// None where the text can't be read as this language at all.
pub(super) fn split(text: &str, syntax: Syntax, lines: &Lines, length: Length) -> Option<Split> {
    let grammar = syntax.grammar()?;
    let mut parser = Parser::new();
    parser.set_language(&grammar).ok()?;
    let tree = parser.parse(text, None)?;
    let mut declared = Vec::new();
    collect(&mut tree.walk(), text, &mut Vec::new(), 0, &mut declared);

    let splitter = CodeSplitter::new(grammar, length.config()).ok()?;
    let chunks = splitter.chunk_indices(text).filter_map(|(begin, part)| {
        let mut chunk = chunk(text, begin..begin + part.len(), lines)?;
        let begins = begin + (part.len() - part.trim_start().len());
        chunk.symbol = symbol_of(&(begins..begin + part.trim_end().len()), &declared);
        Some(chunk)
    });
    let chunks = chunks.collect();
    Some(Split { title: title(tree.root_node(), text), chunks })
}

/// The innermost declaration that the chunk stands in, or else the first one that begins in it.
fn symbol_of(chunk: &Range<usize>, declared: &[Declared]) -> Option<Symbol> {
    let around = |found: &&Declared| found.bytes.start <= chunk.start && chunk.end <= found.bytes.end;
    let within = |found: &&Declared| chunk.contains(&found.bytes.start);
    let found = declared.iter().filter(around).max_by_key(|found| found.symbol.within.len());
    let found = found.or_else(|| declared.iter().find(within))?;
    Some(found.symbol.clone())
}

fn collect(
    cursor: &mut TreeCursor<'_>,
    text: &str,
    within: &mut Vec<String>,
    depth: usize,
    declared: &mut Vec<Declared>,
) {
    let node = cursor.node();
    let symbol = symbol(node, text);
    let is_declaration = symbol.is_some();
    if let Some((name, kind)) = symbol {
        let symbol = Symbol { name: name.clone(), kind, within: within.clone() };
        declared.push(Declared { symbol, bytes: node.byte_range() });
        within.push(name);
    }
    if depth < DEEPEST && cursor.goto_first_child() {
        loop {
            collect(cursor, text, within, depth + 1, declared);
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
    }
    if is_declaration {
        within.pop();
    }
}

/// The name of a declaration, and what it is. The kinds of nodes are the grammars' own; no two of them mean different
/// things by one.
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
    let named = node.child_by_field_name("name").or_else(|| match node.kind() {
        "impl_item" => node.child_by_field_name("type"),
        "function_definition" => node.child_by_field_name("declarator").and_then(innermost_declarator),
        _ => None,
    })?;
    // Declared elsewhere, where it has no body of its own: `struct a b;`.
    if node.kind().ends_with("_specifier") && node.child_by_field_name("body").is_none() {
        return None;
    }
    let name = named.utf8_text(text.as_bytes()).ok()?;
    Some((name.split('<').next().unwrap_or(name).trim().to_owned(), kind))
        .filter(|(name, _)| !name.is_empty())
}

fn holds_function(node: Node<'_>) -> bool {
    let value = node.child_by_field_name("value");
    value.is_some_and(|value| matches!(value.kind(), "arrow_function" | "function_expression" | "function"))
}

/// In C a name stands within what is said of its type: `char *(*name)(int)`.
fn innermost_declarator(node: Node<'_>) -> Option<Node<'_>> {
    let mut node = node;
    while let Some(inner) = node.child_by_field_name("declarator") {
        node = inner;
    }
    Some(node)
}

/// The first sentence of the comment or docstring that the file begins with, if it says what the file is.
fn title(root: Node<'_>, text: &str) -> Option<String> {
    let first = root.child(0)?;
    let is_comment = first.kind().contains("comment");
    let is_docstring = first.kind() == "expression_statement"
        && first.child(0).is_some_and(|child| child.kind() == "string");
    if !is_comment && !is_docstring {
        return None;
    }
    // Line comments are nodes of their own.
    let mut comment = String::new();
    let mut cursor = root.walk();
    for node in root.children(&mut cursor).take_while(|node| node.kind() == first.kind()) {
        let line = node.utf8_text(text.as_bytes()).unwrap_or_default();
        let said = line.trim().trim_matches(|c: char| "/*!#\"'".contains(c) || c.is_whitespace());
        if said.is_empty() && !comment.is_empty() {
            break;
        }
        comment.push_str(said);
        comment.push(' ');
    }
    let paragraph = comment.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().filter(|word| *word != "*").collect();
    let said = words.join(" ");
    let sentence = said.split_inclusive(". ").next().unwrap_or(&said).trim();
    let cut = sentence.floor_char_boundary(LONGEST_TITLE);
    let title = sentence.get(..cut).unwrap_or(sentence).trim_end_matches('.');
    let is_licence =
        ["copyright", "license", "licence", "spdx"].iter().any(|word| title.to_lowercase().contains(word));
    (!title.is_empty() && !is_licence).then(|| title.to_owned())
}
