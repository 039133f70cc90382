//! Full-text search in one session.

use bethink_store::{Hit, Result, SearchQuery};
use bethink_transcript::SessionId;
use sqlx::{FromRow, SqlitePool};

use crate::convert::limit;
use crate::error::from_sqlx;
use crate::messages;
use crate::options::WEIGHTS;
use crate::rows::session_term;
use crate::sessions;

/// bm25() is better the lower it is. Only the best are joined with their bytes.
const SEARCH: &str = "
    WITH best AS (
        SELECT rowid AS number,
               -bm25(message_terms, ?2, ?3, ?4, ?5, ?6) AS score
        FROM message_terms
        WHERE message_terms MATCH ?1
        ORDER BY score DESC, rowid DESC
        LIMIT ?7
    )
    SELECT seq, message_id, role, recorded, created_at, raw, score
    FROM best
    JOIN messages USING (number)
    ORDER BY score DESC, number DESC";

#[derive(FromRow)]
struct Row {
    #[sqlx(flatten)]
    message: messages::Row,
    score: f64,
}

pub(crate) async fn search(readers: &SqlitePool, query: SearchQuery) -> Result<Vec<Hit>> {
    let rows: Vec<Row> = match expression(query.session, &query.terms) {
        None => Vec::new(),
        Some(expression) => sqlx::query_as(SEARCH)
            .bind(expression)
            .bind(WEIGHTS[0])
            .bind(WEIGHTS[1])
            .bind(WEIGHTS[2])
            .bind(WEIGHTS[3])
            .bind(WEIGHTS[4])
            .bind(limit(query.limit))
            .fetch_all(readers)
            .await
            .map_err(from_sqlx)?,
    };
    if rows.is_empty() {
        sessions::must_exist(readers, query.session).await?;
    }
    rows.into_iter()
        .map(|row| Ok(Hit { message: row.message.into_message()?, score: row.score }))
        .collect()
}

/// All terms, any of them, in messages of this session. `None` if there is nothing to look for.
fn expression(session: SessionId, terms: &[String]) -> Option<String> {
    let mut words: Vec<String> = terms.iter().flat_map(|term| words(term)).collect();
    words.sort();
    words.dedup();
    if words.is_empty() {
        return None;
    }
    let any = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
    let session = session_term(session);
    Some(format!("session : \"{session}\" AND {{user assistant tool_input tool_result}} : ({any})"))
}

/// Cut as the index's tokenizer cuts, so that no term is a phrase and none carries a quote.
fn words(term: &str) -> impl Iterator<Item = String> {
    term.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(terms: &[&str], expect: Option<&str>) {
        let terms: Vec<String> = terms.iter().map(|term| (*term).to_owned()).collect();
        let session = SessionId(uuid::Uuid::from_u128(1));
        let start = "session : \"00000000000000000000000000000001\" AND \
                     {user assistant tool_input tool_result} : ";
        let expect = expect.map(|any| format!("{start}({any})"));
        assert_eq!(expression(session, &terms), expect);
    }

    #[test]
    fn terms_are_words_any_of_which_may_match() {
        check(&["retry"], Some("\"retry\""));
        check(&["retry", "backoff", "retry"], Some("\"backoff\" OR \"retry\""));
        check(&["größe"], Some("\"größe\""));
    }

    #[test]
    fn nothing_in_a_term_is_syntax() {
        check(&["a\" OR session : \"b"], Some("\"OR\" OR \"a\" OR \"b\" OR \"session\""));
        check(&["foo_bar"], Some("\"bar\" OR \"foo\""));
        check(&["\"", "", "\0", "* ^"], None);
    }
}
