//! Model calls and their cost, as lines that fit the terminal's width.

use bethink_api::{ModelReadiness, ModelState, UsageRow, UsageSums, UsageToday};
use bethink_terminal::words::{ago, dollars, plural, short};
use bethink_terminal::{StyledText, TextTable, Tone, hanging};
use jiff::Timestamp;
use uuid::Uuid;

use crate::ids::short_ids;

const INDENT: &str = "  ";
const BY_CLIENT: &str = "in gateway sessions, the client's own model writes the summaries (except with the Responses API or Gemini)";

/// Shows `claude-sonnet-4-5 (notes: claude-haiku-4-5): ready`, then `anthropic at https://api.anthropic.com`, and then why the
/// model is not ready.
pub fn model(state: &ModelState, width: usize) -> Vec<StyledText> {
    let by_client = state.client_summaries.then(|| StyledText::from(BY_CLIENT));
    if state.state == ModelReadiness::Off {
        let none = StyledText::from("none: bethink writes summaries and notes without a model");
        return std::iter::once(none).chain(by_client).collect();
    }
    let name = state.name.as_deref().unwrap_or("each session's own model");
    let small = state.small_name.as_ref().map(|small| format!(" (notes: {small})"));
    let text = StyledText::from(format!("{name}{}: ", small.unwrap_or_default()));
    let place = state.origin.as_ref().map(|origin| format!("{} at {origin}", state.provider));
    let (tone, word) = match state.state {
        ModelReadiness::Ready if state.problems.is_empty() => (Tone::Good, "ready"),
        ModelReadiness::Ready => (Tone::Warn, "ready, with a warning; see `bethink doctor`"),
        ModelReadiness::NoKey => (Tone::Warn, "no key; see `bethink doctor`"),
        ModelReadiness::Resting => (Tone::Warn, "paused after failures"),
        ModelReadiness::Spent => (Tone::Warn, "today's budget is used up"),
        ModelReadiness::Broken => (Tone::Bad, "broken"),
        ModelReadiness::Off => (Tone::Bad, "off"),
    };
    let why = state.detail.as_deref().unwrap_or_default();
    let why = hanging(&StyledText::new(), Tone::Dim, why, width);
    let place = place.map(StyledText::from);
    std::iter::once(text.put(tone, word)).chain(place).chain(why).chain(by_client).collect()
}

pub fn by_purpose(rows: &[UsageRow], width: usize) -> Vec<StyledText> {
    table(rows.iter(), width)
}

pub fn by_session(rows: &[UsageRow], width: usize, now: Timestamp) -> Vec<StyledText> {
    let first = |row: &UsageRow| rows.iter().position(|one| one.session_id == row.session_id);
    let mut grouped: Vec<&UsageRow> = rows.iter().collect();
    grouped.sort_by_cached_key(|row| first(row));
    let mut ids: Vec<Uuid> = grouped.iter().filter_map(|row| row.session_id).collect();
    ids.dedup();
    let names = short_ids(&ids);
    let mut lines = table(grouped.iter().copied(), width).into_iter();
    let mut out: Vec<StyledText> = lines.next().into_iter().collect();
    let mut before = None;
    for (row, line) in grouped.iter().zip(lines) {
        if before != Some(row.session_id) {
            before = Some(row.session_id);
            let at = ids.iter().position(|id| Some(*id) == row.session_id);
            let name = at.and_then(|at| names.get(at)).map_or("no session", String::as_str);
            let when = format!("  {}", ago(&row.last_at, now));
            out.push(StyledText::new().put(Tone::Accent, name).dim(when));
        }
        out.push(line);
    }
    out
}

/// Returns a line such as `12 calls, 1 failed, 345k tokens (80% of prompt tokens cached), $0.42`.
pub fn total(sums: &UsageSums) -> String {
    let tokens = prompt(sums).saturating_add(sums.output_tokens);
    let failed = if sums.failed == 0 { String::new() } else { format!(", {} failed", sums.failed) };
    let cached = match prompt(sums) {
        0 => String::new(),
        _ => format!(" ({} of prompt tokens cached)", cached(sums)),
    };
    let calls = plural(sums.calls, "call", "calls");
    format!("{calls}{failed}, {} tokens{cached}, {}", short(tokens), cost(sums))
}

/// Shows today's usage, with the limits if any are set.
pub fn today(today: &UsageToday) -> StyledText {
    let of = |limit: Option<String>| limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
    let used_up = today.daily_tokens.is_some_and(|limit| today.tokens >= limit)
        || today.daily_cost_usd.is_some_and(|limit| today.cost_usd >= limit);
    let text = StyledText::from(format!(
        "{}, {}{} tokens, {}{}",
        plural(today.calls, "call", "calls"),
        short(today.tokens),
        of(today.daily_tokens.map(short)),
        dollars(today.cost_usd),
        of(today.daily_cost_usd.map(dollars)),
    ));
    match used_up {
        true => text.put(Tone::Warn, "; no more calls until midnight UTC"),
        false => text,
    }
}

pub fn unpriced(calls: u64) -> Option<String> {
    let told = "no known price; set model.price_input and model.price_output";
    let have = if calls == 1 { "has" } else { "have" };
    (calls > 0).then(|| format!("{} {have} {told}", plural(calls, "call", "calls")))
}

fn table<'a>(rows: impl Iterator<Item = &'a UsageRow>, width: usize) -> Vec<StyledText> {
    let mut table = TextTable::new(&[
        "purpose", ">calls", ">failed", ">prompt", ">cached", ">answer", ">cost", "model",
    ]);
    for UsageRow { purpose, model, sums, .. } in rows {
        let failed = match sums.failed {
            0 => StyledText::new().dim("-"),
            n => StyledText::new().put(Tone::Warn, short(n)),
        };
        table.row(vec![
            purpose.as_str().into(),
            short(sums.calls).into(),
            failed,
            short(prompt(sums)).into(),
            cached(sums).into(),
            short(sums.output_tokens).into(),
            cost(sums).into(),
            model.as_str().into(),
        ]);
    }
    let lines = table.lines(width.saturating_sub(INDENT.len()));
    lines.into_iter().map(|line| StyledText::from(INDENT).then(line)).collect()
}

fn prompt(sums: &UsageSums) -> u64 {
    sums.input_tokens.saturating_add(sums.cache_read_tokens).saturating_add(sums.cache_write_tokens)
}

fn cached(sums: &UsageSums) -> String {
    match prompt(sums) {
        0 => "-".into(),
        all => format!("{:.0}%", sums.cache_read_tokens as f64 * 100.0 / all as f64),
    }
}

/// Returns the cost, such as `$0.42`. Returns `no price` if no call has a price, and adds `+` if some calls have none.
fn cost(sums: &UsageSums) -> String {
    match sums.cost_usd {
        None => "no price".into(),
        Some(cost) if sums.unpriced > 0 => format!("{}+", dollars(cost)),
        Some(cost) => dollars(cost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bethink_terminal::LineMode;

    fn row(session: Option<u128>, purpose: &str, model: &str, cost: Option<f64>) -> UsageRow {
        UsageRow {
            session_id: session.map(Uuid::from_u128),
            purpose: purpose.into(),
            model: model.into(),
            last_at: "2026-01-01T00:00:00Z".into(),
            sums: UsageSums {
                calls: 12,
                failed: u64::from(purpose == "notes"),
                input_tokens: 1_000,
                output_tokens: 2_345,
                cache_read_tokens: 123_000,
                cache_write_tokens: 0,
                cost_usd: cost,
                unpriced: u64::from(cost.is_none()),
            },
        }
    }

    fn shown(lines: &[StyledText]) -> Vec<String> {
        lines.iter().map(|line| line.render(LineMode::One, false)).collect()
    }

    #[test]
    fn a_row_fits_a_terminal_of_eighty() {
        let rows = [
            row(None, "summary", "claude-sonnet-4-5", Some(1.5)),
            row(None, "notes", "a-local-model-of-a-very-long-name:latest", None),
        ];
        let lines = shown(&by_purpose(&rows, 80));
        assert_eq!(
            lines[..2],
            [
                "  purpose  calls  failed  prompt  cached  answer      cost  model",
                "  summary     12       -    124k     99%   2,345     $1.50  claude-sonnet-4-5",
            ]
        );
        assert!(lines[2].contains("no price  a-local-model-of"), "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn rows_are_grouped_by_session() {
        let rows = [
            row(Some(1), "summary", "m", Some(0.001)),
            row(None, "notes", "m", Some(0.0)),
            row(Some(1), "notes", "m", Some(0.5)),
        ];
        let now = "2026-01-01T01:00:00Z".parse().unwrap();
        let lines = shown(&by_session(&rows, 80, now));
        let first: Vec<_> =
            lines.iter().map(|line| line.split_whitespace().next().unwrap_or("")).collect();
        assert_eq!(first, ["purpose", "00000001", "summary", "notes", "no", "notes"]);
        assert!(lines[1].ends_with("60 min ago"));
        assert!(lines[2].contains("<$0.01"));
    }

    #[test]
    fn a_used_up_limit_is_shown() {
        let mut day = UsageToday {
            day: "2026-01-01".into(),
            calls: 1,
            tokens: 12_000,
            cost_usd: 0.42,
            unpriced: 0,
            daily_tokens: None,
            daily_cost_usd: Some(5.0),
        };
        let said = |day: &UsageToday| today(day).render(LineMode::One, false);
        assert_eq!(said(&day), "1 call, 12k tokens, $0.42 of $5.00");
        day.daily_tokens = Some(12_000);
        assert!(
            said(&day)
                .ends_with("12k of 12k tokens, $0.42 of $5.00; no more calls until midnight UTC")
        );
    }

    #[test]
    fn a_model_is_shown_with_its_state_and_server() {
        let mut state = ModelState::default();
        let said = |state: &ModelState| shown(&model(state, 20)).join("\n");
        assert!(said(&state).starts_with("none"));
        state.client_summaries = true;
        assert!(said(&state).ends_with(BY_CLIENT));
        state.client_summaries = false;
        state.provider = bethink_api::ModelProvider::Anthropic;
        state.origin = Some("https://api.anthropic.com".into());
        state.state = ModelReadiness::Ready;
        let place = "anthropic at https://api.anthropic.com";
        assert_eq!(said(&state), format!("each session's own model: ready\n{place}"));
        (state.name, state.small_name) = (Some("large".into()), Some("small".into()));
        (state.state, state.detail) =
            (ModelReadiness::Resting, Some("the model is left alone for 9 s".into()));
        let why = "the model is left\nalone for 9 s";
        assert_eq!(
            said(&state),
            format!("large (notes: small): paused after failures\n{place}\n{why}")
        );
    }

    #[test]
    fn totals_are_one_line() {
        let sums = row(None, "notes", "m", None).sums;
        let expect = "12 calls, 1 failed, 126k tokens (99% of prompt tokens cached), no price";
        assert_eq!(total(&sums), expect);
        let nothing = UsageSums { calls: 1, failed: 1, cost_usd: Some(0.0), ..Default::default() };
        assert_eq!(total(&nothing), "1 call, 1 failed, 0 tokens, $0");
        assert_eq!(unpriced(0), None);
        assert!(unpriced(1).unwrap().starts_with("1 call has no known price"));
    }
}
