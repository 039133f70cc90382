//! Days in words, in text of which the day it was said on is known.

use bethink_memdir::header;

use super::timeline::{timeline, whole_day};
use crate::bench::{Bench, Page};
use crate::days::dated;
use crate::plan::Phase;

pub(super) fn tell_dates(bench: &mut Bench) {
    for name in bench.names() {
        let Some(text) = bench.pages().get(&name).and_then(with_dates) else { continue };
        let why = "a day in words is true for a day";
        bench.write(Phase::Consolidate, &name, text, "days in words got their dates", why);
    }
}

fn with_dates(page: &Page) -> Option<String> {
    if !page.is_own() {
        return None;
    }
    let mut body = page.body().to_owned();
    // From the end, so that what stands before keeps its place.
    for (range, said) in timeline(page).into_iter().rev() {
        if let Some(told) = dated(&body[range.clone()], said) {
            body.replace_range(range, &told);
        }
    }
    let text = page.with_body(&body);
    // A description is of the newest that was said.
    let told = whole_day(page).zip(page.header.description.as_deref());
    let text = match told.and_then(|(said, words)| dated(words, said)) {
        // Where the header can't be changed key by key, its body still can.
        Some(words) => header::with(&text, &[header::Change::Description(&words)]).unwrap_or(text),
        None => text,
    };
    (text != page.text).then_some(text)
}
