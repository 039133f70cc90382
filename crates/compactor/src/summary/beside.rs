//! What a text of another hand lacks: the user's own words, and the files, names and code that will be
//! needed and are not in it.

use std::collections::HashSet;

use crate::ladder::SummaryRequest;

use super::page::Page;
use super::{NONE, names, user_words};

/// The user's words in `limit` bytes, newest first; "- none" where there are none.
pub(crate) fn user_messages(request: &SummaryRequest<'_>, limit: usize) -> String {
    let mut page = Page::new(limit);
    user_words::write(&mut page, request, limit);
    let words = page.finish();
    if words.is_empty() { NONE.to_owned() } else { words }
}

/// Files with their code, and the names of no file, in `room` bytes together. A reader knows the names in
/// `known` and those in `texts`.
pub(crate) fn lacking(
    request: &SummaryRequest<'_>,
    mut known: HashSet<String>,
    texts: &[&str],
    room: usize,
) -> (String, String) {
    for text in texts {
        crate::fidelity::collect(text, &mut known);
    }
    names::files_and_concepts(request, &known, room)
}
