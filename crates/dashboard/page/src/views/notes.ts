// The notes of a session, and which messages they cover.

import { client, quoted } from "../api.ts";
import { say } from "../dialog.ts";
import { type Child, fill, h } from "../dom.ts";
import { draftOf } from "../drafts.ts";
import { Editor } from "../editor.ts";
import { count, whole } from "../number.ts";
import { prose } from "../prose.ts";
import { link } from "../route.ts";
import { type Opened, openSession } from "../session-head.ts";
import { time } from "../time.ts";
import { type Context, into, later, wordsOf } from "../view.ts";

interface Notes {
  readonly text: string;
  readonly etag: string;
  /** The last message that the notes cover; 0 if there are no notes. */
  readonly through: number;
  /** When that message was sent. */
  readonly at: string | null;
  readonly fault: string | null;
}

export async function notes(main: HTMLElement, context: Context): Promise<void> {
  const opened = await openSession(main, context, "notes");
  if (!opened) return;
  const [form, place] = [h("div"), h("div")];
  opened.body.append(form, place);
  const key = JSON.stringify(["notes", opened.id]);
  const edit = (notes: Notes) => {
    if (form.firstChild) return;
    const editor = new Editor({
      what: "notes",
      key,
      base: notes.text,
      etag: notes.etag,
      signal: context.signal,
      save: async (text, etag) => {
        await client.put("/v1/sessions/{id}/notes", { path: { id: opened.id }, headers: { "if-match": quoted(etag) }, body: text });
        say("Saved. Later updates keep your text.");
      },
      closed: () => {
        form.replaceChildren();
        place.hidden = false;
        void draw();
      },
    });
    place.hidden = true;
    fill(form, editor.node);
    editor.focus();
  };
  const draw = () =>
    into(place, context, () => read(opened.id, context), (notes) => {
      if (draftOf(key)) queueMicrotask(() => edit(notes));
      return show(opened, notes, { again: () => void draw(), edit: () => edit(notes) });
    });
  await draw();
  const again = later(200, context.signal, () => void draw());
  context.events.listen(context.signal, (event) => {
    if (event.session_id === opened.id && event.event === "notes") again();
  });
}

async function read(id: string, context: Context): Promise<Notes> {
  const options = { path: { id }, signal: context.signal };
  const { text, etag, headers } = await client.text("/v1/sessions/{id}/notes", options);
  const through = Number(headers.get("bethink-notes-through") ?? 0);
  let at: string | null = null;
  if (through > 0) {
    const page = await client.get("/v1/sessions/{id}/messages", { ...options, query: { after_seq: through - 1, limit: 1 } });
    at = page.messages[0]?.created_at ?? null;
  }
  return { text, etag, through, at, fault: headers.get("bethink-notes-fault") };
}

function show(opened: Opened, notes: Notes, { again, edit }: { readonly again: () => void; readonly edit: () => void }): Child {
  const behind = opened.session().last_seq - notes.through;
  const update = async (button: HTMLButtonElement) => {
    button.disabled = true;
    try {
      await client.post("/v1/sessions/{id}/notes/update", { path: { id: opened.id } });
      say("The notes are up to date.");
    } catch (error) {
      say(wordsOf(error), true);
    }
    again();
  };
  const button = h("button", { onclick: () => void update(button) }, "Update notes");
  return [
    h("div", { class: "beside" }, h("p", { class: "faint" }, age(opened, notes, behind)), h("div", { class: "buttons" }, h("button", { onclick: edit }, "Edit notes"), button)),
    notes.fault && h("p", { class: "notice" }, notes.fault),
    h("div", { class: "paper" }, prose(notes.text.replace(/^_.*_$/gm, "$&\n"), { top: 2 })),
  ];
}

function age(opened: Opened, notes: Notes, behind: number): Child {
  if (notes.through === 0) return "These notes do not cover any message yet.";
  const to = h("a", { href: link(["session", opened.id], { seq: notes.through }) }, `message ${whole(notes.through)}`);
  return ["Covers the session up to ", to, behind > 0 ? "" : " (the newest)", notes.at && [", sent ", time(notes.at, true)], behind > 0 ? `. Not covered yet: ${count(behind, "newer message")}.` : "."];
}
