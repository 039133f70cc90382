// The one place where the page makes elements. What comes from outside becomes text nodes and attributes of a
// short list, never markup, so that no view can forget to escape.

import { visible } from "./visible.ts";

export type Child = Node | string | number | null | undefined | false | readonly Child[];
export type Listener = (event: Event) => void;
export type Props = Readonly<Record<string, string | number | boolean | null | undefined | Listener>>;

/** Attributes that run or load something, or that the policy forbids anyway. */
const FORBIDDEN = /^(style|src|srcset|srcdoc|action|formaction|ping|data|xlink:href)$/i;

export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  props?: Props | null,
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) attribute(element, name, value);
  append(element, children);
  return element;
}

/** Puts `children` in the place of what `parent` holds. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

/** The same for one element, which keeps its focus where it stands there already. */
export function show(parent: Element, child: Element): void {
  if (parent.childNodes.length !== 1 || parent.firstChild !== child) parent.replaceChildren(child);
}

/** Sets an attribute, and touches nothing where it is so already: screen readers announce changes. */
export function mark(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Links stay in the page; everything else is opened by `outside.ts`, after a question. */
export function isOwnLink(href: string): boolean {
  return href.startsWith("#");
}

function attribute(element: Element, name: string, value: Props[string]): void {
  if (typeof value === "function") {
    if (!name.startsWith("on")) throw new TypeError(`a listener can't be attribute ${name}`);
    element.addEventListener(name.slice(2), value);
    return;
  }
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on") || FORBIDDEN.test(name)) throw new TypeError(`attribute ${name} is not set by h()`);
  const text = value === true ? "" : String(value);
  if (name === "href" && !isOwnLink(text)) throw new TypeError("links lead into the page only");
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
