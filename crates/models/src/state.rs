//! Reports which model is configured, and whether it can be used.

use bethink_api as api;
use bethink_api::{ModelReadiness, Strategy};
use bethink_config::ModelSettings;
use bethink_model::Prices;
use bethink_model_http::{Base, KeySource, Provider};

use crate::service::ModelService;

impl ModelService {
    /// Returns the settings that are in effect, and the problems with them. Contacts no server and runs no command.
    pub fn model_state(&self) -> api::ModelState {
        let settings = &self.cx.settings().model;
        let mut state = state_of(settings, &self.prices(), &|name| {
            std::env::var_os(name).is_some_and(|value| !value.is_empty())
        });
        state.client_summaries = self.cx.settings().gateway.compaction == "client";
        if state.state != ModelReadiness::Ready {
            return state;
        }
        if let Some((found, todo)) = self.client.breaker.failing() {
            state.problems.push(api::ModelProblem { found, todo: todo.to_owned() });
        }
        let stopped = [
            self.within_budget().err().map(|detail| (ModelReadiness::Spent, detail)),
            self.client.rests().map(|detail| (ModelReadiness::Resting, detail)),
        ];
        match stopped.into_iter().flatten().next() {
            Some((readiness, detail)) => {
                api::ModelState { state: readiness, detail: Some(detail), ..state }
            }
            None => state,
        }
    }
}

/// Returns the state according to the settings. `is_set` returns whether an environment variable has a value.
fn state_of(
    settings: &ModelSettings,
    prices: &Prices,
    is_set: &dyn Fn(&str) -> bool,
) -> api::ModelState {
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let strategy = |wanted| if wanted { Strategy::Model } else { Strategy::Embedded };
    let mut state = api::ModelState {
        provider: api::parse_word(&settings.provider).unwrap_or_default(),
        name: some(&settings.name),
        small_name: some(&settings.small_name).filter(|small| *small != settings.name),
        summary: strategy(settings.summaries_by_model()),
        notes: strategy(settings.notes_by_model()),
        ..api::ModelState::default()
    };
    let Ok(provider) = Provider::parse(&settings.provider) else { return state };
    let base = Base::parse(provider, &settings.base_url, settings.allow_plain_http);
    let key = key(settings, provider, is_set);
    let missing = key.present == Some(false);
    state.problems = problems(settings, prices, base.as_ref().ok(), &key);
    state.state = match &base {
        Err(_) => ModelReadiness::Broken,
        Ok(_) if missing => ModelReadiness::NoKey,
        Ok(_) => ModelReadiness::Ready,
    };
    state.detail = base.as_ref().err().map(ToString::to_string);
    state.origin = base.ok().map(|base| base.origin());
    state.key = Some(key);
    state
}

fn key(
    settings: &ModelSettings,
    provider: Provider,
    is_set: &dyn Fn(&str) -> bool,
) -> api::ModelKey {
    let ModelSettings { base_url, api_key_env, api_key_command, .. } = settings;
    match KeySource::chosen(provider, base_url, api_key_env, api_key_command) {
        KeySource::None => api::ModelKey { from: "none".to_owned(), present: None },
        KeySource::Command(_) => api::ModelKey { from: "command".to_owned(), present: None },
        KeySource::Env(name) => api::ModelKey { present: Some(is_set(&name)), from: name },
    }
}

/// Finds settings that do not have the expected effect.
fn problems(
    settings: &ModelSettings,
    prices: &Prices,
    base: Option<&Base>,
    key: &api::ModelKey,
) -> Vec<api::ModelProblem> {
    let mut problems = Vec::new();
    let mut tell = |found: String, todo: &str| {
        problems.push(api::ModelProblem { found, todo: todo.to_owned() });
    };
    if key.present == Some(false) {
        tell(
            format!("{} is not set in the daemon's environment", key.from),
            "set it and restart the daemon, or set api_key_command in [model] to a command that prints the key",
        );
    }
    if base.is_some_and(|base| base.url().scheme() == "http" && !base.is_loopback()) {
        tell(
            "the key and conversations are sent over the network unencrypted".to_owned(),
            "set base_url in [model] to an https address, or use an SSH tunnel",
        );
    }
    if !settings.summaries_by_model() && !settings.notes_by_model() {
        tell(
            "a provider is set, but neither summaries nor notes use it".to_owned(),
            "set `summary` or `notes` in [model] to \"model\", or `provider` to \"none\"",
        );
    }
    if settings.daily_cost > 0.0 {
        let names = [&settings.name, &settings.small_name];
        let unpriced = names.iter().filter(|name| !name.is_empty() && prices.of(name).is_none());
        for name in unpriced {
            tell(
                format!("daily_cost has no effect for {name}: its price is unknown"),
                "set price_input and price_output in [model], or use daily_tokens",
            );
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(change: impl FnOnce(&mut ModelSettings)) -> api::ModelState {
        let mut settings = ModelSettings { provider: "anthropic".into(), ..Default::default() };
        change(&mut settings);
        state_of(&settings, &Prices::default(), &|name| name == "ANTHROPIC_API_KEY")
    }

    #[test]
    fn the_state_is_what_the_settings_lead_to() {
        let off = state(|s| s.provider = "none".into());
        assert_eq!(
            (off.state, off.origin, off.key, off.problems),
            (ModelReadiness::Off, None, None, vec![])
        );
        assert_eq!((off.summary, off.notes), (Strategy::Embedded, Strategy::Embedded));
        let own = state(|s| s.name = "m".into());
        assert_eq!((own.state, &own.problems[..]), (ModelReadiness::Ready, &[][..]));
        assert_eq!(own.origin.as_deref(), Some("https://api.anthropic.com"));
        let key = |from: &str, present| Some(api::ModelKey { from: from.into(), present });
        assert_eq!(own.key, key("ANTHROPIC_API_KEY", Some(true)));
        let local = state(|s| s.base_url = "http://127.0.0.1:8080/v1".into());
        assert_eq!(local.origin.as_deref(), Some("http://127.0.0.1:8080"));
        assert_eq!((local.state, local.key), (ModelReadiness::Ready, key("none", None)));
        let command = state(|s| s.api_key_command = "pass show key".into());
        assert_eq!(command.key, key("command", None), "the command itself is not shown");
        let unset = state(|s| s.api_key_env = "OTHER".into());
        assert_eq!((unset.state, unset.key), (ModelReadiness::NoKey, key("OTHER", Some(false))));
        assert_eq!(unset.problems.len(), 1);
    }

    #[test]
    fn an_address_that_is_refused_is_never_shown() {
        let broken = state(|s| s.base_url = "https://user:canary@host".into());
        assert_eq!((broken.state, &broken.origin), (ModelReadiness::Broken, &None));
        assert!(broken.detail.is_some());
        assert!(!format!("{broken:?}").contains("canary"));
    }

    #[test]
    fn what_works_otherwise_than_one_thinks_is_told() {
        let found = |change: fn(&mut ModelSettings)| {
            state(change).problems.into_iter().map(|p| p.found).collect::<Vec<_>>().join("; ")
        };
        let open = found(|s| {
            s.base_url = "http://192.0.2.1".into();
            s.allow_plain_http = true;
        });
        assert!(open.contains("unencrypted"), "{open}");
        let idle = found(|s| (s.summary, s.notes) = ("embedded".into(), "embedded".into()));
        assert!(idle.contains("neither summaries nor notes use it"), "{idle}");
        let unpriced = found(|s| (s.daily_cost, s.name) = (5.0, "my-own".into()));
        assert!(unpriced.contains("my-own"), "{unpriced}");
        let priced = found(|s| (s.daily_cost, s.name) = (5.0, "claude-opus-4-5".into()));
        assert_eq!(priced, "");
    }
}
