// What all views share: elements whose texts are made visible, and words.

import { h as element, Fragment } from "preact"
import type { Child, Props, Tag } from "preact"

export { Fragment }

// Control characters, and marks that change the direction of a text. Line feeds and tabs stay.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

// plain shows each character of a text of the machine, as mgmt does on a terminal.
export function plain(text: string): string {
  return text.replace(hidden, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"))
}

function shown(child: Child): Child {
  if (typeof child === "string") return plain(child)
  return Array.isArray(child) ? child.map(shown) : child
}

// h makes an element. Every text in it, and every attribute that is read out, goes through plain, so that no view can forget it.
export function h(tag: Tag, props: Props | null, ...children: Child[]) {
  if (props) {
    for (const key of ["title", "aria-label", "value"]) {
      if (typeof tag === "string" && typeof props[key] === "string") props = { ...props, [key]: plain(props[key] as string) }
    }
  }
  return element(tag, props, ...children.map(shown))
}

// signs are the states, each with a sign, so that none is known by its colour alone.
export const signs: Record<string, string> = {
  ok: "✓", failed: "✗", blocked: "⊘", paused: "‖", held: "■", "would-change": "△", unknown: "?",
  starting: "…", waiting: "…", running: "▶", unheard: "·",
}

export const states = ["failed", "blocked", "held", "paused", "would-change", "unknown", "running", "waiting", "starting", "ok"]

export function State({ is }: { is: string }) {
  return h("span", { class: "state s-" + is }, h("span", { "aria-hidden": "true" }, signs[is] ?? "·"), " ", is)
}

const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" })
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false })

// moment is a time in the zone of the browser, with the day where it is another one.
export function moment(at: string | number, now = Date.now()): string {
  const d = new Date(at)
  return (d.toDateString() === new Date(now).toDateString() ? "" : day.format(d) + ", ") + clock.format(d)
}

// span is a time span in words.
export function span(seconds: number): string {
  if (seconds < 1) return Math.round(seconds * 1000) + " ms"
  if (seconds < 120) return (seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)) + " s"
  return seconds < 7200 ? Math.round(seconds / 60) + " min" : Math.round(seconds / 3600) + " h"
}

// fit keeps a long name to what a narrow screen has room for: its kind and its end.
export function fit(id: string): string {
  if (innerWidth >= 640 || id.length <= 30) return id
  const cut = id.indexOf("[")
  return id.slice(0, cut + 1) + "…" + id.slice(cut - 28)
}

export function plural(n: number, word: string): string {
  return n.toLocaleString() + " " + word + (n === 1 ? "" : "s")
}

// value is one side of a change, or a declared value, as text.
export function value(v: unknown, bytes?: number): string {
  if (bytes) return plural(bytes, "byte")
  if (v === undefined || v === null) return "nothing"
  return typeof v === "string" ? v : JSON.stringify(v)
}
