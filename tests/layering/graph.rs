//! The graph of a crate's modules, and its circles.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::source::{ModulePath, imports, relative_paths};

/// The uses between sibling modules at every depth, each with the modules and the path that cause it.
pub(crate) struct Graph {
    edges: BTreeMap<ModulePath, BTreeMap<ModulePath, String>>,
}

impl Graph {
    /// Creates the graph of modules with this code. The root has an empty path.
    pub(crate) fn new(modules: &BTreeMap<ModulePath, String>) -> Self {
        let names = Names::new(modules);
        let mut edges: BTreeMap<ModulePath, BTreeMap<ModulePath, String>> = BTreeMap::new();
        for (module, code) in modules {
            for path in relative_paths(code) {
                let used = names.module_of(&names.absolute(module, &path).unwrap_or_default());
                let shared = module.iter().zip(&used).take_while(|(one, other)| one == other).count();
                // A module and one that it lies in, or that lies in it, are no siblings.
                let (Some(from), Some(to)) = (module.get(..=shared), used.get(..=shared)) else { continue };
                let cause = format!("{} uses {}", module.join("::"), path.join("::"));
                edges.entry(from.to_vec()).or_default().entry(to.to_vec()).or_insert(cause);
            }
        }
        Self { edges }
    }

    /// Returns the circles, each as the uses along its shortest way, and each set of modules once.
    pub(crate) fn circles(&self) -> Vec<Vec<String>> {
        let mut reported = BTreeSet::new();
        let mut circles = Vec::new();
        for module in self.edges.keys() {
            let Some(circle) = self.shortest_circle(module) else { continue };
            let members: BTreeSet<&ModulePath> = circle.iter().map(|(from, _)| *from).collect();
            if reported.insert(members) {
                circles.push(circle.iter().map(|(from, to)| self.edges[*from][*to].clone()).collect());
            }
        }
        circles
    }

    /// Returns the uses of the shortest way from a module back to it.
    fn shortest_circle<'a>(&'a self, start: &'a ModulePath) -> Option<Vec<(&'a ModulePath, &'a ModulePath)>> {
        let mut previous: BTreeMap<&ModulePath, &ModulePath> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(module) = queue.pop_front() {
            for used in self.edges.get(module).into_iter().flat_map(BTreeMap::keys) {
                if previous.contains_key(used) {
                    continue;
                }
                previous.insert(used, module);
                if used == start {
                    let mut circle = vec![(module, used)];
                    while circle[circle.len() - 1].0 != start {
                        let first = circle[circle.len() - 1].0;
                        circle.push((previous[first], first));
                    }
                    circle.reverse();
                    return Some(circle);
                }
                queue.push_back(used);
            }
        }
        None
    }
}

/// The modules of a crate, and the names that each imports.
struct Names {
    modules: BTreeSet<ModulePath>,
    imports: BTreeMap<ModulePath, BTreeMap<String, ModulePath>>,
}

impl Names {
    fn new(modules: &BTreeMap<ModulePath, String>) -> Self {
        let mut names = Self { modules: modules.keys().cloned().collect(), imports: BTreeMap::new() };
        for (module, code) in modules {
            let imported = imports(code).into_iter();
            let imported =
                imported.filter_map(|(path, name)| Some((name, names.absolute(module, &path)?))).collect();
            names.imports.insert(module.clone(), imported);
        }
        names
    }

    /// Returns a path from the crate's root; none for a path into another crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<ModulePath> {
        let mut base = module.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (base, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            child => {
                base.push(child.to_owned());
                let is_child = self.modules.contains(&base);
                base.pop();
                is_child.then_some(())?;
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// Returns the module that declares the item at a path, which other modules may have re-exported.
    fn module_of(&self, path: &[String]) -> ModulePath {
        let mut path = path.to_vec();
        // A re-export of a re-export takes two rounds. Names that import each other never end.
        for _ in 0..8 {
            let depth =
                (0..=path.len()).rev().find(|depth| self.modules.contains(&path[..*depth])).unwrap_or(0);
            let (module, rest) = path.split_at(depth);
            let imported = rest.first().and_then(|name| self.imports.get(module)?.get(name));
            let Some(imported) = imported else { return module.to_vec() };
            path = imported.iter().chain(&rest[1..]).cloned().collect();
        }
        Vec::new()
    }
}
