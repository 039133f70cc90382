//! Removes lines that are repeated under the same heading.

use std::collections::BTreeSet;
use std::ops::Range;

use bethink_statement::words;

use crate::bench::{DreamBench, quoted};
use crate::limits::LINE_WORDS;
use crate::text::{LineKind, blocks};

pub(super) fn drop_repeated(bench: &mut DreamBench) {
    for name in bench.names() {
        let Some(page) = bench.pages().get(&name) else { continue };
        let body = page.body();
        let twice = repeated(body);
        if twice.is_empty() || page.put_back {
            continue;
        }
        let lines: Vec<String> = twice.iter().map(|range| body[range.clone()].to_owned()).collect();
        let text = page.with_body(&without(body, &twice));
        let what = match lines.as_slice() {
            [line] => format!("removed a repeated line: {}", quoted(line)),
            lines => format!("removed {} repeated lines", lines.len()),
        };
        let why = "the same line appears earlier, under the same heading";
        bench.write(&name, text, &what, why);
        for line in lines {
            let why = "the same text appears earlier";
            bench.dropped(name.file(), line.trim(), why);
        }
    }
}

/// Returns blocks that repeat an earlier one. Code and tables are kept, because their repetitions have a purpose.
fn repeated(body: &str) -> Vec<Range<usize>> {
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for block in blocks(body) {
        let text = body[block.range.clone()].trim();
        match block.kind {
            LineKind::Heading => seen.clear(),
            LineKind::Item | LineKind::Text
                if words(text, 0..text.len()).len() >= LINE_WORDS && !seen.insert(text) =>
            {
                found.push(block.range);
            }
            _ => {}
        }
    }
    found
}

/// Removes blocks. If a block has blank lines before and after it, those after it are removed as well.
fn without(body: &str, gone: &[Range<usize>]) -> String {
    let (mut out, mut from) = (String::with_capacity(body.len()), 0);
    for range in gone {
        out.push_str(&body[from..range.start]);
        from = range.end;
        let open = out.is_empty() || out.ends_with("\n\n") || out.ends_with("\r\n\r\n");
        if open {
            let rest = &body[from..];
            from += rest.len() - rest.trim_start_matches(['\r', '\n']).len();
        }
    }
    out.push_str(&body[from..]);
    if body[from..].is_empty() && !out.is_empty() {
        let kept = out.trim_end_matches(['\r', '\n']).len();
        let end = if body.contains("\r\n") { "\r\n" } else { "\n" };
        out.truncate(kept);
        out.push_str(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expect: &str) {
        assert_eq!(without(body, &repeated(body)), expect);
    }

    #[test]
    fn a_line_stands_once_under_a_heading() {
        let line = "- Run the linter before each push\n";
        check(&format!("# A\n\n{line}- other\n{line}"), &format!("# A\n\n{line}- other\n"));
        check(
            &format!("{line}\nText between\n\n{line}\nEnd\n"),
            &format!("{line}\nText between\n\nEnd\n"),
        );
        let apart = format!("# A\n{line}# B\n{line}");
        check(&apart, &apart);
    }

    #[test]
    fn short_lines_code_and_tables_may_repeat() {
        for body in [
            "- Done\n- Done\n",
            "```\na b c d e f\na b c d e f\n```\n",
            "| a b c d e |\n| a b c d e |\n",
        ] {
            check(body, body);
        }
    }

    #[test]
    fn an_item_with_other_lines_below_it_is_another_one() {
        let body =
            "- Run the linter before each push\n  - also here\n- Run the linter before each push\n";
        check(body, body);
    }
}
