// The only place where the page creates elements. Untrusted text becomes text nodes and harmless attributes, never
// markup, so that no view can forget to escape it.

import { visible } from "./visible.ts";

export type Child = Node | string | number | null | undefined | false | readonly Child[];
export type Listener = (event: Event) => void;
export type Props = Readonly<Record<string, string | number | boolean | null | undefined | Listener>>;

/** Attributes that can run or load something, or that the content security policy forbids. */
const FORBIDDEN = /^(style|src|srcset|srcdoc|action|formaction|ping|data|xlink:href)$/i;

/** Creates an element. A button does not submit its form unless its type is `submit`, and a form does not leave the page. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  props?: Props | null,
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  if (tag === "button") element.setAttribute("type", "button");
  if (tag === "form") element.addEventListener("submit", (event) => event.preventDefault());
  for (const [name, value] of Object.entries(props ?? {})) attribute(element, name, value);
  append(element, children);
  return element;
}

/** A choice of values, each with its words. */
export function select(label: string | null, options: readonly (readonly [string, string])[], chosen = ""): HTMLSelectElement {
  return h("select", { "aria-label": label }, options.map(([value, words]) => h("option", { value, selected: value === chosen }, words)));
}

/** Replaces the content of `parent`. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

/** Replaces the content of `parent` with one element. Keeps the focus if the element is already there. */
export function show(parent: Element, child: Element): void {
  if (parent.childNodes.length !== 1 || parent.firstChild !== child) parent.replaceChildren(child);
}

/** Sets an attribute if its value differs, because screen readers announce every change. */
export function mark(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Whether a link stays in the page. `outside.ts` opens all others, after asking. */
export function isOwnLink(href: string): boolean {
  return href.startsWith("#");
}

function attribute(element: Element, name: string, value: Props[string]): void {
  if (typeof value === "function") {
    if (!name.startsWith("on")) throw new TypeError(`h() does not set the attribute ${name} to a function`);
    element.addEventListener(name.slice(2), value);
    return;
  }
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on") || FORBIDDEN.test(name)) throw new TypeError(`h() does not set the attribute ${name}`);
  const text = value === true ? "" : String(value);
  if (name === "href" && !isOwnLink(text)) throw new TypeError("h() only creates links within the page");
  element.setAttribute(name, name === "title" || name === "aria-label" ? visible(text) : text);
}

function append(parent: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node) parent.append(child);
    else if (typeof child === "string" || typeof child === "number") parent.append(visible(String(child)));
    else append(parent, child);
  }
}
