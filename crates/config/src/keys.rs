//! Every key by its section and name: where its value goes, and what is allowed there.

use crate::settings::Settings;

/// The sections that are read here.
pub(crate) const SECTIONS: [&str; 8] =
    ["daemon", "context", "compact", "session_memory", "model", "memory", "team", "gateway"];

pub(crate) struct Key {
    pub(crate) section: &'static str,
    pub(crate) name: &'static str,
    place: Place,
}

/// Where a value goes, by its type.
#[derive(Clone, Copy)]
enum Place {
    /// A whole number between the two bounds, both allowed.
    Whole(fn(&mut Settings) -> &mut u64, u64, u64),
    /// A share in percent, from 0 to 100.
    Percent(fn(&mut Settings) -> &mut f64),
    Flag(fn(&mut Settings) -> &mut bool),
    Text(fn(&mut Settings) -> &mut String),
    /// One of these words.
    Either(fn(&mut Settings) -> &mut String, &'static [&'static str]),
    /// The name of an environment variable; never shown when it is none, since it may be a secret that
    /// was put in the wrong place.
    Variable(fn(&mut Settings) -> &mut String),
    /// A text that may hold a secret: never shown.
    Hidden(fn(&mut Settings) -> &mut String),
    /// US dollars, up to a million.
    Money(fn(&mut Settings) -> &mut f64),
    Names(fn(&mut Settings) -> &mut Vec<String>),
    /// Tokens by the beginning of a model's name.
    Windows(fn(&mut Settings) -> &mut Vec<(String, u64)>),
}

impl Key {
    pub(crate) fn find(section: &str, name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.section == section && key.name == name)
    }

    /// `BETHINK_<SECTION>__<KEY>`.
    pub(crate) fn variable(&self) -> String {
        format!("BETHINK_{}__{}", self.section, self.name).to_uppercase()
    }

    /// What is allowed, in words.
    pub(crate) fn allowed(&self) -> String {
        match self.place {
            Place::Whole(_, low, high) => format!("a whole number from {low} to {high}"),
            Place::Percent(_) => "a number from 0 to 100".into(),
            Place::Flag(_) => "true or false".into(),
            Place::Text(_) | Place::Hidden(_) => "a text that is not empty".into(),
            Place::Either(_, words) => either(words),
            Place::Variable(_) => {
                "the name of an environment variable (letters, digits and _), not a key".into()
            }
            Place::Money(_) => format!("a number of US dollars from 0 to {MOST_MONEY}"),
            Place::Names(_) => "a list of texts (in the environment: joined by commas)".into(),
            Place::Windows(_) => format!(
                "a list of \"model=tokens\" with {} to {} tokens (in the environment: joined by commas)",
                WINDOW.0, WINDOW.1
            ),
        }
    }

    /// What was given, as an error may show it.
    pub(crate) fn shown(&self, given: String) -> String {
        match self.place {
            Place::Variable(_) | Place::Hidden(_) => "something else".into(),
            _ => given,
        }
    }

    /// Puts a value from a file in its place; `false` when it is not allowed.
    pub(crate) fn put(&self, settings: &mut Settings, value: &toml::Value) -> bool {
        match self.place {
            Place::Whole(place, low, high) => {
                let whole = value.as_integer().and_then(|n| u64::try_from(n).ok());
                set(place(settings), whole.filter(|n| (low..=high).contains(n)))
            }
            Place::Percent(place) => {
                set(place(settings), number(value).filter(|n| (0.0..=100.0).contains(n)))
            }
            Place::Flag(place) => set(place(settings), value.as_bool()),
            Place::Text(place) | Place::Hidden(place) => {
                let text = value.as_str().map(str::trim).filter(|text| !text.is_empty());
                set(place(settings), text.map(str::to_owned))
            }
            Place::Either(place, words) => {
                let known = value.as_str().map(str::trim).filter(|text| words.contains(text));
                set(place(settings), known.map(str::to_owned))
            }
            Place::Variable(place) => {
                let name = value.as_str().map(str::trim).filter(|name| is_variable(name));
                set(place(settings), name.map(str::to_owned))
            }
            Place::Money(place) => {
                let number = number(value).filter(|n| (0.0..=MOST_MONEY).contains(n));
                set(place(settings), number)
            }
            Place::Names(place) => set(place(settings), names(value)),
            Place::Windows(place) => set(place(settings), windows(value)),
        }
    }

    /// The same for the text of an environment variable or argument.
    pub(crate) fn put_text(&self, settings: &mut Settings, text: &str) -> bool {
        let text = text.trim();
        let value = match self.place {
            Place::Whole(..) => text.parse().ok().map(toml::Value::Integer),
            Place::Percent(_) | Place::Money(_) => text.parse().ok().map(toml::Value::Float),
            Place::Flag(_) => match text {
                "true" | "1" | "on" => Some(toml::Value::Boolean(true)),
                "false" | "0" | "off" => Some(toml::Value::Boolean(false)),
                _ => None,
            },
            Place::Text(_) | Place::Hidden(_) | Place::Either(..) | Place::Variable(_) => {
                Some(toml::Value::String(text.to_owned()))
            }
            Place::Names(_) | Place::Windows(_) => {
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                Some(toml::Value::Array(names.map(Into::into).collect()))
            }
        };
        value.is_some_and(|value| self.put(settings, &value))
    }
}

fn set<T>(place: &mut T, value: Option<T>) -> bool {
    match value {
        Some(value) => {
            *place = value;
            true
        }
        None => false,
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or(value.as_integer().map(|n| n as f64))
}

/// As POSIX has it: letters, digits and underscores, no digit first.
fn is_variable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| !c.is_ascii_digit()) && name.chars().all(plain)
}

/// `"a", "b" or "c"`.
fn either(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
    match quoted.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => quoted.concat(),
    }
}

fn names(value: &toml::Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

fn windows(value: &toml::Value) -> Option<Vec<(String, u64)>> {
    let window = |text: String| {
        let (model, tokens) = text.split_once('=')?;
        let tokens = tokens.trim().parse().ok().filter(|n| (WINDOW.0..=WINDOW.1).contains(n))?;
        let model = model.trim().to_owned();
        (!model.is_empty()).then_some((model, tokens))
    };
    names(value)?.into_iter().map(window).collect()
}

macro_rules! keys {
    ($($section:ident { $($name:ident: $kind:ident $(($($bound:expr),+))?,)* })*) => {
        /// In the order of the settings.
        pub(crate) const KEYS: &[Key] = &[$($(Key {
            section: stringify!($section),
            name: stringify!($name),
            place: Place::$kind(|settings| &mut settings.$section.$name $($(, $bound)+)?),
        },)*)*];
    };
}

/// No prompt is smaller, none larger is sold; keeps sums of a few of them far from overflow.
const TOKENS: (u64, u64) = (0, 100_000_000);
/// The windows that sessions can have.
const WINDOW: (u64, u64) = (8_000, TOKENS.1);
/// Counts of things that a person configures.
const MANY: u64 = 1_000_000;
/// A day: longer waits are a misplaced unit.
const DAY_MS: u64 = 86_400_000;
/// No person means more, for a day or for a million tokens.
const MOST_MONEY: f64 = 1_000_000.0;
/// Who writes: the configured model, or the daemon by itself.
const STRATEGIES: &[&str] = &["model", "embedded"];
const WHO_OR_NOBODY: &[&str] = &["model", "embedded", "off"];

keys! {
    daemon {
        listen: Text,
        socket: Flag,
        log: Text,
        max_body_bytes: Whole(1_024, 1 << 32),
        max_import_bytes: Whole(1_024, 1 << 40),
        max_depth: Whole(8, 1_000),
        max_messages: Whole(1, MANY),
        max_connections: Whole(1, 65_536),
        header_timeout_ms: Whole(100, DAY_MS),
        drain_ms: Whole(0, DAY_MS),
        allowed_hosts: Names,
        allowed_origins: Names,
        hot_bytes: Whole(0, 1 << 40),
    }
    context {
        window: Whole(1_000, TOKENS.1),
        windows: Windows,
        max_output: Whole(1, TOKENS.1),
        result_chars: Whole(100, TOKENS.1),
        results_chars: Whole(100, TOKENS.1),
        snip: Flag,
        microcompact_idle_minutes: Whole(0, MANY),
        microcompact_keep: Whole(0, MANY),
        microcompact_above: Whole(0, MANY),
        microcompact_tools: Names,
        auto_percent: Percent,
        auto_compact: Flag,
        collapse: Flag,
        cache_ttl_minutes: Whole(1, MANY),
    }
    session_memory {
        enabled: Flag,
        profile: Either(&["default", "frugal"]),
        template: Text,
        prompt: Text,
    }
    compact {
        keep_min_tokens: Whole(TOKENS.0, TOKENS.1),
        keep_min_messages: Whole(0, MANY),
        keep_max_tokens: Whole(TOKENS.0, TOKENS.1),
        user_message_tokens: Whole(TOKENS.0, TOKENS.1),
        restore_files: Whole(0, MANY),
        restore_file_tokens: Whole(TOKENS.0, TOKENS.1),
        restore_files_tokens: Whole(TOKENS.0, TOKENS.1),
        restore_skill_tokens: Whole(TOKENS.0, TOKENS.1),
        restore_skills_tokens: Whole(TOKENS.0, TOKENS.1),
        max_failures: Whole(1, MANY),
        thrash_turns: Whole(1, MANY),
        thrash_times: Whole(1, MANY),
    }
    model {
        provider: Either(&["none", "anthropic", "openai"]),
        base_url: Text,
        name: Text,
        small_name: Text,
        api_key_env: Variable,
        api_key_command: Hidden,
        allow_plain_http: Flag,
        stream: Flag,
        connect_timeout_ms: Whole(100, DAY_MS),
        idle_timeout_ms: Whole(100, DAY_MS),
        deadline_ms: Whole(100, DAY_MS),
        max_output: Whole(1, TOKENS.1),
        max_output_ceiling: Whole(1, TOKENS.1),
        summary: Either(STRATEGIES),
        notes: Either(STRATEGIES),
        daily_tokens: Whole(0, 1 << 50),
        daily_cost: Money,
        price_input: Money,
        price_output: Money,
        small_price_input: Money,
        small_price_output: Money,
    }
    memory {
        root: Text,
        layout: Either(&["bethink", "claude"]),
        recall: Either(WHO_OR_NOBODY),
        extraction: Either(WHO_OR_NOBODY),
        dream: Either(WHO_OR_NOBODY),
        dream_hours: Whole(1, MANY),
        dream_sessions: Whole(0, MANY),
        instructions: Flag,
    }
    team {
        dir: Text,
        remote: Text,
        timeout_ms: Whole(100, DAY_MS),
    }
    gateway {
        inject: Either(&["off", "recall", "full"]),
        anthropic_url: Hidden,
        anthropic_key_env: Variable,
        anthropic_key_command: Hidden,
        openai_url: Hidden,
        openai_key_env: Variable,
        openai_key_command: Hidden,
        allow_plain_http: Flag,
        idle_timeout_ms: Whole(100, DAY_MS),
        max_body_bytes: Whole(1_024, 1 << 32),
    }
}
