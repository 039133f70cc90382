//! Stores what the `metrics` macros count in this process, and writes it in Prometheus text format (version 0.0.4).
//!
//! A counter or gauge has one number per series. A histogram is written as a summary: count, sum, and quantiles of its
//! newest samples, so that a series takes only a few kilobytes, no matter how long the daemon runs.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Label, Metadata, Recorder, SharedString,
    Unit,
};

/// Number of newest samples from which quantiles are calculated.
const MOST_SAMPLES: usize = 512;
const QUANTILES: [f64; 7] = [0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0];

/// All series of this process.
#[derive(Clone, Debug, Default)]
pub struct MetricsRegistry(Arc<Tables>);

#[derive(Debug, Default)]
struct Tables {
    counters: Series<AtomicU64>,
    /// The value of each gauge, as the bits of an `f64`.
    gauges: Series<AtomicU64>,
    histograms: Series<Samples>,
}

#[derive(Debug, Default)]
struct Series<T>(Mutex<HashMap<Key, Arc<T>>>);

impl MetricsRegistry {
    /// Returns the registry that the macros use. A process has one registry, even if tests start several daemons.
    pub fn global() -> Self {
        static GLOBAL: OnceLock<MetricsRegistry> = OnceLock::new();
        let install = || {
            let registry = Self::default();
            // If another recorder is already installed, this registry stays empty.
            drop(metrics::set_global_recorder(registry.clone()));
            registry
        };
        GLOBAL.get_or_init(install).clone()
    }

    /// Writes the Prometheus text, sorted by name and series.
    pub fn render(&self) -> String {
        let mut out = String::new();
        self.0.counters.render("counter", &mut out, |out, key, counter| {
            line(out, key, "", None, counter.load(Ordering::Relaxed));
        });
        self.0.gauges.render("gauge", &mut out, |out, key, gauge| {
            line(out, key, "", None, f64::from_bits(gauge.load(Ordering::Relaxed)));
        });
        self.0.histograms.render("summary", &mut out, |out, key, samples| {
            let (count, sum, sorted) = samples.sorted();
            for quantile in QUANTILES {
                let last = sorted.len().saturating_sub(1);
                let value = sorted.get((last as f64 * quantile).round() as usize);
                line(out, key, "", Some(quantile), value.copied().unwrap_or_default());
            }
            line(out, key, "_sum", None, sum);
            line(out, key, "_count", None, count);
        });
        out
    }
}

impl<T: Default> Series<T> {
    fn get(&self, key: &Key) -> Arc<T> {
        let mut series = locked(&self.0);
        if let Some(known) = series.get(key) {
            return known.clone();
        }
        series.entry(key.clone()).or_default().clone()
    }

    fn render(&self, kind: &str, out: &mut String, write: impl Fn(&mut String, &Key, &T)) {
        let series = locked(&self.0);
        let mut by_name: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for (key, value) in series.iter() {
            by_name.entry(key.name()).or_default().push((key, value));
        }
        for (name, mut series) in by_name {
            series.sort_by_key(|(key, _)| *key);
            let _ = writeln!(out, "# TYPE {name} {kind}");
            series.into_iter().for_each(|(key, value)| write(out, key, value));
            out.push('\n');
        }
    }
}

/// Writes one sample line.
fn line(
    out: &mut String,
    key: &Key,
    suffix: &str,
    quantile: Option<f64>,
    value: impl std::fmt::Display,
) {
    let labels = key.labels().map(label).chain(quantile.map(|at| format!("quantile=\"{at}\"")));
    let labels: Vec<String> = labels.collect();
    let labels =
        if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _ = writeln!(out, "{}{suffix}{labels} {value}", key.name());
}

fn label(label: &Label) -> String {
    let value = label.value().replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    format!("{}=\"{value}\"", label.key())
}

/// A histogram's samples.
#[derive(Debug, Default)]
struct Samples(Mutex<SampleSums>);

#[derive(Debug, Default)]
struct SampleSums {
    count: u64,
    sum: f64,
    newest: VecDeque<f64>,
}

impl Samples {
    fn sorted(&self) -> (u64, f64, Vec<f64>) {
        let sums = locked(&self.0);
        let mut sorted: Vec<f64> = sums.newest.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        (sums.count, sums.sum, sorted)
    }
}

impl HistogramFn for Samples {
    fn record(&self, value: f64) {
        let mut sums = locked(&self.0);
        sums.count += 1;
        sums.sum += value;
        if sums.newest.len() == MOST_SAMPLES {
            sums.newest.pop_front();
        }
        sums.newest.push_back(value);
    }
}

impl Recorder for MetricsRegistry {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.0.counters.get(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.0.gauges.get(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.0.histograms.get(key))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_written_as_prometheus_reads_it() {
        let registry = MetricsRegistry::default();
        metrics::with_local_recorder(&registry, || {
            metrics::counter!("b_total", "kind" => "y", "why" => "a \"b\"\\\n").increment(2);
            metrics::counter!("b_total", "kind" => "x", "why" => "").increment(1);
            metrics::counter!("a_total").increment(3);
            metrics::counter!("a_total").increment(4);
            let gauge = metrics::gauge!("open");
            gauge.increment(3.0);
            gauge.decrement(1.0);
            for seconds in [0.5, 0.25, 0.75] {
                metrics::histogram!("seconds", "route" => "/x").record(seconds);
            }
        });
        let expect = r#"# TYPE a_total counter
a_total 7

# TYPE b_total counter
b_total{kind="x",why=""} 1
b_total{kind="y",why="a \"b\"\\\n"} 2

# TYPE open gauge
open 2

# TYPE seconds summary
seconds{route="/x",quantile="0"} 0.25
seconds{route="/x",quantile="0.5"} 0.5
seconds{route="/x",quantile="0.9"} 0.75
seconds{route="/x",quantile="0.95"} 0.75
seconds{route="/x",quantile="0.99"} 0.75
seconds{route="/x",quantile="0.999"} 0.75
seconds{route="/x",quantile="1"} 0.75
seconds_sum{route="/x"} 1.5
seconds_count{route="/x"} 3

"#;
        assert_eq!(registry.render(), expect);
    }

    #[test]
    fn a_histogram_stays_small_and_its_quantiles_follow() {
        let samples = Samples::default();
        for n in 0..10_000 {
            samples.record(f64::from(n));
        }
        let (count, sum, sorted) = samples.sorted();
        assert_eq!((count, sum), (10_000, 49_995_000.0));
        assert_eq!((sorted.len(), sorted[0]), (MOST_SAMPLES, 9_488.0));
    }
}
