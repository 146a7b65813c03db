// All resources, and the search over them.

import { h, Fragment, State, fit, plural, states } from "./dom"
import { changed, model, slowly } from "./model"
import type { Vertex } from "./model"
import { Rows } from "./rows"
import { Deeds } from "./act"
import { go, href } from "./route"

export const search = { text: "", state: "" }

// found are the resources that have each word of the search in their names or states, those that need a look first.
export function found(): Vertex[] {
  return slowly("list", [model.version, search.text, search.state].join(), all)
}

function all(): Vertex[] {
  const odd = [...model.vertices.values()].filter(v => v.now !== "ok").length
  const words = search.text.toLowerCase().split(/\s+/).filter(Boolean)
  const rank = (v: Vertex) => { const at = states.indexOf(v.now); return at < 0 ? states.length : at }
  const list = [...model.vertices.values()]
    .filter(v => (!search.state || v.now === search.state) && words.every(w => v.text.includes(w) || v.now.includes(w)))
  if (odd) list.sort((a, b) => rank(a) - rank(b)) // which keeps the order of the graph
  return list
}

export function Search() {
  return <div class="tools">
    <label class="search"><span class="out">Search resources</span>
      <input type="search" placeholder="Search: words of names or states" value={search.text} accesskey="s" onInput={(e: InputEvent) => {
        search.text = (e.currentTarget as HTMLInputElement).value
        changed()
      }} /></label>
    <label><span class="out">State</span>
      <select value={search.state} onChange={(e: Event) => {
        search.state = (e.currentTarget as HTMLSelectElement).value
        changed()
      }}><option value="">all states</option>{states.map(s => <option value={s}>{s}</option>)}</select></label>
  </div>
}

// why says in few words what there is to say of a resource.
export function why(v: Vertex): string {
  if (v.pause?.reason || v.pause) return "paused" + (v.pause.all ? " with everything" : "") + (v.pause.reason ? ": " + v.pause.reason : "")
  if (v.held) return v.held.reason
  return v.error ?? (v.blocked_by ? "by " + v.blocked_by : v.waits_for ? "waits for " + v.waits_for : "")
}

export function List() {
  const list = found()
  const filtered = search.text || search.state
  return <>
    <Search />
    <div class="line"><p role="status">{plural(list.length, "resource")}{filtered ? " of " + model.vertices.size.toLocaleString() : ""}</p>
      {filtered && list.length > 0 && list.length <= 100 ? <Deeds on={list} /> : !filtered && <Deeds on={[...model.vertices.values()].slice(0, 1).filter(v => !v.pause?.all)} all />}</div>
    <Rows name="list" label="Resources" items={list} open={v => go(href.resource(v.resource))}
      row={v => <><State is={v.now} /><span class="name" title={v.resource}>{fit(v.resource)}</span><span class="why">{why(v)}</span></>} />
  </>
}
