// A long list of which only what is in sight is drawn. One row is chosen; the keys move the choice, and Enter opens it.

import { h, Fragment } from "./dom"
import { changed } from "./model"
import type { Child } from "preact"

interface Sight { top: number; height: number; at: number; element?: HTMLElement; watched?: ResizeObserver }

const sights = new Map<string, Sight>()
export const rowHeight = 34

export function Rows<T>({ name, label, items, newest, row, open, end }: {
  name: string; label: string; items: T[]; newest?: boolean; row: (item: T) => Child; open: (item: T) => void; end?: () => void
}) {
  let s = sights.get(name)
  if (!s) sights.set(name, s = { top: 0, height: 800, at: 0 })
  const sight = s
  sight.at = Math.max(0, Math.min(sight.at, items.length - 1))
  const first = Math.max(0, Math.floor(sight.top / rowHeight) - 6)
  const last = Math.min(items.length, Math.ceil((sight.top + sight.height) / rowHeight) + 6)
  const item = (i: number) => items[newest ? items.length - 1 - i : i]! // with newest, the last comes first
  const move = (to: number) => {
    sight.at = Math.max(0, Math.min(to, items.length - 1))
    const y = sight.at * rowHeight
    const e = sight.element
    if (e && y < e.scrollTop) e.scrollTop = y
    else if (e && y + rowHeight > e.scrollTop + e.clientHeight) e.scrollTop = y + rowHeight - e.clientHeight
    changed()
  }
  const page = Math.max(1, Math.floor(sight.height / rowHeight) - 1)
  const keys: Record<string, () => void> = {
    ArrowDown: () => move(sight.at + 1), ArrowUp: () => move(sight.at - 1), PageDown: () => move(sight.at + page), PageUp: () => move(sight.at - page),
    Home: () => move(0), End: () => move(items.length - 1), Enter: () => { if (items.length) open(item(sight.at)) },
  }
  const rows: Child[] = []
  for (let i = first; i < last; i++) {
    const it = item(i)
    rows.push(<div role="option" id={name + "-" + i} key={i} class={"row" + (i % 2 ? " odd" : "")} aria-selected={i === sight.at ? "true" : "false"} aria-setsize={items.length}
      aria-posinset={i + 1} style={{ top: i * rowHeight + "px" }} onClick={() => { sight.at = i; open(it) }}>{row(it)}</div>)
  }
  return <>{items.length === 0 ? <p class="none">Nothing.</p> : <div class="rows" role="listbox" tabIndex={0} aria-label={label}
    {...(items.length ? { "aria-activedescendant": name + "-" + sight.at } : {})}
    ref={(e: HTMLElement | null) => {
      if (!e || e === sight.element) return
      sight.element = e
      e.scrollTop = sight.top
      sight.watched?.disconnect()
      sight.watched = new ResizeObserver(() => {
        if (sight.height !== e.clientHeight && e.clientHeight) {
          sight.height = e.clientHeight
          changed()
        }
      })
      sight.watched.observe(e)
    }}
    onScroll={(e: UIEvent) => {
      const t = e.currentTarget as HTMLElement
      sight.top = t.scrollTop
      if (t.scrollTop + t.clientHeight > t.scrollHeight - 200) end?.()
      changed()
    }}
    onKeyDown={(e: KeyboardEvent) => {
      const f = e.ctrlKey || e.altKey || e.metaKey ? undefined : keys[e.key]
      if (!f) return
      e.preventDefault()
      f()
    }}>
    <div role="presentation" style={{ height: items.length * rowHeight + "px" }}>{rows}</div>
  </div>}</>
}
