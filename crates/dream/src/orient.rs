//! The first phase: describes the directory in notes, without changing anything.

use crate::bench::DreamBench;

pub(crate) fn orient(bench: &mut DreamBench) {
    let (topics, bytes) =
        (bench.pages().len(), bench.pages().values().map(|page| page.text.len()).sum::<usize>());
    let own = bench.pages().values().filter(|page| page.is_own()).count();
    let people = topics - own;
    bench.note(format!(
        "topics: {topics} ({own} written by bethink, {people} by people), {bytes} bytes"
    ));
    if people > 0 {
        let kept = "topics that people wrote or edited are not reworded, and are merged into another topic only if it \
                    already has all of their text";
        bench.note(kept.to_owned());
    }
    let index = match bench.index() {
        Some(text) => format!("lines in the index: {}, {} bytes", text.lines().count(), text.len()),
        None => "no index".to_owned(),
    };
    bench.note(index);
    if !bench.unread.is_empty() {
        let names: Vec<String> =
            bench.unread.iter().take(5).map(bethink_memdir::Name::file).collect();
        bench.note(format!(
            "files that cannot be read and are left alone ({}): {}",
            bench.unread.len(),
            names.join(", ")
        ));
    }
}
