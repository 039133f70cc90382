//! `bethink remember`: a sentence that a later session should know.

use bethink_api::Remember as Request;

use super::Done;
use super::memory::{PRIVATE, TEAM, project, told};
use crate::app::App;
use crate::args::Remember;

pub(crate) async fn remember(app: &mut App, what: &Remember) -> Done {
    let client = app.client().await?;
    // A session is named as its source only where the person names one.
    let session_id = match app.session.is_some() {
        true => Some(app.session(&client, None).await?.id),
        false => None,
    };
    let request = Request {
        project_dir: project(app),
        text: what.text.join(" "),
        name: what.name.clone(),
        description: what.description.clone(),
        kind: what.kind.clone(),
        scope: Some(if what.team { TEAM } else { PRIVATE }.to_owned()),
        session_id,
    };
    let done = client.remember(&request).await?;
    told(app, &done)
}
