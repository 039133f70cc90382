//! Edits TOML in place.
//!
//! `toml_edit` keeps comments and order, but writes all line endings as line feeds. The original line endings are
//! restored afterwards.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike};

use crate::edit::{AppliedEdits, NotEdited, SettingsEdit, holds_hook, in_order, is_hook};

const BOM: &str = "\u{feff}";

pub(crate) fn put_in(text: &str, edits: &[SettingsEdit]) -> Result<AppliedEdits, NotEdited> {
    let mut document = parse(text)?;
    let before = document.to_string();
    let was_bare = document.as_table().is_empty();
    let mut done = AppliedEdits::default();
    for edit in edits {
        match edit {
            SettingsEdit::Member { path, value, ours } => {
                let Some((table, key, _)) = table_of(&mut document, path, &mut done) else {
                    continue;
                };
                match table.get_mut(key) {
                    None => {
                        table.insert(key, item_of(value));
                    }
                    Some(there) if ours.is(&value_of(there)) => update(there, value),
                    Some(_) => done.leave(path),
                }
            }
            SettingsEdit::Element { path, value } => {
                let Some((table, key, is_inline)) = table_of(&mut document, path, &mut done) else {
                    continue;
                };
                let is_new = !table.contains_key(key);
                let list = table.entry(key).or_insert_with(|| match is_inline {
                    true => Item::Value(Array::new().into()),
                    false => Item::ArrayOfTables(ArrayOfTables::new()),
                });
                if !add_element(list, value) {
                    done.leave(path);
                } else if is_new {
                    done.made.push(path.clone());
                }
            }
        }
    }
    // Otherwise only a missing last line feed would be added.
    if document.to_string() == before {
        text.clone_into(&mut done.text);
        return Ok(done);
    }
    // In a file that contains only comments, they would otherwise be written after our entries.
    let above = if was_bare { take_trailing(&mut document) } else { String::new() };
    done.text = with_line_ends(text, &format!("{above}{document}"));
    Ok(done)
}

pub(crate) fn take_out(
    text: &str,
    edits: &[SettingsEdit],
    made: &[Vec<String>],
) -> Result<String, NotEdited> {
    let mut document = parse(text)?;
    let before = document.to_string();
    let mut comments = String::new();
    for edit in edits {
        let path = edit.path();
        let Some((last, above)) = path.split_last() else { continue };
        let Some(table) = at(&mut document, above) else { continue };
        match edit {
            SettingsEdit::Member { ours, .. } => {
                if table.get(last).is_some_and(|item| ours.is(&value_of(item)))
                    && let Some(removed) = table.remove(last)
                {
                    comments.push_str(&comment_above(&removed));
                }
            }
            SettingsEdit::Element { .. } => {
                if let Some(list) = table.get_mut(last) {
                    remove_hooks(list);
                }
            }
        }
    }
    if !comments.is_empty() {
        let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
        document.set_trailing(format!("{comments}{trailing}"));
    }
    let mut made: Vec<_> = made.iter().collect();
    made.sort_by_key(|path| std::cmp::Reverse(path.len()));
    for path in made {
        let Some((last, above)) = path.split_last() else { continue };
        let Some(table) = at(&mut document, above) else { continue };
        if table.get(last).is_some_and(is_empty) {
            table.remove(last);
        }
    }
    let after = document.to_string();
    Ok(if after == before { text.to_owned() } else { with_line_ends(text, &after) })
}

fn parse(text: &str) -> Result<DocumentMut, NotEdited> {
    let plain = text.strip_prefix(BOM).unwrap_or(text);
    plain.parse::<DocumentMut>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        NotEdited::at(plain, at, error.message().lines().next().unwrap_or_default())
    })
}

/// Removes and returns the comments after the last entry: all comments, if the file contains nothing else.
fn take_trailing(document: &mut DocumentMut) -> String {
    let trailing = document.trailing().as_str().unwrap_or_default().trim_end().to_owned();
    document.set_trailing("");
    if trailing.is_empty() { trailing } else { format!("{trailing}\n\n") }
}

fn comment_above(removed: &Item) -> String {
    let prefix = removed.as_table().and_then(|table| table.decor().prefix()?.as_str());
    match prefix.unwrap_or_default().trim() {
        "" => String::new(),
        comment => format!("{comment}\n"),
    }
}

/// Returns the table that contains a path's last part, that part, and whether the table is within an inline table. Creates
/// the table if it is missing. `None` if something on the path is not a table.
fn table_of<'a, 'p>(
    document: &'a mut DocumentMut,
    path: &'p [String],
    done: &mut AppliedEdits,
) -> Option<(&'a mut dyn TableLike, &'p str, bool)> {
    let (last, above) = path.split_last()?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut is_inline = false;
    for (n, key) in above.iter().enumerate() {
        if !table.contains_key(key) {
            let mut new = Table::new();
            // The table contains only other tables, so it needs no header.
            new.set_implicit(true);
            table.insert(key, Item::Table(new));
            done.made.push(above[..=n].to_vec());
        }
        let item = table.get_mut(key)?;
        is_inline |= item.is_inline_table();
        let Some(next) = item.as_table_like_mut() else {
            done.leave(&above[..=n]);
            return None;
        };
        table = next;
    }
    Some((table, last, is_inline))
}

fn at<'a>(document: &'a mut DocumentMut, path: &[String]) -> Option<&'a mut dyn TableLike> {
    let root: &mut dyn TableLike = document.as_table_mut();
    path.iter().try_fold(root, |table, key| table.get_mut(key)?.as_table_like_mut())
}

/// Adds an element. If one of our elements exists, its command is updated instead.
fn add_element(list: &mut Item, value: &Value) -> bool {
    if let Some(ours) = tables_in(list).into_iter().find(|table| holds_hook(&members(*table))) {
        refresh(ours, value);
        return true;
    }
    match list {
        Item::ArrayOfTables(tables) => tables.push(table(value)),
        Item::Value(toml_edit::Value::Array(array)) => array.push(inline(value)),
        _ => return false,
    }
    true
}

/// Returns the tables of a list in either form.
fn tables_in(list: &mut Item) -> Vec<&mut dyn TableLike> {
    match list {
        Item::ArrayOfTables(tables) => {
            tables.iter_mut().map(|table| table as &mut dyn TableLike).collect()
        }
        Item::Value(toml_edit::Value::Array(array)) => {
            let tables = array.iter_mut().filter_map(toml_edit::Value::as_inline_table_mut);
            tables.map(|table| table as &mut dyn TableLike).collect()
        }
        _ => Vec::new(),
    }
}

/// Updates the command of our hook, and keeps its other members, which a person may have changed.
fn refresh(group: &mut dyn TableLike, value: &Value) {
    let wanted = value["hooks"][0]["command"].as_str().unwrap_or_default();
    let Some(hooks) = group.get_mut("hooks") else { return };
    for hook in tables_in(hooks) {
        let is_ours = is_hook(&members(hook));
        if is_ours && hook.get("command").and_then(Item::as_str) != Some(wanted) {
            hook.insert("command", toml_edit::value(wanted));
        }
    }
}

fn remove_hooks(list: &mut Item) {
    for group in tables_in(list) {
        if let Some(hooks) = group.get_mut("hooks")
            && tables_in(hooks).len() > 1
        {
            remove_all(hooks, is_hook);
        }
    }
    remove_all(list, holds_hook);
}

fn remove_all(list: &mut Item, is_ours: fn(&Value) -> bool) {
    match list {
        Item::ArrayOfTables(tables) => tables.retain(|table| !is_ours(&members(table))),
        Item::Value(toml_edit::Value::Array(array)) => array.retain(|one| !is_ours(&json(one))),
        _ => {}
    }
}

/// Updates members that differ, adds missing members, and keeps those that a person added.
fn update(there: &mut Item, value: &Value) {
    let Value::Object(wanted) = value else {
        *there = item_of(value);
        return;
    };
    let Some(table) = there.as_table_like_mut() else { return };
    for (key, value) in in_order(wanted) {
        match table.get_mut(key) {
            Some(there) if value_of(there) == *value => {}
            Some(there) if there.is_table_like() && value.is_object() => update(there, value),
            _ => {
                table.insert(key, Item::Value(inline(value)));
            }
        }
    }
}

fn is_empty(item: &Item) -> bool {
    match item {
        Item::Table(table) => table.is_empty() && table.is_implicit(),
        Item::ArrayOfTables(tables) => tables.is_empty(),
        Item::Value(toml_edit::Value::InlineTable(table)) => table.is_empty(),
        Item::Value(toml_edit::Value::Array(array)) => array.is_empty(),
        _ => false,
    }
}

fn item_of(value: &Value) -> Item {
    match value {
        Value::Object(_) => Item::Table(table(value)),
        other => Item::Value(inline(other)),
    }
}

/// Converts a value to a table on separate lines. Lists of objects in it also become tables.
fn table(value: &Value) -> Table {
    let mut table = Table::new();
    let Value::Object(members) = value else { return table };
    let is_list =
        |value: &Value| value.as_array().is_some_and(|all| all.iter().all(Value::is_object));
    let (lists, plain): (Vec<_>, Vec<_>) =
        in_order(members).into_iter().partition(|(_, value)| is_list(value));
    for (key, value) in plain {
        table.insert(key, Item::Value(inline(value)));
    }
    for (key, value) in lists {
        let mut tables = ArrayOfTables::new();
        value.as_array().into_iter().flatten().for_each(|one| tables.push(self::table(one)));
        table.insert(key, Item::ArrayOfTables(tables));
    }
    table
}

fn inline(value: &Value) -> toml_edit::Value {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(is) => (*is).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::Array(all) => all.iter().map(inline).collect::<Array>().into(),
        Value::Object(members) => in_order(members)
            .into_iter()
            .map(|(key, value)| (key, inline(value)))
            .collect::<InlineTable>()
            .into(),
        Value::Null => "".into(),
    }
}

/// Converts an item to JSON, so that it can be compared. Dates become strings.
fn value_of(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => json(value),
        Item::Table(table) => members(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| members(table)).collect(),
    }
}

fn members(table: &dyn TableLike) -> Value {
    table.iter().map(|(key, item)| (key.to_owned(), value_of(item))).collect()
}

fn json(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Value::from(*number.value()),
        toml_edit::Value::Boolean(is) => Value::from(*is.value()),
        toml_edit::Value::Datetime(at) => Value::from(at.value().to_string()),
        toml_edit::Value::Array(all) => all.iter().map(json).collect(),
        toml_edit::Value::InlineTable(table) => members(table),
    }
}

/// Restores the line endings of unchanged lines, and the byte order mark. New lines get the file's most common line
/// ending.
fn with_line_ends(old: &str, new: &str) -> String {
    let plain = old.strip_prefix(BOM).unwrap_or(old);
    let mark = if plain.len() < old.len() { BOM } else { "" };
    if !plain.contains('\r') {
        return format!("{mark}{new}");
    }
    let returns = plain.matches("\r\n").count();
    let usual = if 2 * returns >= plain.matches('\n').count() { "\r\n" } else { "\n" };
    let bare = plain.replace("\r\n", "\n");
    let old: Vec<&str> = plain.split_inclusive('\n').collect();
    // The parser keeps the line endings of comments.
    let new = new.replace("\r\n", "\n");
    let diff = TextDiff::from_lines(&bare, &new);
    let mut out = String::from(mark);
    for change in diff.iter_all_changes() {
        match (change.tag(), change.old_index()) {
            (ChangeTag::Delete, _) => {}
            (ChangeTag::Equal, Some(at)) => out.push_str(old.get(at).copied().unwrap_or_default()),
            _ => out.push_str(&change.value().replace('\n', usual)),
        }
    }
    out
}

#[cfg(test)]
mod tests;
