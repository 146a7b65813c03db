// The graph, drawn by Cytoscape. Nodes keep their places while the graph around them changes.

import { h, Fragment, plain, plural, signs, states } from "./dom"
import * as api from "./api"
import { changed, heard, model, say } from "./model"
import { labels, nodeOf, pathTo, short, shown } from "./groups"
import type { Item, Node } from "./groups"
import type { Done, Job } from "./layout"
import { go, href } from "./route"

interface Document { elements: { nodes: { data: { id: string; module?: string } }[]; edges: { data: { source: string; target: string }; classes?: string }[] } }

const graph = { nodes: [] as Node[], edges: [] as [string, string, boolean][], version: -1, busy: false, trouble: "" }
const opened = new Set<string>()

const idOf = (key: string) => key.startsWith("q:") ? JSON.parse(key.slice(2)) as string : key.slice(2)

// load asks for the edges of the graph in effect.
function load() {
  if (graph.busy || graph.version === model.version || model.link !== "live") return
  graph.busy = true
  const version = model.version
  api.get<Document>("/v1/graph", { format: "json", reduce: model.vertices.size <= 2000 ? "true" : "" }).then(d => {
    graph.nodes = d.elements.nodes.map(n => nodeOf(idOf(n.data.id), n.data.module))
    graph.edges = d.elements.edges.map(e => [idOf(e.data.source), idOf(e.data.target), (e.classes ?? "").includes("notify")])
    graph.trouble = ""
  }, (e: Error) => { graph.trouble = e.message }).finally(() => {
    graph.version = version
    graph.busy = false
    changed()
  })
}

// Past is a moment other than now: the states that differ, and the vertices that have left since.
export interface Past { states: Map<string, string>; left: string[] }

const ranks = new Map(states.map((s, i) => [s, i]))

const stateOf = (id: string, past?: Past) => past?.states.get(id) ?? model.vertices.get(id)?.now ?? "unheard"

// worst is the state of a group: that of the member which needs a look first.
function worst(it: Item, past?: Past): { state: string; bad: number } {
  if (!it.group) return { state: stateOf(it.members[0]!.id, past), bad: 0 }
  let at = states.length, bad = 0
  for (const n of it.members) {
    const rank = ranks.get(stateOf(n.id, past)) ?? states.length
    if (rank < at) at = rank
    if (rank < 4) bad++
  }
  return { state: states[at] ?? "unheard", bad }
}

const pen = document.createElement("canvas").getContext("2d")!
const font = "13px system-ui, sans-serif"

function widthOf(label: string): number {
  pen.font = font
  return Math.max(90, Math.ceil(Math.max(...label.split("\n").map(l => pen.measureText(l).width))) + 28)
}

// Drawing is one canvas with its nodes.
class Drawing {
  cy: any
  items: Item[] = []
  key = "" // of what is drawn
  past: Past | undefined
  at = "" // the node that the keys have chosen
  job = 0
  placed = new Map<string, [number, number]>()
  drawn = 0 // when the states were looked at last
  fresh = true // nothing was placed yet: the first layout is fitted
  anchor = "" // the group that was opened, near which its members appear
  worker: Worker | undefined
  waiting = "" // the node to go to when it is placed

  attach = (e: HTMLElement | null) => {
    if (!e) {
      this.cy?.destroy()
      this.worker?.terminate()
      this.cy = this.worker = undefined
      this.key = ""
      this.fresh = true
      return
    }
    void import("cytoscape").then(({ default: cytoscape }) => {
      if (!e.isConnected || this.cy) return
      this.cy = cytoscape({ container: e, style: sheet(), minZoom: 0.05, maxZoom: 2, autoungrabify: true, boxSelectionEnabled: false, hideEdgesOnViewport: true, textureOnViewport: false })
      this.cy.on("tap", "node", (t: any) => this.enter(t.target.id()))
      this.worker = new Worker("layout.js", { type: "module" })
      this.worker.onmessage = (m: MessageEvent<Done>) => { if (m.data.job === this.job) this.place(m.data.at) }
      changed()
    })
  }

  // enter opens a group, or the resource.
  enter(key: string) {
    const it = this.items.find(i => i.key === key)
    if (!it) return
    if (!it.group) return go(href.resource(it.members[0]!.id))
    opened.add(key)
    this.anchor = key
    say(it.label + " is open")
  }

  draw(past?: Past) {
    if (!this.cy || !graph.nodes.length) return
    const nodes = past?.left.length ? [...graph.nodes, ...past.left.map(id => nodeOf(id))] : graph.nodes
    const key = [graph.version, nodes.length, ...opened].join("\n")
    if (key !== this.key) {
      this.key = key
      this.past = past
      this.build(nodes)
    } else if (past === this.past && performance.now() - this.drawn < 200) return heard() // many events cost one look at the states
    this.past = past
    this.drawn = performance.now()
    this.cy.batch(() => {
      for (const it of this.items) {
        const n = this.cy.getElementById(it.key)
        const { state, bad } = worst(it, past)
        const label = labelOf(it, state, bad)
        if (n.data("state") !== state || n.data("label") !== label) n.data({ state, label }).classes((it.group ? "group " : "") + state)
      }
    })
  }

  // build puts other nodes into the drawing, and has them placed.
  build(nodes: Node[]) {
    this.items = shown(nodes, opened)
    const of = new Map<string, string>()
    for (const it of this.items) for (const n of it.members) of.set(n.id, it.key)
    const ties = new Map<string, { from: string; to: string; notify: boolean }>()
    for (const [from, to, notify] of graph.edges) {
      const a = of.get(from), b = of.get(to)
      if (!a || !b || a === b) continue
      const tie = ties.get(a + "\n" + b)
      if (tie) tie.notify ||= notify
      else ties.set(a + "\n" + b, { from: a, to: b, notify })
    }
    const boxes = this.items.map(it => {
      const { state, bad } = worst(it, this.past)
      const label = labelOf(it, state, bad)
      return { id: it.key, label, state, width: widthOf(label), height: 44, group: it.group }
    })
    this.cy.batch(() => {
      this.cy.elements().remove()
      this.cy.add(boxes.map(b => ({ group: "nodes", data: b, classes: (b.group ? "group " : "") + b.state, position: { x: this.placed.get(b.id)?.[0] ?? -1e6, y: this.placed.get(b.id)?.[1] ?? -1e6 } })))
      const heavy = ties.size > 2 * boxes.length ? "heavy " : "" // so many that the nodes would be lost behind them
      this.cy.add([...ties].map(([id, t]) => ({ group: "edges", data: { id: "e:" + id, source: t.from, target: t.to }, classes: heavy + (t.notify ? "notify" : "") })))
    })
    this.worker?.postMessage({ job: ++this.job, nodes: boxes.map(({ id, width, height }) => ({ id, width, height })), edges: [...ties.values()].map(t => [t.from, t.to]) } satisfies Job)
  }

  // place moves nodes to where the layout has them. Where most of them had a place, all of those keep theirs, unless a group was opened or closed:
  // then the whole is moved so that what was opened stays where the eye is.
  place(at: Done["at"]) {
    const known = this.items.filter(it => this.placed.has(it.key))
    const shift = (list: [number, number][], old: [number, number][]): [number, number] => {
      const mean = (points: [number, number][], i: 0 | 1) => points.reduce((s, p) => s + p[i], 0) / (points.length || 1)
      return [mean(old, 0) - mean(list, 0), mean(old, 1) - mean(list, 1)]
    }
    let d: [number, number] = [0, 0]
    const anchor = this.anchor && this.placed.get(this.anchor)
    const inner = this.items.filter(it => this.anchor && it.key !== this.anchor && !this.placed.has(it.key)).map(it => at[it.key]!)
    if (anchor && inner.length) d = shift(inner, [anchor])
    else if (known.length) d = shift(known.map(it => at[it.key]!), known.map(it => this.placed.get(it.key)!))
    const stay = !this.anchor && known.length >= this.items.length / 2
    this.anchor = ""
    const placed = new Map<string, [number, number]>()
    for (const it of this.items) {
      const [x, y] = at[it.key]!
      placed.set(it.key, stay && this.placed.get(it.key) || [x + d[0], y + d[1]])
    }
    this.placed = placed
    this.cy.batch(() => { for (const [key, [x, y]] of placed) this.cy.getElementById(key).position({ x, y }) })
    if (this.fresh) this.fit()
    this.fresh = false
    if (this.waiting) {
      this.choose(this.waiting)
      this.waiting = ""
    }
    this.cy.container().dataset["placed"] = String(this.job)
  }

  fit() {
    this.cy?.fit(undefined, 30)
    if (this.cy?.zoom() > 1) {
      this.cy.zoom(1)
      this.cy.center()
    }
  }

  // choose marks a node, brings it into sight and says what it is.
  choose(key: string) {
    const it = this.items.find(i => i.key === key)
    if (!it) return
    this.at = key
    this.cy.nodes(".at").removeClass("at")
    const n = this.cy.getElementById(key)
    n.addClass("at")
    const box = n.renderedBoundingBox(), w = this.cy.width(), high = this.cy.height()
    if (this.cy.zoom() < 0.4) this.cy.zoom(0.8)
    if (this.cy.zoom() === 0.8 || box.x1 < 0 || box.y1 < 0 || box.x2 > w || box.y2 > high) this.cy.center(n)
    const { state } = worst(it, this.past)
    say(`${it.group ? it.label + ", " + plural(it.members.length, "resource") : it.key}, ${state}, after ${n.incomers("node").length}, before ${n.outgoers("node").length}`)
  }

  // step goes to a neighbour: along an edge up and down where there is one, else to the next node in that direction.
  step(dx: number, dy: number) {
    const from = this.cy.getElementById(this.at)
    if (!from.length) return this.choose(this.items[0]?.key ?? "")
    const p = from.position()
    let best = "", least = Infinity
    const look = (nodes: any, along: boolean) => nodes.forEach((n: any) => {
      const q = n.position(), forward = (q.x - p.x) * dx + (q.y - p.y) * dy, aside = Math.abs((q.x - p.x) * dy) + Math.abs((q.y - p.y) * dx)
      if (n.id() === this.at || !along && forward <= 1) return
      const cost = Math.abs(forward) + aside * (along ? 1 : 3)
      if (cost < least) [best, least] = [n.id(), cost]
    })
    if (dy) look(dy > 0 ? from.outgoers("node") : from.incomers("node"), true)
    if (!best) look(this.cy.nodes(), false)
    if (best) this.choose(best)
  }

  key_ = (e: KeyboardEvent) => {
    if (!this.cy || e.ctrlKey || e.altKey || e.metaKey) return
    const zoom = (by: number) => this.cy.zoom({ level: this.cy.zoom() * by, renderedPosition: { x: this.cy.width() / 2, y: this.cy.height() / 2 } })
    const keys: Record<string, () => void> = {
      ArrowDown: () => this.step(0, 1), ArrowUp: () => this.step(0, -1), ArrowLeft: () => this.step(-1, 0), ArrowRight: () => this.step(1, 0),
      Enter: () => this.enter(this.at), "+": () => zoom(1.3), "-": () => zoom(1 / 1.3), "0": () => this.fit(),
    }
    const f = keys[e.key]
    if (!f) return
    e.preventDefault()
    f()
  }
}

function labelOf(it: Item, state: string, bad: number): string {
  if (!it.group) return plain(`${signs[state] ?? "·"} ${short(it.label)}\n${it.members[0]!.kind}`)
  return plain(`${it.label}\n${it.members.length.toLocaleString()}${bad ? `, ${bad.toLocaleString()} not ok` : ""}`)
}

// sheet has the colours of the page, which follow the scheme.
function sheet() {
  const css = getComputedStyle(document.documentElement)
  const v = (name: string) => css.getPropertyValue("--" + name).trim()
  const colours: [string, string][] = [["ok", "ok"], ["failed", "failed"], ["blocked", "blocked"], ["paused", "held"], ["held", "held"], ["would-change", "odd"], ["unknown", "odd"], ["running", "run"], ["waiting", "run"], ["starting", "run"]]
  return [
    { selector: "node", style: {
      label: "data(label)", shape: "round-rectangle", width: "data(width)", height: "data(height)", "text-wrap": "wrap", "text-valign": "center", "font-size": 13, "font-family": "system-ui, sans-serif",
      "background-color": v("back"), color: v("text"), "border-width": 1.5, "border-color": v("dim"), "line-height": 1.25, "min-zoomed-font-size": 5,
    } },
    { selector: "node.group", style: { shape: "cut-rectangle", "background-color": v("soft"), "border-width": 2.5 } },
    { selector: "edge", style: { "curve-style": "bezier", "target-arrow-shape": "triangle", width: 1.2, "line-color": v("dim"), "target-arrow-color": v("dim"), "arrow-scale": 0.9, opacity: 0.6 } },
    { selector: "edge.heavy", style: { opacity: 0.25, "arrow-scale": 0.7 } },
    { selector: "edge.notify", style: { width: 2.5, "line-color": v("link"), "target-arrow-color": v("link") } },
    ...colours.map(([state, name]) => ({ selector: "node." + state, style: { "border-color": v(name), ...(state === "ok" ? {} : { color: v(name) }) } })),
    { selector: "node.failed", style: { "border-width": 3, "background-color": v("del") } },
    { selector: "node.at", style: { "outline-width": 3, "outline-color": v("link"), "outline-offset": 3 } },
  ]
}

const drawings = { now: new Drawing(), past: new Drawing() }
for (const d of Object.values(drawings)) matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => d.cy?.style(sheet()))

// Canvas is the drawing of now, or of a moment of the past.
export function Canvas({ past }: { past?: Past }) {
  load()
  const d = past ? drawings.past : drawings.now
  requestAnimationFrame(() => d.draw(past))
  const groups = [...opened]
  return <>
    {graph.trouble && <p class="bad" role="alert">{graph.trouble}</p>}
    {graph.nodes.length > 300 && <div class="tools groups">
      {groups.length > 0 && <span class="note">Open:</span>}
      {groups.map(k => <button type="button" class="chip" onClick={() => {
        for (const o of groups) if (o === k || o.startsWith(k + "/")) opened.delete(o)
        changed()
      }} aria-label={"Close the group " + (labels.get(k) ?? k)}>{(labels.get(k) ?? k)} ×</button>)}
    </div>}
    <div class="canvas" tabIndex={0} role="application" aria-label={`Drawing of ${plural(graph.nodes.length, "resource")} and ${plural(graph.edges.length, "edge")}. Arrow keys follow the edges, Enter opens.`}
      onKeyDown={d.key_}><div class="paper" ref={d.attach} /></div>
    <div class="tools under"><button type="button" onClick={() => d.fit()}>Show all</button><span class="note">Arrow keys follow the edges, Enter opens, + and − zoom.</span></div>
  </>
}

// GraphView is the graph as it is now. With a resource, that is in sight and chosen.
let sought = ""
export function GraphView({ id }: { id: string }) {
  if (id && id !== sought && graph.nodes.length) {
    sought = id
    for (const key of pathTo(graph.nodes, id)) opened.add(key)
    drawings.now.waiting = id
    drawings.now.key = "" // so that it is placed, and gone to
  }
  if (!id) sought = ""
  return <><h1 tabIndex={-1}>Graph</h1><Canvas /></>
}
