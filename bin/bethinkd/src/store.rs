//! `bethinkd store`: copies and checks databases for `bethink store`, so that only this program contains their drivers.
//!
//! Starts no daemon. Prints [`StoreLine`]s on stdout, and nothing else.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use bethink_api::{CopyProgress, StoreCheckReport, StoreCopyReport, StoreLine, StoreOutcome};
use bethink_config::database_url::without_password;
use bethink_config::{Overrides, Settings, StoreSettings};
use bethink_daemon::with_password;
use bethink_service::{Clock, SystemClock};
use bethink_store_copy::{CopyError, CopyRequest, StorePlace, check, copy};

use crate::arguments::StoreCommand;

/// Minimum time between two lines about the progress of a phase.
const STEP_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn run(command: StoreCommand, overrides: &Overrides) -> anyhow::Result<()> {
    end_with_stdin();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (outcome, done) = match runtime.block_on(Box::pin(finish(command, overrides))) {
        Ok(outcome) => (outcome, Ok(())),
        Err(error) => (failed(&error), Err(error)),
    };
    print(&StoreLine::Ended(outcome)).context("could not print the result")?;
    done
}

/// Ends this program together with the one that started it, which keeps the other end of stdin open as long as it runs.
fn end_with_stdin() {
    std::thread::spawn(|| {
        // Nothing is written to it.
        let _read = io::copy(&mut io::stdin(), &mut io::sink());
        let _unread = writeln!(io::stderr(), "bethinkd: stopped, because stdin was closed");
        std::process::exit(1);
    });
}

async fn finish(command: StoreCommand, overrides: &Overrides) -> anyhow::Result<StoreOutcome> {
    let loaded = Settings::load(&|name| std::env::var(name).ok(), overrides);
    let settings = loaded.map(|loaded| loaded.settings);
    // Invalid settings matter only if a database has to be found in them.
    let own = settings.as_ref().ok().map(|settings| &settings.store);
    match command {
        StoreCommand::Copy { from, to, home } => copy_store(&from, &to, home, own).await,
        StoreCommand::Check { place: Some(place) } => {
            check_store(find_place(&place, own).await?).await
        }
        StoreCommand::Check { place: None } => {
            let settings = settings?;
            check_store(match settings.store.url.as_str() {
                "" => StorePlace::Home(settings.home),
                url => find_place(url, Some(&settings.store)).await?,
            })
            .await
        }
    }
}

/// Returns the place that an argument names. If it is the database of the settings, their password is used.
async fn find_place(text: &str, own: Option<&StoreSettings>) -> anyhow::Result<StorePlace> {
    let is_own = |own: &&StoreSettings| without_password(&own.url) == without_password(text);
    Ok(match (text.parse()?, own.filter(is_own)) {
        (StorePlace::Database(address), Some(own)) => {
            StorePlace::in_database(with_password(*address, own).await?)
        }
        (place, _) => place,
    })
}

async fn copy_store(
    from: &str,
    to: &str,
    home: Option<PathBuf>,
    own: Option<&StoreSettings>,
) -> anyhow::Result<StoreOutcome> {
    let (source, target) = (find_place(from, own).await?, find_place(to, own).await?);
    let request = CopyRequest { from: source, to: target, home, now: SystemClock.now() };
    let mut printed = None;
    let report = copy(&request, &mut |step: CopyProgress| {
        let is_new = |(phase, at): (_, Instant)| phase != step.phase || at.elapsed() >= STEP_EVERY;
        if printed.is_none_or(is_new) {
            printed = Some((step.phase, Instant::now()));
            // If nobody reads it, this program is about to end.
            let _unread = print(&StoreLine::Progress(step));
        }
    })
    .await?;
    let (store_url, hint) = match &request.to {
        StorePlace::Database(_) => {
            let url = without_password(to);
            let password = match url == to {
                true => "",
                false => {
                    ", then write the password to a file and set store.password_file to its path"
                }
            };
            let hint = format!("to use it, run `bethink config set store.url '{url}'`{password}");
            (url, hint)
        }
        StorePlace::Home(home) => {
            let home = home.display();
            let hint = format!(
                "to use it, run `bethink config set store.url ''`, and start the daemon with BETHINK_HOME={home}"
            );
            (String::new(), hint)
        }
    };
    Ok(StoreOutcome::Copied { report: StoreCopyReport { report, store_url }, hint })
}

async fn check_store(place: StorePlace) -> anyhow::Result<StoreOutcome> {
    let found = check(&place).await?;
    let hint = found.damage.as_ref().map(|_| match place {
        StorePlace::Home(_) => {
            "restart its daemon, which keeps a copy and recovers the intact rows"
        }
        StorePlace::Database(_) => "restore the database from a backup",
    });
    let found = StoreCheckReport {
        place: place.to_string(),
        ok: found.damage.is_none(),
        damage: found.damage,
        messages: found.messages,
        lines: found.lines,
    };
    Ok(StoreOutcome::Checked { found, hint: hint.map(str::to_owned) })
}

fn failed(error: &anyhow::Error) -> StoreOutcome {
    // A message may already contain its cause.
    let detail = error.chain().map(ToString::to_string).reduce(|told, cause| {
        if told.contains(&cause) { told } else { format!("{told}: {cause}") }
    });
    let copying = error.downcast_ref::<CopyError>();
    StoreOutcome::Failed {
        detail: detail.unwrap_or_default(),
        hint: copying.and_then(CopyError::hint).map(str::to_owned),
        is_usage_error: copying.is_some_and(CopyError::is_of_the_arguments),
    }
}

fn print(line: &StoreLine) -> anyhow::Result<()> {
    Ok(writeln!(io::stdout(), "{}", serde_json::to_string(line)?)?)
}
