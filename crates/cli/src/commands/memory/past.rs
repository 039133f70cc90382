//! What a topic held before, and putting it back.

use bethink_api::MemoryVersion;
use bethink_client::Client;

use super::known;
use super::write::told_as;
use crate::app::App;
use crate::args::{OneMemory, RestoreMemory};
use crate::commands::Done;
use crate::draw::memory as draw;
use crate::screen::Text;

pub(super) async fn history(app: &mut App, client: &Client, what: &OneMemory) -> Done {
    let topic = known(app, client, what).await?;
    let found = client.topic_history(&topic).await?;
    if app.screen.json {
        return Ok(app.screen.value(&found)?);
    }
    if found.versions.is_empty() {
        return Ok(app.screen.note("bethink has not changed it yet: no versions are kept")?);
    }
    let lines = draw::versions(&found.versions, app.screen.look.width, app.now);
    app.screen.lines(lines)?;
    let shown = found.versions.iter().find(|one| is_another(one));
    if let Some(one) = shown {
        let told = format!("bethink memory show {} --version {} shows it", topic.name, one.version);
        app.screen.note(Text::new().dim(told))?;
    }
    Ok(())
}

fn is_another(one: &MemoryVersion) -> bool {
    !one.current && one.bytes.is_some()
}

pub(super) async fn restore(app: &mut App, client: &Client, what: &RestoreMemory) -> Done {
    let topic = known(app, client, &what.one).await?;
    let done = client.restore_topic(&topic, what.version).await?;
    told_as(app, &done, "put back")
}
