//! Shows the difference between two texts.

use similar::TextDiff;

/// Number of unchanged lines that are shown around a change.
const CONTEXT: usize = 3;

/// Returns a unified diff, which is empty if nothing changes. `None` stands for a file that does not exist.
pub fn unified_diff(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}{path}"),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (before.unwrap_or_default(), after.unwrap_or_default());
    if before == after {
        return String::new();
    }
    TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(CONTEXT)
        .header(&name("a", before), &name("b", after))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_made_or_goes_is_told_so() {
        assert_eq!(unified_diff("/f", Some("a\n"), Some("a\n")), "");
        let made = unified_diff("/f", None, Some("a\n"));
        assert!(made.starts_with("--- /dev/null\n+++ b/f\n") && made.ends_with("+a\n"), "{made}");
        let gone = unified_diff("/f", Some("a\n"), None);
        assert!(gone.starts_with("--- a/f\n+++ /dev/null\n") && gone.ends_with("-a\n"), "{gone}");
    }
}
