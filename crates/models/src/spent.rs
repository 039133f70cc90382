//! Today's usage of models, for checking budgets.
//!
//! Days are in UTC. The total is read at boot and kept in memory, so that checking a budget costs nothing. Running calls
//! count with their estimates.

use std::sync::Mutex;

use bethink_service::{ServiceContext, locked};
use bethink_store::{ModelCall, StoreError, UsageFilter, UsageSum};
use bethink_transcript::UnixMicros;

pub(crate) const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// The usage of a day so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub calls: u64,
    /// Input and output tokens, cached or not.
    pub tokens: u64,
    /// Cost of the calls with a known price, in micro-dollars.
    pub cost: u64,
    /// Number of calls that used tokens but have no known price.
    pub unpriced: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<SpentDay>);

#[derive(Clone, Copy, Debug, Default)]
struct SpentDay {
    /// Number of days since 1970.
    number: i64,
    spent: Spent,
    /// The estimates of running calls.
    running: CallEstimate,
}

/// What the prompt of a call may use, as if none of it were cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallEstimate {
    pub(crate) tokens: u64,
    /// In micro-dollars; 0 if the price is unknown.
    pub(crate) cost: u64,
}

/// Counts a running call until it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation<'a> {
    ledger: &'a Ledger,
    estimate: CallEstimate,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let running = &mut locked(&self.ledger.0).running;
        running.tokens -= self.estimate.tokens;
        running.cost -= self.estimate.cost;
    }
}

impl Ledger {
    /// Reads today's total from the store, and adds it to the total in memory, which has the calls that were made before the
    /// database could be read.
    pub(crate) async fn load(&self, cx: &ServiceContext) -> bethink_store::StoreResult<()> {
        let number = day_of(cx.now());
        let since = Some(UnixMicros(number.saturating_mul(DAY_MICROS)));
        let sums = cx.store().model_usage(UsageFilter { since, ..UsageFilter::default() }).await;
        let sums = match sums {
            // Damage of the ledger must not keep history from being served.
            Err(StoreError::Damaged(why)) => {
                tracing::error!(
                    why,
                    "could not read the ledger of model calls; until a restart recovers it, calls made earlier today do not count towards the daily budget"
                );
                Vec::new()
            }
            other => other?,
        };
        // Begins a new total if the day has changed.
        self.spent(cx.now());
        let mut day = locked(&self.0);
        if day.number == number {
            sums.iter().for_each(|sum| day.spent.add(&of_sum(sum)));
        }
        Ok(())
    }

    /// Returns the usage on the day of `now`. If the clock is set back, the later day's usage still counts, so that a
    /// budget cannot be used twice.
    pub(crate) fn spent(&self, now: UnixMicros) -> Spent {
        let mut day = locked(&self.0);
        if day_of(now) > day.number {
            *day = SpentDay { number: day_of(now), spent: Spent::default(), ..*day };
        }
        day.spent
    }

    /// Counts a call with this estimate as running, if `allows` accepts what has been used today, running calls included.
    pub(crate) fn reserve(
        &self,
        now: UnixMicros,
        estimate: CallEstimate,
        allows: impl FnOnce(&Spent) -> Result<(), String>,
    ) -> Result<Reservation<'_>, String> {
        self.spent(now);
        let mut day = locked(&self.0);
        let mut spent = day.spent;
        spent.tokens = spent.tokens.saturating_add(day.running.tokens);
        spent.cost = spent.cost.saturating_add(day.running.cost);
        allows(&spent)?;
        let running = &mut day.running;
        // What is added here is subtracted again, so it must fit.
        let tokens = estimate.tokens.min(u64::MAX - running.tokens);
        let cost = estimate.cost.min(u64::MAX - running.cost);
        running.tokens += tokens;
        running.cost += cost;
        Ok(Reservation { ledger: self, estimate: CallEstimate { tokens, cost } })
    }

    pub(crate) fn add(&self, call: &ModelCall, now: UnixMicros) {
        self.spent(now);
        let mut day = locked(&self.0);
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

pub(crate) fn day_of(at: UnixMicros) -> i64 {
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

#[cfg(test)]
mod tests {
    use bethink_transcript::CallId;
    use uuid::Uuid;

    use super::*;

    fn call(at: i64, tokens: u64, cost: Option<u64>) -> ModelCall {
        ModelCall {
            id: CallId(Uuid::now_v7()),
            session: None,
            purpose: "summary".into(),
            provider: "anthropic".into(),
            model: "m".into(),
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
        // The call began yesterday.
        ledger.add(&call(noon.0, 100, Some(1)), tomorrow);
        assert_eq!(ledger.spent(tomorrow), Spent::default());
        ledger.add(&call(tomorrow.0, 1, Some(1)), tomorrow);
        assert_eq!(ledger.spent(noon).tokens, 1, "a clock that was set back");
    }
}
