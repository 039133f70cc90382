//! `bethink recall`: finds memories that help with a question.

use bethink_api::{
    MemoryScope, RecallCertainty, RecallCheckRequest, RecallProblem, RecallRequest, RecallTerm,
    RecalledMemory, Strategy,
};
use bethink_terminal::words::plural;
use bethink_terminal::{StyledText, Tone, wrapped};

use crate::app::CliApp;
use crate::args::{Recall, RecallCommand};
use crate::failure::{Done, text_of};

const INDENT: &str = "    ";
/// Maximum number of lines of a memory that are shown.
const LINES: usize = 4;
/// Maximum number of terms that are shown as the reason for a match.
const TERMS: usize = 6;

pub(crate) async fn recall(app: &mut CliApp, how: &Recall) -> Done {
    if let Some(RecallCommand::Check) = how.command {
        return check(app).await;
    }
    let query = text_of(&how.query, "query")?;
    let client = app.client().await?;
    let request = RecallRequest {
        project_dir: app.project_dir(),
        query,
        queries: how.or.clone(),
        // Memories that are already in this session's prompt are left out.
        session_id: app.named_session(&client).await?,
        limit: how.limit,
        ..RecallRequest::default()
    };
    let found = client.recall(&request).await?;
    let Some(screen) = app.screen.unless_json(&found)? else { return Ok(()) };
    if screen.quiet {
        let names = found.memories.into_iter().map(|memory| memory.name.into());
        return Ok(screen.lines(names)?);
    }
    let mut is_sure = true;
    for (at, memory) in found.memories.iter().enumerate() {
        if at > 0 {
            screen.gap()?;
        }
        if is_sure && memory.certainty == RecallCertainty::Perhaps {
            is_sure = false;
            screen.line(StyledText::new().dim("perhaps:"))?;
        }
        let width = screen.look.width;
        screen.lines(head(memory, width))?;
        match how.full {
            true => screen.prose(memory.content.trim_end())?,
            false => screen.lines(beginning(memory, width))?,
        }
        screen.lines(around(memory, width))?;
    }
    let topics = plural(found.searched, "topic", "topics");
    let said = match found.memories.len() {
        0 if found.searched == 0 => "nothing is remembered yet".to_owned(),
        0 => format!("no match in {topics}"),
        _ => match found.strategy {
            Strategy::Model => format!("searched {topics}, ranked by the model"),
            Strategy::Embedded => format!("searched {topics}, ranked by the built-in algorithm"),
        },
    };
    if !found.memories.is_empty() {
        screen.gap()?;
    }
    if let Some(failure) = &found.model_failure {
        screen.note(format!("the model's choice could not be used: {failure}"))?;
    }
    Ok(screen.hint(said)?)
}

async fn check(app: &mut CliApp) -> Done {
    let client = app.client().await?;
    let request = RecallCheckRequest { project_dir: app.project_dir() };
    let check = client.check_recall(&request).await?;
    let Some(screen) = app.screen.unless_json(&check)? else { return Ok(()) };
    for problem in &check.problems {
        screen.lines(problem_lines(problem, screen.look.width))?;
        screen.gap()?;
    }
    let questions = plural(check.questions, "question", "questions");
    let prompts = match check.prompts {
        0 => "no past prompts to replay".to_owned(),
        prompts => {
            let prompts = plural(prompts, "past prompt", "past prompts");
            format!("{} of {prompts} would get memories", check.given)
        }
    };
    Ok(screen.hint(format!("{} of {questions} found the right topic; {prompts}", check.found))?)
}

fn problem_lines(problem: &RecallProblem, width: usize) -> Vec<StyledText> {
    let name =
        StyledText::new().dim(problem.scope.prefix()).put(Tone::Accent, problem.name.clone());
    let mut lines = vec![name.plain(format!("  {}", problem.reason)).fitted(width)];
    if !problem.question.is_empty() {
        let question = format!("\"{}\"", problem.question);
        lines.push(StyledText::from(INDENT).plain(question).fitted(width));
    }
    if !problem.instead.is_empty() {
        let found = format!("found: {}", problem.instead.join(", "));
        lines.push(StyledText::from(INDENT).dim(found).fitted(width));
    }
    let advice = wrapped(&problem.advice, width.saturating_sub(INDENT.len()));
    lines.extend(advice.into_iter().map(|line| StyledText::from(INDENT).dim(line)));
    lines
}

/// Returns a memory's name, type and age, its description, and why it was found.
fn head(memory: &RecalledMemory, width: usize) -> Vec<StyledText> {
    let scope = memory.scope.prefix();
    let kind = memory.kind.as_ref().map(|kind| format!("  {kind},")).unwrap_or_else(|| " ".into());
    let name = StyledText::new()
        .dim(scope)
        .put(Tone::Accent, memory.name.clone())
        .plain(format!("{kind} {}", memory.age));
    let branch = memory.unmerged.as_deref().map(bethink_render::memory::unmerged);
    let name = name.dim(branch.map_or_else(String::new, |told| format!(", {told}")));
    let mut lines = vec![name.fitted(width)];
    if let Some(about) = &memory.description {
        lines.push(StyledText::from(INDENT).strong(about.clone()).fitted(width));
    }
    lines.push(StyledText::from(INDENT).dim(why(memory)).fitted(width));
    lines
}

/// Returns why a memory was found, such as `score 0.82: fog (name, description), far (body)`.
fn why(memory: &RecalledMemory) -> String {
    let score = match memory.why.place {
        Some(place) => format!("ranked #{place} by the model"),
        None => format!("score {:.2}", memory.score),
    };
    let term = |term: &RecallTerm| {
        let fields: Vec<String> = term.fields.iter().map(ToString::to_string).collect();
        match fields.is_empty() {
            true => term.term.clone(),
            false => format!("{} ({})", term.term, fields.join(", ")),
        }
    };
    let terms: Vec<String> = memory.why.terms.iter().take(TERMS).map(term).collect();
    match terms.is_empty() {
        true => score,
        false => format!("{score}: {}", terms.join(", ")),
    }
}

/// Returns the topics that a memory links to, and its other versions.
fn around(memory: &RecalledMemory, width: usize) -> Vec<StyledText> {
    let links = memory.links.iter().map(|link| {
        let name = StyledText::from(INDENT).dim("see ").put(Tone::Accent, link.name.clone());
        name.dim(format!(" — {}", link.description))
    });
    let topic = memory.versions.iter().chain([&memory.name]).min_by_key(|name| name.len());
    let versions = topic.filter(|_| !memory.versions.is_empty()).map(|topic| {
        let command = match memory.scope {
            MemoryScope::Team => format!("bethink team resolve {topic}"),
            MemoryScope::Private | MemoryScope::Person => "bethink memory lint".to_owned(),
        };
        let told = format!("has conflicting versions; run `{command}` to resolve them");
        StyledText::from(INDENT).put(Tone::Warn, told)
    });
    links.chain(versions).map(|line| line.fitted(width)).collect()
}

/// Returns the first lines of a memory that contain words.
fn beginning(memory: &RecalledMemory, width: usize) -> Vec<StyledText> {
    let room = width.saturating_sub(INDENT.len());
    let lines = memory.content.lines().filter(|line| line.chars().any(char::is_alphanumeric));
    let shown = lines.take(LINES + 1).flat_map(|line| wrapped(line, room));
    let mut shown: Vec<StyledText> =
        shown.map(|line| StyledText::from(INDENT).plain(line)).collect();
    let more = shown.len() > LINES || memory.truncated;
    shown.truncate(LINES);
    if more && let Some(last) = shown.pop() {
        shown.push(last.dim(" …"));
    }
    shown.into_iter().map(|line| line.fitted(width)).collect()
}

#[cfg(test)]
mod tests {
    use bethink_api::{MemoryScope, RecallWhy, TopicField};

    use super::*;
    use bethink_api::MemoryKind;
    use bethink_terminal::LineMode;

    fn shown(lines: &[StyledText]) -> Vec<String> {
        lines.iter().map(|line| line.render(LineMode::One, false)).collect()
    }

    #[test]
    fn a_memory_says_why_it_was_found() {
        let term = |term: &str, fields: &[TopicField]| RecallTerm {
            term: term.into(),
            fields: fields.to_vec(),
        };
        let memory = RecalledMemory {
            scope: MemoryScope::Team,
            name: "fog".into(),
            kind: Some(MemoryKind::Project),
            description: Some("how far \u{202e}it is".into()),
            age: "12 days ago".into(),
            score: 0.8251,
            content: "# Fog\n\n---\none\ntwo\nthree\nfour".into(),
            why: RecallWhy {
                terms: vec![term("fog", &[TopicField::Name, TopicField::Body]), term("far", &[])],
                ..RecallWhy::default()
            },
            ..RecalledMemory::default()
        };
        assert_eq!(
            shown(&head(&memory, 80)),
            [
                "team/fog  project, 12 days ago",
                "    how far \\u{202e}it is",
                "    score 0.83: fog (name, body), far",
            ]
        );
        assert_eq!(
            shown(&beginning(&memory, 80)),
            ["    # Fog", "    one", "    two", "    three …"]
        );
        assert!(shown(&beginning(&memory, 10)).iter().all(|line| line.len() <= 13));
    }
}
