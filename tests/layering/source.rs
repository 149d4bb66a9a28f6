//! Source files: the modules of a crate, their code, and the paths that the code names.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// A module's path below the root of its crate, or the path of an item.
pub(crate) type ModulePath = Vec<String>;

/// Folders that hold no sources of the project.
const OTHER_FOLDERS: [&str; 2] = ["target", "node_modules"];

/// Returns the code of every module of a crate that is not a test.
pub(crate) fn modules(src: &Path) -> BTreeMap<ModulePath, String> {
    let mut modules = BTreeMap::new();
    for root in ["lib.rs", "main.rs"].map(|name| src.join(name)) {
        if root.is_file() {
            add_module(&root, src, Vec::new(), &mut modules);
        }
    }
    modules
}

fn add_module(file: &Path, folder: &Path, path: ModulePath, modules: &mut BTreeMap<ModulePath, String>) {
    let code = code(&fs::read_to_string(file).unwrap());
    for name in declared_modules(&code) {
        let below = folder.join(&name);
        let flat = folder.join(format!("{name}.rs"));
        let child: ModulePath = path.iter().cloned().chain([name]).collect();
        // A module of `main.rs` and `lib.rs` of one crate is the same file.
        if modules.contains_key(&child) {
            continue;
        }
        let file = if flat.is_file() { flat } else { below.join("mod.rs") };
        add_module(&file, &below, child, modules);
    }
    modules.entry(path).or_default().push_str(&code);
}

/// Returns the modules that the code declares in files of their own.
fn declared_modules(code: &str) -> Vec<String> {
    let words: Vec<&str> = code.split_whitespace().collect();
    let declared = words.windows(2).filter(|pair| pair[0] == "mod");
    declared.filter_map(|pair| pair[1].strip_suffix(';').map(str::to_owned)).collect()
}

/// Returns the code of a file without comments, contents of literals, and items of tests.
pub(crate) fn code(text: &str) -> String {
    without_tests(&without_literals(text))
}

fn without_literals(text: &str) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        let is_in_word = code.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let (kept, length) = if rest.starts_with("//") {
            ("", rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (" ", comment_length(rest))
        } else if let Some(length) = raw_string_length(rest).filter(|_| !is_in_word) {
            ("\"\"", length)
        } else if c == '"' {
            ("\"\"", string_length(rest))
        } else if let Some(length) = char_length(rest) {
            ("' '", length)
        } else {
            (&rest[..c.len_utf8()], c.len_utf8())
        };
        code.push_str(kept);
        rest = &rest[length..];
    }
    code
}

/// Returns the length of a block comment, with those inside it.
fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        match rest {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn raw_string_length(text: &str) -> Option<usize> {
    let start = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = start.len() - start.trim_start_matches('#').len();
    let body = start[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end)? + end.len();
    Some(text.len() - body.len() + length)
}

fn string_length(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a character literal; none for a lifetime.
fn char_length(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\'')?;
    if let Some(escape) = body.strip_prefix('\\') {
        let first = escape.chars().next()?.len_utf8();
        return Some(2 + first + escape[first..].find('\'')? + 1);
    }
    let c = body.chars().next()?;
    body[c.len_utf8()..].starts_with('\'').then(|| c.len_utf8() + 2)
}

/// Removes the items under `#[cfg(test)]`. The code has no literals any more, so its braces are balanced.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let (mut kept, mut rest) = (String::new(), code);
    while let Some((before, item)) = rest.split_once(MARK) {
        kept.push_str(before);
        rest = &item[item_length(item)..];
    }
    kept + rest
}

/// Returns the length of the first item: up to its semicolon or its closing brace.
fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// Returns the paths that begin with `crate`, `self` or `super`, wherever the code names them.
pub(crate) fn relative_paths(code: &str) -> Vec<ModulePath> {
    ["crate::", "self::", "super::"].into_iter().flat_map(|start| paths_from(code, start)).collect()
}

/// Returns the paths that begin with `start`, which ends in `::`.
pub(crate) fn paths_from(code: &str, start: &str) -> Vec<ModulePath> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices(start) {
        let before = &code[..at];
        let continues = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
        // `pub(in crate::a)` is no use of a module.
        if !continues && !before.ends_with("(in ") {
            paths.extend(expanded(&code[at..]).into_iter().map(|(path, _)| path));
        }
    }
    paths
}

/// Returns the paths of the code's `use` declarations, each with the name that it gets.
pub(crate) fn imports(code: &str) -> Vec<(ModulePath, String)> {
    let declarations = code.match_indices("use ").filter(|(at, _)| {
        let before = &code[..*at];
        !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
    });
    declarations.flat_map(|(at, word)| expanded(&code[at + word.len()..])).collect()
}

/// Expands a path with its braces: `a::{b, c::d as e}` is `a::b`, named `b`, and `a::c::d`, named `e`.
fn expanded(tree: &str) -> Vec<(ModulePath, String)> {
    let mut paths = Vec::new();
    expand(tree, &[], &mut paths);
    paths
}

fn expand(tree: &str, prefix: &[String], paths: &mut Vec<(ModulePath, String)>) {
    let tree = tree.trim_start();
    if let Some(list) = tree.strip_prefix('{') {
        items(list).into_iter().for_each(|item| expand(item, prefix, paths));
        return;
    }
    let name: String = tree.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let rest = tree[name.len()..].trim_start();
    let mut path = prefix.to_vec();
    if name.is_empty() {
        // A glob, or the turbofish of a function.
        paths.push((path, String::new()));
        return;
    }
    let is_self = name == "self" && !prefix.is_empty();
    if !is_self {
        path.push(name);
    }
    if let Some(rest) = rest.strip_prefix("::") {
        expand(rest, &path, paths);
        return;
    }
    let alias = rest.strip_prefix("as ").map(|alias| {
        alias.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    });
    let name = alias.or_else(|| path.last().cloned()).unwrap_or_default();
    paths.push((path, name));
}

/// Returns the items of a list in braces, up to its end.
fn items(list: &str) -> Vec<&str> {
    let (mut items, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&list[from..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    items.retain(|item| !item.trim().is_empty());
    items
}

/// Returns the Rust files of a folder and of the folders below it, except for build output.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !OTHER_FOLDERS.contains(&name.as_str()) {
            files.extend(rust_files(&path));
        } else if path.is_file() && path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
