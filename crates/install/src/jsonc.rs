//! Edits JSON with comments and trailing commas in place.

mod parse;
mod splice;

use serde_json::{Map, Value};

use crate::edit::{AppliedEdits, NotEdited, Ours, SettingsEdit, holds_hook, is_hook};
use parse::{JsonNode, NodeKind, parse};
use splice::{Item, insert, remove, replace};

/// Applies the edits. Entries that are not ours are not changed, and are reported.
pub(crate) fn put_in(text: &str, edits: &[SettingsEdit]) -> Result<AppliedEdits, NotEdited> {
    let mut done = AppliedEdits { text: text.to_owned(), ..AppliedEdits::default() };
    for edit in edits {
        let root = parse(&done.text)?;
        if !matches!(root.kind, NodeKind::Object(_)) {
            return Err(NotEdited::at(
                &done.text,
                root.span.start,
                "the file is not a JSON object",
            ));
        }
        match edit {
            SettingsEdit::Member { path, value, ours } => {
                member(&mut done, &root, path, value, *ours)?;
            }
            SettingsEdit::Element { path, value } => element(&mut done, &root, path, value)?,
        }
    }
    Ok(done)
}

/// Removes our entries, and those containers that were created for our entries and are now empty.
pub(crate) fn take_out(
    text: &str,
    edits: &[SettingsEdit],
    made: &[Vec<String>],
) -> Result<String, NotEdited> {
    let mut text = text.to_owned();
    for edit in edits {
        while let Some(less) = without(&text, edit)? {
            text = less;
        }
    }
    let mut made: Vec<_> = made.iter().collect();
    made.sort_by_key(|path| std::cmp::Reverse(path.len()));
    for path in made {
        let root = parse(&text)?;
        if let Some((parent, at)) = root.place(path)
            && parent.child(at).is_some_and(|node| node.is_empty(&text))
        {
            text = remove(&text, parent, at);
        }
    }
    Ok(text)
}

fn member(
    done: &mut AppliedEdits,
    root: &JsonNode,
    path: &[String],
    value: &Value,
    ours: Ours,
) -> Result<(), NotEdited> {
    let Some(there) = root.at(path) else { return add(done, root, path, value) };
    let standing = there.value(&done.text);
    if !ours.is(&standing) {
        done.leave(path);
        return Ok(());
    }
    let Value::Object(wanted) = value else {
        if standing != *value {
            done.text = replace(&done.text, there, value);
        }
        return Ok(());
    };
    update(done, path, wanted)
}

/// Updates members that differ, adds missing members, and keeps those that a person added.
fn update(
    done: &mut AppliedEdits,
    path: &[String],
    wanted: &Map<String, Value>,
) -> Result<(), NotEdited> {
    for (key, value) in wanted {
        // Each change moves the text after it, so it must be parsed again.
        let root = parse(&done.text)?;
        let Some(there) = root.at(path) else { continue };
        match (there.member(key), value) {
            (Some(JsonNode { kind: NodeKind::Object(_), .. }), Value::Object(inner)) => {
                update(done, &[path, std::slice::from_ref(key)].concat(), inner)?;
            }
            (Some(old), _) if old.value(&done.text) == *value => {}
            (Some(old), _) => done.text = replace(&done.text, old, value),
            (None, _) => done.text = insert(&done.text, there, &Item::Member(key, value)),
        }
    }
    Ok(())
}

fn element(
    done: &mut AppliedEdits,
    root: &JsonNode,
    path: &[String],
    value: &Value,
) -> Result<(), NotEdited> {
    let Some(list) = root.at(path) else {
        return add(done, root, path, &Value::Array(vec![value.clone()]));
    };
    let NodeKind::Array(elements) = &list.kind else {
        done.leave(path);
        return Ok(());
    };
    let Some(first) = elements.iter().find_map(|element| hook_in(element, &done.text)) else {
        done.text = insert(&done.text, list, &Item::Element(value));
        return Ok(());
    };
    // Only the command is updated: a person may have changed the rest, such as the timeout.
    let wanted = &value["hooks"][0]["command"];
    if let Some(command) = first.member("command")
        && command.value(&done.text) != *wanted
    {
        done.text = replace(&done.text, command, wanted);
    }
    Ok(())
}

/// Adds a value at a path that does not exist yet, and creates any missing containers.
fn add(
    done: &mut AppliedEdits,
    root: &JsonNode,
    path: &[String],
    value: &Value,
) -> Result<(), NotEdited> {
    let there = (0..path.len()).rev().find_map(|end| Some((end, root.at(&path[..end])?)));
    let Some((end, parent)) = there else { return Ok(()) };
    if !matches!(parent.kind, NodeKind::Object(_)) {
        done.leave(&path[..end]);
        return Ok(());
    }
    let (key, rest) = (&path[end], &path[end + 1..]);
    let nested = rest.iter().rev().fold(value.clone(), |inner, key| {
        Value::Object([(key.clone(), inner)].into_iter().collect())
    });
    done.text = insert(&done.text, parent, &Item::Member(key, &nested));
    done.made.extend((end + 1..path.len()).map(|end| path[..end].to_vec()));
    if value.is_array() {
        done.made.push(path.to_vec());
    }
    Ok(())
}

/// Returns the text without one of our entries; `None` if the text contains none.
fn without(text: &str, edit: &SettingsEdit) -> Result<Option<String>, NotEdited> {
    let root = parse(text)?;
    match edit {
        SettingsEdit::Member { path, ours, .. } => {
            let Some((parent, at)) = root.place(path) else { return Ok(None) };
            let is_ours = parent.child(at).is_some_and(|node| ours.is(&node.value(text)));
            Ok(is_ours.then(|| remove(text, parent, at)))
        }
        SettingsEdit::Element { path, .. } => {
            let Some(list) = root.at(path) else { return Ok(None) };
            let NodeKind::Array(elements) = &list.kind else { return Ok(None) };
            let found = elements.iter().position(|element| holds_hook(&element.value(text)));
            let Some(at) = found else { return Ok(None) };
            // A group with other hooks keeps those.
            let group = elements[at].member("hooks");
            if let Some(JsonNode { kind: NodeKind::Array(hooks), .. }) = group
                && hooks.len() > 1
                && let Some(hook) = hooks.iter().position(|hook| is_hook(&hook.value(text)))
                && let Some(group) = group
            {
                return Ok(Some(remove(text, group, hook)));
            }
            Ok(Some(remove(text, list, at)))
        }
    }
}

fn hook_in<'a>(element: &'a JsonNode, text: &str) -> Option<&'a JsonNode> {
    if is_hook(&element.value(text)) {
        return Some(element);
    }
    match &element.member("hooks")?.kind {
        NodeKind::Array(hooks) => hooks.iter().find(|hook| is_hook(&hook.value(text))),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
