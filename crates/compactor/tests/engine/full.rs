//! Level 2: a summary from a model's text, as the next model reads it.

use bethink_compactor::{EmbeddedSummarizer, FullSummarizer, Section, Summarizer, SummaryLevel};
use bethink_transcript::Seq;

use crate::story::story;
use crate::suite::{model_text, plausible};
use crate::support::{Ask, try_compact};

#[test]
fn the_full_summary_of_a_story() {
    let messages = story();
    let text = plausible();
    let full = FullSummarizer { text: &text, through: Seq(messages.len() as u64) };
    let ask = Ask { ladder: vec![&full, &EmbeddedSummarizer], ..Ask::default() };
    let outcome = try_compact(&messages, &ask).unwrap();
    assert_eq!(outcome.level, SummaryLevel::Full, "{:?}", outcome.refused);
    insta::assert_snapshot!("story", outcome.boundary.summary);
}

#[test]
fn a_long_text_loses_names_before_it_loses_what_one_goes_on_by() {
    let line = |section: Section| format!("- about {} at some length\n", section.name());
    let text = model_text(|section| line(section).repeat(30));
    let full = FullSummarizer { text: &text, through: Seq(66) };
    let ladder: Vec<&dyn Summarizer> = vec![&full];
    let ask = Ask { ladder, summary_tokens: Some(1_500), ..Ask::default() };
    let summary = try_compact(&story(), &ask).unwrap().boundary.summary;
    let lines = |section: Section| summary.matches(line(section).trim_end()).count();
    assert_eq!(lines(Section::Next), 30, "{summary}");
    assert_eq!(lines(Section::Current), 30, "{summary}");
    assert!(lines(Section::Concepts) < 5 && lines(Section::Solving) < 10, "{summary}");
    assert!(summary.contains("more lines left out"), "{summary}");
}
