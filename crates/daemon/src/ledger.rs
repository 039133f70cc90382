//! What models were asked and what it cost: a row for each call, counters, and the sum of the day that
//! budgets are held against.
//!
//! The day is UTC's. Its sum is read once at boot and kept in memory, so that asking whether there is budget
//! left costs nothing. Calls under way are not in it: a budget can be overdrawn by what runs at the same time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bethink_api as api;
use bethink_model::price::Given;
use bethink_model::{Prices, price};
use bethink_store::{ModelCall, UsageFilter, UsageSum};
use bethink_transcript::{SessionId, UnixMicros, Usage};

use crate::clock::{self, rfc3339};
use crate::limits::{MAX_MODEL_NAME, MAX_PAGE};
use crate::{Daemon, Refusal, Result};

const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;
const MICROS_PER_DOLLAR: f64 = 1_000_000.0;

/// What a day has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub calls: u64,
    /// Read and written, cached or not.
    pub tokens: u64,
    /// Micro-dollars of the calls that have a price.
    pub cost: u64,
    /// Calls that used tokens and have no price.
    pub unpriced: u64,
}

/// The day that is running.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Day>);

#[derive(Clone, Copy, Debug, Default)]
struct Day {
    /// Since 1970.
    number: i64,
    spent: Spent,
}

impl Ledger {
    fn day(&self) -> MutexGuard<'_, Day> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was spent on the day of `now`. A clock that is set back stays in the later day: a budget is not had
    /// twice.
    fn spent(&self, now: UnixMicros) -> Spent {
        let mut day = self.day();
        if day_of(now) > day.number {
            *day = Day { number: day_of(now), ..Day::default() };
        }
        day.spent
    }

    fn add(&self, call: &ModelCall, now: UnixMicros) {
        self.spent(now);
        let mut day = self.day();
        if day_of(call.started_at) >= day.number {
            day.spent.add(&of_call(call));
        }
    }
}

impl Spent {
    fn add(&mut self, other: &Spent) {
        self.calls += other.calls;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost = self.cost.saturating_add(other.cost);
        self.unpriced += other.unpriced;
    }
}

fn day_of(at: UnixMicros) -> i64 {
    at.0.div_euclid(DAY_MICROS)
}

fn of_call(call: &ModelCall) -> Spent {
    let parts = [call.input, call.output, call.cache_read, call.cache_write];
    let tokens = parts.iter().fold(0, |sum: u64, part| sum.saturating_add(*part));
    let unpriced = u64::from(call.cost.is_none() && tokens > 0);
    Spent { calls: 1, tokens, cost: call.cost.unwrap_or(0), unpriced }
}

fn of_sum(sum: &UsageSum) -> Spent {
    let tokens = sum.input + sum.output + sum.cache_read + sum.cache_write;
    Spent { calls: sum.calls, tokens, cost: sum.cost, unpriced: sum.unpriced }
}

impl Daemon {
    /// Writes a call down: in the sum of the day at once, and as a row that is durable when this returns. Dropped
    /// half-way it is written all the same. A row that can't be written is told in the log and stays in the sum.
    pub async fn enter_call(&self, call: ModelCall) {
        let call = ModelCall { provider: plain(&call.provider), model: plain(&call.model), ..call };
        self.inner.ledger.add(&call, self.now());
        count(&call);
        let store = self.store_handle();
        let written = self.inner.tracker.spawn(async move {
            if let Err(error) = store.add_model_call(call).await {
                tracing::error!(%error, "a call of a model could not be written down");
            }
        });
        // It can't fail but by a panic, which is told where it happens.
        drop(written.await);
    }

    /// What models have cost today.
    pub fn spent_today(&self) -> Spent {
        self.inner.ledger.spent(self.now())
    }

    /// The budget of the day that is used up, in words; nothing is asked then until tomorrow.
    pub fn within_budget(&self) -> std::result::Result<(), String> {
        let (settings, spent) = (&self.settings().model, self.spent_today());
        if settings.daily_tokens > 0 && spent.tokens >= settings.daily_tokens {
            return Err(format!(
                "the day's limit of {} tokens (model.daily_tokens) is used up: {} were used; the day ends at \
                 midnight UTC",
                settings.daily_tokens, spent.tokens
            ));
        }
        if settings.daily_cost > 0.0 && dollars(spent.cost) >= settings.daily_cost {
            return Err(format!(
                "the day's limit of ${:.2} (model.daily_cost) is used up: ${:.2} were spent; the day ends at \
                 midnight UTC",
                settings.daily_cost,
                dollars(spent.cost)
            ));
        }
        Ok(())
    }

    /// As a person configured them.
    pub fn prices(&self) -> Prices {
        let settings = &self.settings().model;
        Prices {
            large: Given { input: settings.price_input, output: settings.price_output },
            small: Given { input: settings.small_price_input, output: settings.small_price_output },
            small_name: settings.small_name.clone(),
        }
    }

    /// Micro-dollars; `None` where the model has no known price.
    pub fn cost_of(&self, model: &str, usage: &Usage) -> Option<u64> {
        price::cost(model, usage, &self.prices())
    }

    /// The ledger, of one session or of all, from a time on.
    pub async fn usage(
        &self,
        session: Option<SessionId>,
        since: Option<&str>,
        by_session: bool,
    ) -> Result<api::Usage> {
        let since = since.map(time).transpose()?;
        let filter = UsageFilter { session, since, by_session: by_session || session.is_some() };
        let sums = self.store().model_usage(filter).await?;
        if let (Some(id), true) = (session, sums.is_empty()) {
            // A session that asked no model is no mistake; one that never was is.
            self.store().session(id).await?;
        }
        Ok(api::Usage {
            totals: total(&sums),
            more: sums.len() > MAX_PAGE,
            rows: sums.iter().take(MAX_PAGE).map(row).collect(),
            today: self.today(),
        })
    }

    fn today(&self) -> api::UsageToday {
        let (settings, now, spent) = (&self.settings().model, self.now(), self.spent_today());
        api::UsageToday {
            day: rfc3339(now).chars().take("2026-01-01".len()).collect(),
            calls: spent.calls,
            tokens: spent.tokens,
            cost_usd: dollars(spent.cost),
            unpriced: spent.unpriced,
            daily_tokens: Some(settings.daily_tokens).filter(|limit| *limit > 0),
            daily_cost_usd: Some(settings.daily_cost).filter(|limit| *limit > 0.0),
        }
    }

    /// The sum of the day as the store has it.
    pub(crate) async fn open_ledger(&self) -> bethink_store::Result<()> {
        let number = day_of(self.now());
        let since = Some(UnixMicros(number.saturating_mul(DAY_MICROS)));
        let sums =
            self.store().model_usage(UsageFilter { since, ..UsageFilter::default() }).await?;
        let mut spent = Spent::default();
        sums.iter().for_each(|sum| spent.add(&of_sum(sum)));
        *self.inner.ledger.day() = Day { number, spent };
        Ok(())
    }
}

fn count(call: &ModelCall) {
    let purpose = || call.purpose.clone();
    metrics::counter!(
        "bethink_model_calls_total", "purpose" => purpose(), "outcome" => call.outcome.clone()
    )
    .increment(1);
    for (kind, tokens) in [
        ("input", call.input),
        ("output", call.output),
        ("cache_read", call.cache_read),
        ("cache_write", call.cache_write),
    ] {
        metrics::counter!("bethink_model_tokens_total", "purpose" => purpose(), "kind" => kind)
            .increment(tokens);
    }
    metrics::counter!("bethink_model_cost_micro_dollars_total", "purpose" => purpose())
        .increment(call.cost.unwrap_or(0));
}

/// A name as it may stand in a list: it is configured by a person or given by a session's client.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(MAX_MODEL_NAME).collect()
}

/// RFC 3339, or a day.
fn time(text: &str) -> Result<UnixMicros> {
    let at = clock::parse(text).or_else(|| clock::parse(&format!("{text}T00:00:00Z")));
    at.ok_or_else(|| {
        let shown: String = text.chars().take(64).collect();
        Refusal::invalid("since", format!("{shown:?} is no time"))
            .hint("RFC 3339, such as 2026-01-31T12:00:00Z, or a day, such as 2026-01-31")
    })
}

fn row(sum: &UsageSum) -> api::UsageRow {
    api::UsageRow {
        session_id: sum.session.map(|session| session.0),
        purpose: sum.purpose.clone(),
        model: sum.model.clone(),
        last_at: rfc3339(sum.last_at),
        sums: sums_of(sum),
    }
}

fn sums_of(sum: &UsageSum) -> api::UsageSums {
    let priced = sum.cost > 0 || sum.unpriced == 0;
    api::UsageSums {
        calls: sum.calls,
        failed: sum.failed,
        input_tokens: sum.input,
        output_tokens: sum.output,
        cache_read_tokens: sum.cache_read,
        cache_write_tokens: sum.cache_write,
        cost_usd: priced.then(|| dollars(sum.cost)),
        unpriced: sum.unpriced,
    }
}

fn total(sums: &[UsageSum]) -> api::UsageSums {
    let mut total = UsageSum::default();
    for sum in sums {
        total.calls += sum.calls;
        total.failed += sum.failed;
        total.input += sum.input;
        total.output += sum.output;
        total.cache_read += sum.cache_read;
        total.cache_write += sum.cache_write;
        total.cost += sum.cost;
        total.unpriced += sum.unpriced;
    }
    sums_of(&total)
}

fn dollars(micros: u64) -> f64 {
    micros as f64 / MICROS_PER_DOLLAR
}

#[cfg(test)]
mod tests {
    use bethink_config::Settings;
    use bethink_transcript::CallId;
    use uuid::Uuid;

    use super::*;

    fn call(at: i64, tokens: u64, cost: Option<u64>) -> ModelCall {
        ModelCall {
            id: CallId(Uuid::now_v7()),
            session: None,
            purpose: "summary".into(),
            provider: "anthropic".into(),
            model: "m\u{1b}[31m".into(),
            started_at: UnixMicros(at),
            millis: 5,
            input: tokens,
            output: 0,
            cache_read: 0,
            cache_write: 0,
            cost,
            outcome: "ok".into(),
        }
    }

    #[test]
    fn a_day_begins_at_nothing_and_is_not_had_twice() {
        let ledger = Ledger::default();
        let (noon, tomorrow) = (UnixMicros(DAY_MICROS / 2), UnixMicros(DAY_MICROS + 1));
        ledger.add(&call(noon.0, 10, Some(7)), noon);
        ledger.add(&call(noon.0, 5, None), noon);
        assert_eq!(ledger.spent(noon), Spent { calls: 2, tokens: 15, cost: 7, unpriced: 1 });
        // It began yesterday.
        ledger.add(&call(noon.0, 100, Some(1)), tomorrow);
        assert_eq!(ledger.spent(tomorrow), Spent::default());
        ledger.add(&call(tomorrow.0, 1, Some(1)), tomorrow);
        assert_eq!(ledger.spent(noon).tokens, 1, "a clock that was set back");
    }

    async fn boot(home: &std::path::Path, change: impl FnOnce(&mut Settings)) -> Daemon {
        let mut settings = Settings::at(home);
        change(&mut settings);
        Daemon::boot(settings).await.unwrap()
    }

    #[tokio::test]
    async fn a_budget_is_held_and_survives_a_restart() {
        let home = tempfile::tempdir().unwrap();
        let daemon = boot(home.path(), |settings| settings.model.daily_tokens = 100).await;
        let now = daemon.now().0;
        daemon.enter_call(call(now - DAY_MICROS, 1_000, Some(1_000_000))).await;
        daemon.enter_call(call(now, 99, Some(2_000_000))).await;
        assert_eq!(daemon.within_budget(), Ok(()));
        daemon.enter_call(call(now, 1, None)).await;
        assert!(daemon.within_budget().unwrap_err().contains("100 tokens"));
        daemon.shutdown().await;
        drop(daemon);
        let daemon = boot(home.path(), |settings| settings.model.daily_cost = 2.0).await;
        let today = daemon.spent_today();
        // Near midnight the day may have changed since.
        if day_of(daemon.now()) == day_of(UnixMicros(now)) {
            assert_eq!(today, Spent { calls: 2, tokens: 100, cost: 2_000_000, unpriced: 1 });
            assert!(daemon.within_budget().unwrap_err().contains("$2.00"));
        }
        let usage = daemon.usage(None, None, false).await.unwrap();
        assert_eq!((usage.totals.calls, usage.totals.cost_usd), (3, Some(3.0)));
        assert_eq!(usage.rows[0].model, "m[31m", "names are plain");
        let unknown = daemon.usage(Some(SessionId(Uuid::now_v7())), None, false).await;
        assert_eq!(unknown.unwrap_err().kind, crate::Kind::NotFound);
        let wrong = daemon.usage(None, Some("yesterday"), false).await.unwrap_err();
        assert_eq!(wrong.field.as_deref(), Some("since"));
        let later = daemon.usage(None, Some("9999-01-01"), true).await.unwrap();
        assert!(later.rows.is_empty());
        let metrics = daemon.metrics();
        assert!(
            metrics.contains(r#"bethink_model_calls_total{purpose="summary",outcome="ok"}"#),
            "{metrics}"
        );
        daemon.shutdown().await;
    }
}
