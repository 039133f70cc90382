//! The ledger of model calls: rows, metrics and budgets.

use bethink_api as api;
use bethink_model::price::Given;
use bethink_model::{Prices, price};
use bethink_service::{MAX_PAGE, Result, ServiceError, parse_rfc3339, rfc3339};
use bethink_store::{ModelCall, UsageFilter, UsageSum};
use bethink_transcript::{SessionId, TokenUsage, UnixMicros};

use crate::service::ModelService;
use crate::spent::{CallEstimate, Reservation, Spent};

/// Maximum length of a model's name in the ledger, in characters. Providers' own names have at most 50 characters.
const MAX_MODEL_NAME: usize = 200;
const MICROS_PER_DOLLAR: f64 = 1_000_000.0;

impl ModelService {
    /// Adds a call to the day's total, and writes it as a row. The row is durable when this function returns. It is
    /// written even if the caller's future is dropped. If it cannot be written, the error is logged and the call stays
    /// in the total.
    pub async fn enter_call(&self, call: ModelCall) {
        let write = self.counted(call);
        self.cx.run_to_completion(write).await;
    }

    /// Adds a call to the day's total at once, and returns the future that writes its row.
    pub(crate) fn counted(&self, call: ModelCall) -> impl Future<Output = ()> + Send + use<> {
        let call = ModelCall { provider: plain(&call.provider), model: plain(&call.model), ..call };
        self.ledger.add(&call, self.cx.now());
        count(&call);
        let store = self.cx.store_handle();
        async move {
            if let Err(error) = store.add_model_call(call).await {
                tracing::error!(%error, "could not record a model call");
            }
        }
    }

    /// Returns today's usage.
    pub fn spent_today(&self) -> Spent {
        self.ledger.spent(self.cx.now())
    }

    /// Fails if a daily budget is used up, so that no model that it applies to is called until the next day.
    pub fn within_budget(&self) -> std::result::Result<(), String> {
        let settings = &self.cx.settings().model;
        let names = [&settings.name, &settings.small_name].into_iter().filter(|n| !n.is_empty());
        let prices = self.prices();
        let names: Vec<_> = names.collect();
        let has_cost = names.is_empty() || names.iter().any(|name| prices.of(name).is_some());
        self.allows(&self.spent_today(), 0, has_cost)
    }

    /// Fails if a daily budget does not allow a call of this model that may need so many tokens. Otherwise, the call counts
    /// towards the budgets while it runs.
    pub(crate) fn reserve(
        &self,
        model: &str,
        tokens: u64,
    ) -> std::result::Result<Reservation<'_>, String> {
        let usage = TokenUsage { input_tokens: tokens, ..TokenUsage::default() };
        let cost = self.cost_of(model, &usage);
        let estimate = CallEstimate { tokens, cost: cost.unwrap_or(0) };
        let allows = |spent: &Spent| self.allows(spent, tokens, cost.is_some());
        self.ledger.reserve(self.cx.now(), estimate, allows)
    }

    /// Checks the daily budgets for a call that may need so many tokens. `has_cost` is whether the model has a known price,
    /// without which `daily_cost` does not apply to it.
    fn allows(
        &self,
        spent: &Spent,
        tokens: u64,
        has_cost: bool,
    ) -> std::result::Result<(), String> {
        let settings = &self.cx.settings().model;
        let over = |setting: &str, budget: String, why: String| {
            Err(format!(
                "the daily budget of {budget} (`model.{setting}`) {why}; it resets at midnight UTC"
            ))
        };
        let used_up = |spent: String| format!("is used up: {spent} were used or are in use");
        let budget = settings.daily_tokens;
        if budget > 0 && spent.tokens.saturating_add(tokens.max(1)) > budget {
            let used = format!("{} tokens", spent.tokens);
            let why = match spent.tokens >= budget {
                true => used_up(used),
                false => format!(
                    "does not allow a call that may need {tokens} tokens: {used} were used or are in use"
                ),
            };
            return over("daily_tokens", format!("{budget} tokens"), why);
        }
        // The call's own cost is left out: most of its prompt is usually cached, and then costs a fraction of the estimate.
        let (budget, cost) = (settings.daily_cost, dollars(spent.cost));
        if has_cost && budget > 0.0 && cost >= budget {
            return over("daily_cost", format!("${budget:.2}"), used_up(format!("${cost:.2}")));
        }
        Ok(())
    }

    /// Returns the configured prices.
    pub fn prices(&self) -> Prices {
        let settings = &self.cx.settings().model;
        Prices {
            large: Given { input: settings.price_input, output: settings.price_output },
            small: Given { input: settings.small_price_input, output: settings.small_price_output },
            small_name: settings.small_name.clone(),
        }
    }

    /// Returns the cost in micro-dollars; `None` if the model's price is unknown.
    pub fn cost_of(&self, model: &str, usage: &TokenUsage) -> Option<u64> {
        price::cost(model, usage, &self.prices())
    }

    /// Returns the usage of one session or of all sessions, from `since` on.
    pub async fn usage(
        &self,
        session: Option<SessionId>,
        since: Option<&str>,
        by_session: bool,
    ) -> Result<api::Usage> {
        let since = since.map(time).transpose()?;
        let filter = UsageFilter { session, since, by_session: by_session || session.is_some() };
        let sums = self.cx.store().model_usage(filter).await?;
        if let (Some(id), true) = (session, sums.is_empty()) {
            // Fails if the session does not exist.
            self.cx.store().session(id).await?;
        }
        Ok(api::Usage {
            totals: total(&sums),
            more: sums.len() > MAX_PAGE,
            rows: sums.iter().take(MAX_PAGE).map(row).collect(),
            today: self.today(),
        })
    }

    fn today(&self) -> api::UsageToday {
        let (settings, now, spent) = (&self.cx.settings().model, self.cx.now(), self.spent_today());
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

/// Returns a name without control characters, with bounded length. The name may come from a client.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(MAX_MODEL_NAME).collect()
}

/// Parses an RFC 3339 time, or a day.
fn time(text: &str) -> Result<UnixMicros> {
    let at = parse_rfc3339(text).or_else(|| parse_rfc3339(&format!("{text}T00:00:00Z")));
    at.ok_or_else(|| {
        let shown: String = text.chars().take(64).collect();
        ServiceError::invalid("since", format!("{shown:?} is not a valid time"))
            .hint("use RFC 3339, such as 2026-01-31T12:00:00Z, or a day, such as 2026-01-31")
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
    use bethink_metrics::MetricsRegistry;
    use bethink_service::ServiceContext;
    use bethink_transcript::CallId;
    use uuid::Uuid;

    use super::*;
    use crate::spent::{DAY_MICROS, day_of};

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

    async fn open(
        home: &std::path::Path,
        change: impl FnOnce(&mut Settings),
    ) -> (ServiceContext, ModelService) {
        let mut settings = Settings::at(home);
        change(&mut settings);
        let cx = bethink_service_testing::context_with(settings).await;
        let models = ModelService::open(cx.clone(), None).await.unwrap();
        (cx, models)
    }

    async fn close(cx: &ServiceContext) {
        cx.stop().await;
        cx.store().close().await.unwrap();
    }

    /// Otherwise the daemon would not start, and no history could be read.
    #[tokio::test]
    async fn the_service_opens_with_a_damaged_ledger() {
        let home = tempfile::tempdir().unwrap();
        let (cx, models) = open(home.path(), |_| ()).await;
        models.enter_call(call(cx.now().0, 99, Some(2_000_000))).await;
        close(&cx).await;
        let file = home.path().join("bethink.db");
        let mut bytes = std::fs::read(&file).unwrap();
        let at = bytes.windows(9).position(|window| window == b"anthropic").unwrap();
        bytes[at] = b'A';
        std::fs::write(&file, bytes).unwrap();
        let (cx, models) = open(home.path(), |_| ()).await;
        let error = models.usage(None, None, false).await.unwrap_err();
        assert_eq!(error.kind, bethink_service::ErrorKind::StorageDamaged);
        close(&cx).await;
    }

    #[tokio::test]
    async fn a_budget_in_dollars_holds_only_for_models_with_a_price() {
        let home = tempfile::tempdir().unwrap();
        let (cx, models) = open(home.path(), |settings| settings.model.daily_cost = 1.0).await;
        models.enter_call(call(cx.now().0, 99, Some(2_000_000))).await;
        assert!(models.reserve("claude-sonnet-4-5", 10).is_err());
        assert!(models.reserve("my-own", 10).is_ok());
        close(&cx).await;
    }

    #[tokio::test]
    async fn a_budget_in_dollars_allows_a_call_while_some_of_it_is_left() {
        let home = tempfile::tempdir().unwrap();
        let (cx, models) = open(home.path(), |settings| settings.model.daily_cost = 1.0).await;
        models.enter_call(call(cx.now().0, 99, Some(900_000))).await;
        let model = "claude-sonnet-4-5";
        // The prompt alone would cost more than $1 if none of it were cached.
        let running = models.reserve(model, 1_000_000).unwrap();
        assert!(models.reserve(model, 1).unwrap_err().contains("in use"));
        drop(running);
        assert!(models.reserve(model, 1).is_ok());
        close(&cx).await;
    }

    #[tokio::test]
    async fn a_budget_is_held_and_survives_a_restart() {
        let home = tempfile::tempdir().unwrap();
        let (cx, models) = open(home.path(), |settings| settings.model.daily_tokens = 100).await;
        let now = cx.now().0;
        models.enter_call(call(now - DAY_MICROS, 1_000, Some(1_000_000))).await;
        models.enter_call(call(now, 99, Some(2_000_000))).await;
        assert_eq!(models.within_budget(), Ok(()));
        models.enter_call(call(now, 1, None)).await;
        assert!(models.within_budget().unwrap_err().contains("100 tokens"));
        close(&cx).await;
        let (cx, models) = open(home.path(), |settings| settings.model.daily_cost = 2.0).await;
        let today = models.spent_today();
        // Near midnight, the day may have changed in the meantime.
        if day_of(cx.now()) == day_of(UnixMicros(now)) {
            assert_eq!(today, Spent { calls: 2, tokens: 100, cost: 2_000_000, unpriced: 1 });
            assert!(models.within_budget().unwrap_err().contains("$2.00"));
        }
        let usage = models.usage(None, None, false).await.unwrap();
        assert_eq!((usage.totals.calls, usage.totals.cost_usd), (3, Some(3.0)));
        assert_eq!(usage.rows[0].model, "m[31m", "names are plain");
        let unknown = models.usage(Some(SessionId(Uuid::now_v7())), None, false).await;
        assert_eq!(unknown.unwrap_err().kind, bethink_service::ErrorKind::NotFound);
        let wrong = models.usage(None, Some("yesterday"), false).await.unwrap_err();
        assert_eq!(wrong.field.as_deref(), Some("since"));
        let later = models.usage(None, Some("9999-01-01"), true).await.unwrap();
        assert!(later.rows.is_empty());
        close(&cx).await;
    }

    #[tokio::test]
    async fn a_call_is_counted_by_purpose_and_outcome() {
        let home = tempfile::tempdir().unwrap();
        let (cx, models) = open(home.path(), |_| ()).await;
        let recorder = MetricsRegistry::default();
        {
            // The test's runtime has one thread, and this recorder is set for it.
            let _counted = metrics::set_default_local_recorder(&recorder);
            models.enter_call(call(cx.now().0, 10, Some(7))).await;
            models.enter_call(call(cx.now().0, 10, Some(7))).await;
        }
        let told = recorder.render();
        let calls = r#"bethink_model_calls_total{purpose="summary",outcome="ok"} 2"#;
        assert!(told.contains(calls), "{told}");
        close(&cx).await;
    }
}
