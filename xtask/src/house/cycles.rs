//! Finds the cycles of a directed graph, which are its strongly connected components.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The nodes that each node needs. A node that needs none may be missing.
pub(super) type Edges = BTreeMap<String, BTreeSet<String>>;

/// The nodes of a cycle, sorted by name, each with the nodes of the cycle that it needs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cycle(pub(super) Vec<(String, Vec<String>)>);

/// Returns the components of more than `limit` nodes, the largest first.
pub(super) fn larger_than(limit: usize, edges: &Edges) -> Vec<Cycle> {
    let mut search =
        Search { edges, order: BTreeMap::new(), open: Vec::new(), components: Vec::new() };
    for node in edges.keys() {
        if !search.order.contains_key(node.as_str()) {
            search.visit(node);
        }
    }
    let mut found = search.components;
    found.retain(|component| component.len() > limit);
    found.sort_by_key(|component| (Reverse(component.len()), component.first().copied()));
    found.iter().map(|component| with_needs(component, edges)).collect()
}

fn with_needs(component: &BTreeSet<&str>, edges: &Edges) -> Cycle {
    let needs = |node: &str| {
        let inner =
            edges.get(node).into_iter().flatten().filter(|to| component.contains(to.as_str()));
        inner.cloned().collect()
    };
    Cycle(component.iter().map(|node| ((*node).to_owned(), needs(node))).collect())
}

/// Tarjan's algorithm. Recursion is as deep as the longest path, a few hundred files at most.
struct Search<'a> {
    edges: &'a Edges,
    order: BTreeMap<&'a str, usize>,
    open: Vec<&'a str>,
    components: Vec<BTreeSet<&'a str>>,
}

impl<'a> Search<'a> {
    /// Returns the position of the earliest open node that can be reached, in the order of visits.
    fn visit(&mut self, node: &'a str) -> usize {
        let place = self.order.len();
        self.order.insert(node, place);
        self.open.push(node);
        let edges = self.edges;
        let mut earliest = place;
        for next in edges.get(node).into_iter().flatten() {
            let reached = match self.order.get(next.as_str()) {
                None => self.visit(next),
                Some(visited) if self.open.contains(&next.as_str()) => *visited,
                Some(_) => continue,
            };
            earliest = earliest.min(reached);
        }
        if earliest == place {
            let start = self.open.iter().position(|open| *open == node).unwrap_or(0);
            self.components.push(self.open.drain(start..).collect());
        }
        earliest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edges: &[(&str, &str)], limit: usize, expected: &[&[&str]]) {
        let mut graph = Edges::new();
        for (from, to) in edges {
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        let found = larger_than(limit, &graph);
        let nodes = |cycle: &Cycle| cycle.0.iter().map(|(node, _)| node.clone()).collect();
        let nodes: Vec<Vec<String>> = found.iter().map(nodes).collect();
        assert_eq!(nodes, expected, "{edges:?}");
    }

    #[test]
    fn components_are_found() {
        check(&[], 0, &[]);
        check(&[("a", "b"), ("b", "c")], 1, &[]);
        check(&[("a", "b"), ("b", "a")], 1, &[&["a", "b"]]);
        check(&[("a", "b"), ("b", "a")], 2, &[]);
        check(&[("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")], 2, &[&["a", "b", "c"]]);
        let two_rings = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "c")];
        check(&two_rings, 1, &[&["c", "d", "e"], &["a", "b"]]);
        check(
            &[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("d", "a")],
            2,
            &[&["a", "b", "c", "d"]],
        );
    }

    #[test]
    fn what_a_node_needs_outside_is_left_out() {
        let to = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let edges = [("a".to_owned(), to(&["b", "c"])), ("b".to_owned(), to(&["a"]))];
        let expected = [("a", vec!["b".to_owned()]), ("b", vec!["a".to_owned()])];
        let found = larger_than(1, &Edges::from(edges));
        assert_eq!(found[0].0, expected.map(|(node, needs)| (node.to_owned(), needs)));
    }
}
