// The compactions of a session: what each one kept, restored and lost, and how to undo it.

import { type Compaction, client } from "../api.ts";
import { piece } from "../bar.ts";
import { ask, say } from "../dialog.ts";
import { type Child, fill, h } from "../dom.ts";
import { messageView } from "../message-view.ts";
import { KIND_WORDS } from "../names.ts";
import { brief, count, share, whole } from "../number.ts";
import { summaryBeside } from "../evidence.ts";
import { trials } from "../trials.ts";
import { link } from "../route.ts";
import { type Opened, openSession } from "../session-head.ts";
import { time } from "../time.ts";
import { type Context, aside, badge, empty, into, later, wordsOf } from "../view.ts";

/** Number of summarized messages to read at a time. */
const BEHIND = 20;
/** A lower fidelity is marked as bad. The daemon has its own rule for warnings. */
const LOW = 0.7;

export async function compactions(main: HTMLElement, context: Context): Promise<void> {
  const opened = await openSession(main, context, "compactions");
  if (!opened) return;
  const wanted = context.route.path[3];
  const place = h("div");
  opened.body.append(place);
  const read = () => client.get("/v1/sessions/{id}/compactions", { path: { id: opened.id }, signal: context.signal });
  const draw = () =>
    into(place, context, read, ({ compactions }) => {
      const one = compactions.find((compaction) => compaction.id === wanted);
      const again = () => void draw();
      const newest = compactions.at(-1)?.id;
      return one ? detail(opened, context, one, newest, again) : [list(opened, compactions, again), trials(opened.id, context, again)];
    });
  await draw();
  const again = later(200, context.signal, () => void draw());
  context.events.listen(context.signal, (event) => {
    if (event.session_id === opened.id && event.event === "compaction") again();
  });
}

function list(opened: Opened, all: readonly Compaction[], again: () => void): Child {
  if (all.length === 0) return empty("No compactions yet.", "You can try a compaction below.");
  const newest = all.at(-1)?.id;
  const rows = [...all].reverse().map((done) =>
    h(
      "article",
      { class: `card ${done.undone_at ? "undone" : ""}` },
      h("a", { class: "card-title", href: link(["session", opened.id, "compactions", done.id]) }, headline(done), done.undone_at && [" ", badge("undone")]),
      h("span", { class: "card-end" }, h("span", { class: "faint" }, `messages ${whole(done.covers.first_seq)} to ${whole(done.covers.last_seq)}`), changeButton(opened, done, newest, again)),
      pair(done, opened.session().model.context_window),
      h("span", { class: "card-end" }, fidelityBadge(done), time(done.created_at)),
    ),
  );
  return h("div", { class: "cards" }, rows);
}

function headline(done: Compaction): string {
  const kinds = [KIND_WORDS[done.trigger] ?? done.trigger, KIND_WORDS[done.level] ?? done.level];
  return `${brief(done.tokens_before)} → ${brief(done.tokens_after)} tokens, ${[...new Set(kinds)].join(", ")}`;
}

function fidelityBadge(done: Compaction): Child {
  if (done.level === "recorded") return null;
  return badge(`fidelity ${share(done.fidelity)}`, done.warning || done.fidelity < LOW ? "bad" : "good");
}

/** The prompt before and after, as two bars with the same scale. */
function pair(done: Compaction, window: number): HTMLElement {
  const scale = Math.max(window, done.tokens_before, 1);
  const bar = (kind: string, tokens: number, summary: number) => {
    const rest = piece("tail");
    const text = piece("summary");
    text.style.width = `${(100 * Math.min(summary, tokens)) / scale}%`;
    rest.style.width = `${(100 * Math.max(0, tokens - summary)) / scale}%`;
    return [h("span", { class: "bar", "aria-hidden": "true" }, h("span", { class: "track" }, text, rest)), h("span", { class: "number" }, `${whole(tokens)} ${kind}`)];
  };
  return h("span", { class: "pair" }, bar("before", done.tokens_before, 0), bar("after", done.tokens_after, done.summary_tokens));
}

function detail(opened: Opened, context: Context, done: Compaction, newest: string | undefined, again: () => void): Child {
  const recorded = done.level === "recorded";
  return [
    h("p", { class: "crumbs" }, h("a", { href: link(["session", opened.id, "compactions"]) }, "All compactions")),
    h("div", { class: "beside" }, h("h2", null, headline(done)), h("div", { class: "buttons" }, changeButton(opened, done, newest, again))),
    h("p", { class: "faint" }, time(done.created_at, true), done.undone_at && [" · undone ", time(done.undone_at, true)]),
    done.id !== newest && done.warning && h("p", { class: "notice" }, done.warning),
    pair(done, opened.session().model.context_window),
    h(
      "div",
      { class: "thirds" },
      kept(opened, done),
      restored(done),
      recorded ? h("section", null, h("h3", null, "Lost"), h("p", { class: "faint" }, "The agent compacted the session itself, so the fidelity is unknown.")) : lost(done),
    ),
    (done.attempts?.length ?? 0) > 0 && h("section", null, h("h3", null, "Earlier attempts"), h("ul", null, done.attempts?.map((attempt) => h("li", null, attempt)))),
    h("section", null, h("h3", null, `Summary, ${whole(done.summary_tokens)} tokens`), summaryBeside(opened.id, context, done)),
    behind(opened, context, done),
  ];
}

/** Undo; or redo for the newest compaction, if it was undone. */
function changeButton(opened: Opened, done: Compaction, newest: string | undefined, again: () => void): Child {
  if (done.undone_at) return done.id === newest ? redoButton(opened, done, again) : null;
  const undo = async () => {
    const yes = await ask({
      title: "Undo this compaction?",
      text: h("p", null, `Prompts will contain messages ${whole(done.covers.first_seq)} to ${whole(done.covers.last_seq)} again: about ${brief(Math.max(0, done.tokens_before - done.tokens_after))} more tokens. The session will not be compacted automatically until the context window is full.`),
      yes: "Undo compaction",
      danger: true,
    });
    if (!yes) return;
    try {
      await client.post("/v1/sessions/{id}/compactions/{cid}/undo", { path: { id: opened.id, cid: done.id } });
      say("Compaction undone. Prompts contain the messages again.");
    } catch (error) {
      say(wordsOf(error), true);
    }
    again();
  };
  return h("button", { onclick: () => void undo() }, "Undo…");
}

function redoButton(opened: Opened, done: Compaction, again: () => void): Child {
  const redo = async () => {
    try {
      const made = await client.post("/v1/sessions/{id}/compactions/{cid}/redo", { path: { id: opened.id, cid: done.id } });
      say("Compaction redone with the same summary.");
      // The view of the undone one would show nothing new.
      location.hash = link(["session", opened.id, "compactions", made.id]);
    } catch (error) {
      say(wordsOf(error), true);
    }
    again();
  };
  return h("button", { onclick: () => void redo() }, "Redo");
}

function kept(opened: Opened, done: Compaction): HTMLElement {
  const last = opened.session().last_seq;
  const many = Math.max(0, last - done.kept_from_seq + 1);
  return h(
    "section",
    null,
    h("h3", null, "Kept"),
    h("p", null, "Message ", h("a", { href: link(["session", opened.id], { seq: done.kept_from_seq }) }, whole(done.kept_from_seq)), " and all later messages."),
    h("p", { class: "faint" }, `${count(many, "message")} so far. Summarized: ${count(done.covers.last_seq - done.covers.first_seq + 1, "earlier message")}. The history still contains all messages.`),
  );
}

function restored(done: Compaction): HTMLElement {
  const rows = done.restored.map((item) =>
    h(
      "tr",
      null,
      h("td", { class: "faint" }, item.kind),
      h("td", { class: "break" }, item.name, item.truncated && [" ", badge(item.tokens === 0 ? "name only" : "shortened")]),
      h("td", { class: "number" }, whole(item.tokens)),
    ),
  );
  return h("section", null, h("h3", null, "Restored"), rows.length === 0 ? h("p", { class: "faint" }, "Nothing was restored.") : h("table", null, h("tbody", null, rows)));
}

function lost(done: Compaction): HTMLElement {
  const { names, kept, lost, hindsight } = done.fidelity_detail;
  return h(
    "section",
    null,
    h("h3", null, "Lost"),
    h("p", null, `Of ${count(names, "name")} in use (files, functions, errors, IDs), the prompt still contains ${whole(kept)}. Frequent and recent names count more: `, fidelityBadge(done)),
    namesOf(lost, "Most important missing names:"),
    hindsight && h("p", null, `Since then, the session used ${count(hindsight.names, "name")} again. The prompt still contained ${whole(hindsight.kept)} of them (${share(hindsight.score)}).`),
    hindsight && namesOf(hindsight.lost, "Used again, but missing from the prompt:"),
  );
}

function namesOf(names: readonly string[], words: string): Child {
  return names.length > 0 && [h("p", { class: "faint" }, words), h("ul", { class: "names" }, names.map((name) => h("li", null, h("code", null, name))))];
}

/** The summarized messages: all of them, or those that a line of the summary is about. */
function behind(opened: Opened, context: Context, done: Compaction): HTMLElement {
  const input = h("input", { type: "search", placeholder: "A line of the summary, or words to search for", "aria-label": "Search the summarized messages" });
  const place = h("div");
  let cursor: string | null = null;
  const read = async (restart: boolean) => {
    const page = await client.get("/v1/sessions/{id}/compactions/{cid}/expand", {
      path: { id: opened.id, cid: done.id },
      query: { q: input.value.trim(), limit: BEHIND, cursor: restart ? null : cursor },
      signal: context.signal,
    });
    cursor = page.next_cursor ?? null;
    return page.messages;
  };
  const more = h("button", { onclick: () => aside(add(), context.signal) }, "Show more");
  const add = async () => {
    const messages = await read(false);
    more.before(...messages.map(messageView));
    more.hidden = cursor === null;
  };
  const show = () =>
    into(place, context, () => read(true), (messages) => {
      if (messages.length === 0) return h("p", { class: "faint" }, "No messages found.");
      more.hidden = cursor === null;
      return [messages.map(messageView), more];
    });
  const box = h(
    "details",
    { class: "behind" },
    h("summary", null, "Show the summarized messages"),
    h("form", { class: "filters", role: "search" }, input, h("button", { type: "submit" }, "Search")),
    place,
  );
  box.querySelector("form")?.addEventListener("submit", () => {
    void show();
  });
  box.addEventListener("toggle", () => {
    if (box.open && place.childElementCount === 0) void show();
    else if (!box.open) fill(place);
  });
  return box;
}
