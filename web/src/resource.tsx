// One resource: what it wants, what the machine has, its runs and their causes, and its neighbours.

import { h, Fragment, State, moment, span, value } from "./dom"
import * as api from "./api"
import type { Change, Detail, Event, Neighbor, Param, Trigger } from "./api"
import { changed, model } from "./model"
import type { Vertex } from "./model"
import { Deeds } from "./act"
import { why } from "./list"
import { href } from "./route"

let open: { id: string; seen: number; detail?: Detail; trouble: string; busy: boolean } | undefined

// load asks for a resource, and again when it has had another event.
function load(id: string) {
  const seen = model.events.findLast(e => e.resource === id || e.outcome === "graph")?.id ?? 0
  if (open?.id !== id) open = { id, seen: -1, trouble: "", busy: false }
  const o = open
  if (o.busy || o.seen === seen || model.link !== "live") return
  o.busy = true
  api.get<Detail>("/v1/resource", { resource: id, n: 10 }).then(d => {
    o.detail = d
    o.trouble = ""
  }, (e: Error) => { o.trouble = e.message }).finally(() => {
    o.busy = false
    o.seen = seen
    changed()
  })
}

export function ResourceView({ id }: { id: string }) {
  load(id)
  const o = open!
  const d = o.detail
  const v: Vertex | undefined = model.vertices.get(d?.resource ?? id)
  return <article>
    <h1 tabIndex={-1}>{id} {v ? <State is={v.now} /> : <span class="state">not in the graph</span>}</h1>
    {v && <div class="line"><Deeds on={[v]} /><a href={href.graph(v.resource)}>Show in the graph</a></div>}
    {o.trouble && <p class="bad" role="alert">{o.trouble}</p>}
    {v && why(v) && <p class={v.error ? "bad" : "note"}>{why(v)}{v.retry_in_seconds ? ", next try in " + span(v.retry_in_seconds) : ""}</p>}
    {v?.held?.changes && <section><h2>Waits for an approval</h2><Changes list={v.held.changes} /></section>}
    {d?.member && <p class="note">It runs in the group of <a href={href.resource(d.resource)}>{d.resource}</a>.</p>}
    {d && v && <section><h2>Values</h2><Values list={d.params} ok={v.state === "ok"} />
      {d.source && <p class="note">Declared at {d.source}</p>}</section>}
    <section><h2>Runs</h2>{d?.runs.length ? <ol class="runs">{d.runs.map(e => <li key={e.id ?? e.run}><Run e={e} /></li>)}</ol> : <p class="none">{d ? "None is known." : "…"}</p>}</section>
    {d && v && <div class="two">
      <Neighbors name="Waits for" list={d.needs} word="asks for a refresh" /><Neighbors name="Waited for by" list={d.dependents} word="is refreshed" />
    </div>}
    {d?.more ? <p class="note">And {d.more} more.</p> : null}
  </article>
}

function Neighbors({ name, list, word }: { name: string; list: Neighbor[]; word: string }) {
  return <section><h2>{name}</h2>{list.length ? <ul>{list.map(n => <li><a href={href.resource(n.resource)}>{n.resource}</a> <State is={model.vertices.get(n.resource)?.now ?? n.state ?? "unheard"} />
    {n.notify && <span class="why"> {word}</span>}</li>)}</ul> : <p class="none">Nothing.</p>}</section>
}

// Values shows each declared value with its source, beside what the last look has found on the machine.
function Values({ list, ok }: { list: Param[]; ok: boolean }) {
  if (!list.length) return <p class="none">All values are the defaults of the kind.</p>
  return <div class="wide" tabIndex={0} role="region" aria-label="Values"><table>
    <thead><tr><th scope="col">Parameter</th><th scope="col">Declared</th><th scope="col">On the machine</th><th scope="col">Source</th></tr></thead>
    <tbody>{list.map(p => <tr><th scope="row">{p.name}</th>
      <td>{p.declared === undefined && !p.declared_bytes ? <span class="none">{p.from ? "received" : "nothing"}</span> : <Text of={value(p.declared, p.declared_bytes)} />}</td>
      <td>{p.differs ? <Text of={value(p.actual, p.actual_bytes)} /> : ok ? "as declared" : <span class="none">not known</span>}</td>
      <td>{p.from ? p.from.join(", ") : "the graph"}</td></tr>)}</tbody></table></div>
}

function Text({ of }: { of: string }) {
  return of.includes("\n") || of.length > 80 ? <pre class="value">{of}</pre> : <code>{of}</code>
}

// Run is one event of a resource, with what has led to it.
export function Run({ e }: { e: Event }) {
  return <>
    <p><b>{e.outcome}</b> {e.id ? <a href={href.time(e.id)}><time dateTime={e.at}>{moment(e.at)}</time></a> : <time dateTime={e.at}>{moment(e.at)}</time>}
      {e.seconds ? ", took " + span(e.seconds) : ""}{e.attempt && e.attempt > 1 ? ", try " + e.attempt : ""}{e.class && e.class !== "intended" ? ", " + e.class : ""}{e.noop ? ", noop" : ""}</p>
    {e.error && <p class="bad">{e.error}</p>}
    {e.by && <p>By {e.by}{e.reason ? ": " + e.reason : e.pause?.reason ? ": " + e.pause.reason : ""}</p>}
    {e.held && <p>{e.held.reason}</p>}
    {e.triggers && <ul class="causes">{e.triggers.map(t => <Cause t={t} />)}</ul>}
    {e.changes && <Changes list={e.changes} />}
  </>
}

function Cause({ t }: { t: Trigger }) {
  const c = t.culprit
  const words = [t.cause]
  if (t.field) words.push("of " + t.field)
  if (t.fields) words.push("of " + t.fields.join(", "))
  if (t.path) words.push("of " + t.path)
  else if (t.source) words.push("of " + t.source)
  if (t.merged) words.push(t.merged + " times")
  if (c) words.push(c.program && !c.gone ? `by ${c.program} (pid ${c.pid}${c.user ? ", user " + c.user : ""}${c.login ? ", login " + c.login : ""}${c.unit ? ", " + c.unit : ""})` : `by pid ${c.pid} (gone)`)
  return <li>because of {words.join(" ")}{t.from && <> from <a href={href.resource(t.from)}>{t.from}</a></>}
    {t.by && <div class="by"><Run e={t.by} /></div>}</li>
}

export function Changes({ list }: { list: Change[] }) {
  return <ul class="changes">{list.map(c => {
    const from = value(c.from, c.from_bytes), to = c.unknown ? "not known yet" : value(c.to, c.to_bytes)
    if (typeof c.from === "string" && typeof c.to === "string" && (c.from + c.to).includes("\n")) return <li>{c.field ?? ""}: <Diff from={c.from} to={c.to} /></li>
    return <li>{c.field ? c.field + ": " : ""}{c.verb ? c.verb + " " : ""}{c.from !== undefined || c.from_bytes ? <><del>{from}</del> → </> : null}<ins>{to}</ins></li>
  })}</ul>
}

// Diff compares two texts line by line.
function Diff({ from, to }: { from: string; to: string }) {
  const linesOf = (text: string) => text.replace(/\n$/, "").split("\n")
  const a = linesOf(from), b = linesOf(to)
  let top = 0
  while (top < a.length && top < b.length && a[top] === b[top]) top++
  let end = 0
  while (end < a.length - top && end < b.length - top && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const left = a.slice(top, a.length - end), right = b.slice(top, b.length - end)
  // The longest common lines of what is between; a long text is shown as a whole.
  const small = left.length * right.length <= 250000
  const n = right.length + 1
  const longest = new Uint32Array(small ? (left.length + 1) * n : 0)
  if (small) for (let i = left.length - 1; i >= 0; i--) for (let j = right.length - 1; j >= 0; j--) {
    longest[i * n + j] = left[i] === right[j] ? longest[(i + 1) * n + j + 1]! + 1 : Math.max(longest[(i + 1) * n + j]!, longest[i * n + j + 1]!)
  }
  const lines: [string, string][] = a.slice(Math.max(0, top - 3), top).map(l => [" ", l])
  let i = 0, j = 0
  while (i < left.length || j < right.length) {
    if (small && i < left.length && j < right.length && left[i] === right[j]) lines.push([" ", left[i++]!]), j++
    else if (i < left.length && (j >= right.length || !small || longest[(i + 1) * n + j]! >= longest[i * n + j + 1]!)) lines.push(["-", left[i++]!])
    else lines.push(["+", right[j++]!])
  }
  lines.push(...b.slice(b.length - end, b.length - end + 3).map(l => [" ", l] as [string, string]))
  return <pre class="diff" tabIndex={0} role="region" aria-label="Difference">{lines.map(([sign, l]) => sign === "-" ? <del>{"- " + l + "\n"}</del> : sign === "+" ? <ins>{"+ " + l + "\n"}</ins> : "  " + l + "\n")}</pre>
}
