// What has happened over time, and the graph as it was.

import { h, Fragment, moment, plural } from "./dom"
import type { Event } from "./api"
import { changed, model, older, slowly } from "./model"
import { Canvas } from "./graph"
import type { Past } from "./graph"
import { kinds, summary } from "./log"
import { href } from "./route"

// pastAt returns the states after an event. A resource with no later event is as it is now; one with later events is as its last event before them
// says, and unheard where none is known.
export function pastAt(id: number): Past {
  const states = new Map<string, string>()
  const later = new Set<string>()
  const left = new Set<string>()
  for (let i = model.events.length - 1; i >= 0; i--) {
    const e = model.events[i]!
    if (!e.id) continue
    if (e.id > id) {
      if (e.resource) later.add(e.resource)
      for (const l of e.graph?.leaving ?? []) if (!model.vertices.has(l.resource)) left.add(l.resource)
    } else if (e.resource && (later.has(e.resource) || left.has(e.resource)) && !states.has(e.resource)) {
      const state = e.state ?? ({ held: "held", rejected: "held", paused: "paused" } as Record<string, string>)[e.outcome]
      if (state) states.set(e.resource, state)
    }
  }
  for (const r of later) if (!states.has(r)) states.set(r, "unheard")
  return { states, left: [...left] }
}

const present: Past = { states: new Map(), left: [] }

const bars = 120
const colours: [string, string[]][] = [["failures", kinds["failures"]!], ["holds", kinds["holds"]!], ["changes", kinds["changes"]!]]

// Histogram shows how much has happened when.
function Histogram({ list, at, choose }: { list: Event[]; at: Event; choose: (e: Event) => void }) {
  const first = +new Date(list[0]!.at), last = Math.max(+new Date(list.at(-1)!.at), first + 1)
  const place = (e: Event) => (+new Date(e.at) - first) / (last - first) * bars
  const heaps = Array.from({ length: bars }, () => colours.map(() => 0))
  const graphs: number[] = []
  for (const e of list) {
    const k = colours.findIndex(([, outcomes]) => outcomes.includes(e.outcome))
    if (k >= 0) heaps[Math.min(bars - 1, Math.floor(place(e)))]![k]!++
    else if (e.outcome === "graph") graphs.push(place(e))
  }
  const most = Math.max(1, ...heaps.map(x => x.reduce((a, b) => a + b)))
  const scale = (n: number) => n ? Math.max(3, Math.sqrt(n / most) * 38) : 0
  return <svg class="histogram" viewBox={`0 0 ${bars} 48`} preserveAspectRatio="none" aria-hidden="true" onClick={(e: MouseEvent) => {
    const box = (e.currentTarget as Element).getBoundingClientRect()
    const to = (e.clientX - box.left) / box.width * bars
    choose(list.reduce((a, b) => Math.abs(place(b) - to) < Math.abs(place(a) - to) ? b : a))
  }}>
    {graphs.map(x => <rect class="g-graphs" x={x - .15} y={0} width={.3} height={48} />)}
    {heaps.map((heap, i) => {
      let y = 46
      const sum = heap.reduce((a, b) => a + b), all = scale(sum)
      return heap.map((n, k) => {
        const high = sum ? all * n / sum : 0
        y -= high
        return n ? <rect class={"g-" + colours[k]![0]} x={i + .1} y={y} width={.8} height={high} /> : null
      })
    })}
    <rect class="g-at" x={place(at) - .2} y={0} width={.4} height={48} />
  </svg>
}

export function TimeView({ id }: { id: string }) {
  const list = slowly("time", "", () => model.events.filter(e => e.id && e.outcome !== "converged"))
  if (!list.length) return <><h1 tabIndex={-1}>Time line</h1><p class="none">Nothing has happened yet.</p></>
  const found = id ? list.findLastIndex(e => e.id! <= +id) : list.length - 1
  const at = Math.max(0, found)
  const e = list[at]!
  const choose = (to: Event | undefined) => {
    if (!to) return
    history.replaceState(null, "", to === list.at(-1) ? "#/time" : href.time(to.id!))
    changed()
  }
  const now = !id || at === list.length - 1
  const graphs = list.slice(at + 1).filter(x => x.outcome === "graph").length
  return <>
    <h1 tabIndex={-1}>Time line</h1>
    {slowly("histogram", id, () => <Histogram list={list} at={e} choose={choose} />)}
    <p class="legend note"><span class="g-changes">■</span> changes <span class="g-failures">■</span> failures <span class="g-holds">■</span> pauses, holds and decisions <span class="g-graphs">■</span> a new graph</p>
    <div class="tools slide">
      <button type="button" aria-label="The event before" disabled={at === 0} onClick={() => choose(list[at - 1])}>‹</button>
      <input type="range" aria-label="Event" aria-valuetext={`${moment(e.at)}, ${e.outcome} ${e.resource ?? ""}`} min={0} max={list.length - 1} value={String(at)} onInput={(ev: InputEvent) => choose(list[+(ev.currentTarget as HTMLInputElement).value])} />
      <button type="button" aria-label="The event after" disabled={now} onClick={() => choose(list[at + 1])}>›</button>
      <button type="button" disabled={now} onClick={() => choose(list.at(-1))}>Now</button>
      {model.older && <button type="button" onClick={() => void older()}>Load older ones</button>}
    </div>
    <p class="event"><time dateTime={e.at}>{moment(e.at)}</time> <span class={"o-" + e.outcome}>{e.outcome}</span> {e.resource && <a href={href.resource(e.resource)}>{e.resource}</a>} <span class="why">{summary(e)}</span></p>
    <p class="note">{now ? "The graph as it is now." : "The graph as it was after this event."}{!now && graphs ? ` ${plural(graphs, "other graph")} took effect since: edges are those of now, and a resource that has come since is shown too.` : ""}</p>
    <Canvas past={now ? present : slowly("past", String(e.id), () => pastAt(e.id!))} />
  </>
}
