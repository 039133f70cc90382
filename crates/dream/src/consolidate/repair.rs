//! Repairs invalid front matter.

use bethink_memdir::header;

use crate::bench::DreamBench;

/// Rewrites invalid front matter if the daemon wrote it and every line is understood; otherwise adds a note.
pub(super) fn repair_headers(bench: &mut DreamBench) {
    for name in bench.names() {
        let Some(page) = bench.pages().get(&name) else { continue };
        let Some(fault) = page.header.faults.first().cloned() else { continue };
        let own = page.is_own() && understood(&page.text[page.header_range.clone()]);
        let text = header::write(&page.header, page.body());
        let reads = header::read(&text);
        if own && reads.header.faults.is_empty() && reads.body.trim() == page.body().trim() {
            bench.write(&name, text, "rewrote the front matter", &fault);
        } else {
            bench.note(format!("{}: {fault}; please fix it by hand", name.file()));
        }
    }
}

/// Returns whether every line is one that [`header::write`] writes, so that a rewrite loses nothing.
fn understood(front: &str) -> bool {
    const KEYS: &str =
        "name description type recall modified source session messages strategy time";
    front.lines().map(str::trim).all(|line| {
        let key = line.split(':').next().unwrap_or_default();
        line.is_empty() || line == "---" || KEYS.split(' ').any(|known| known == key)
    })
}
