// The one state of the page: what the daemon has told, and what is open.

import * as api from "./api"
import type { Event, Resource, Session, Status } from "./api"

export interface Vertex extends Resource {
  now: string // what is shown: what it does, or the state in which it rests
  text: string // what a search looks at, in small letters
}

export interface Model {
  session?: Session
  status?: Status
  vertices: Map<string, Vertex>
  events: Event[] // the oldest first
  older: boolean // there are older events than those
  link: "opening" | "live" | "broken" | "logged out"
  trouble: string // why
  said: string // what was done last, for the live region
  version: number // grows with each new set of vertices
}

export const model: Model = { vertices: new Map(), events: [], older: false, link: "opening", trouble: "", said: "", version: 0 }

// maxEvents bounds the events in memory; the log has the others.
const maxEvents = 20000

let paint = () => {}
let due = false, later = false, painted = 0

// changed has the page drawn with the next frame, however often it is called before.
export function changed() {
  if (due) return
  due = true
  const draw = () => {
    due = false
    paint()
    painted = performance.now()
  }
  if (document.hidden) setTimeout(draw, 500)
  else requestAnimationFrame(draw)
}

// heard has the page drawn soon: so many events do not cost each frame a drawing, and keys and scrolling stay smooth.
export function heard() {
  if (later) return
  later = true
  setTimeout(() => {
    later = false
    changed()
  }, Math.max(0, 60 - (performance.now() - painted)))
}

// slowly keeps a result that is costly to make for a tenth of a second, unless the key is another one.
const kept = new Map<string, { key: string; at: number; value: unknown }>()
export function slowly<T>(name: string, key: string, make: () => T): T {
  const old = kept.get(name)
  if (old?.key === key && performance.now() - old.at < 100) {
    heard()
    return old.value as T
  }
  const value = make()
  kept.set(name, { key, at: performance.now(), value })
  return value
}

export function onChange(f: () => void) { paint = f }

export function say(text: string) {
  model.said = text
  changed()
}

function vertexOf(r: Resource): Vertex {
  return { ...r, now: r.doing ?? r.state, text: r.resource.toLowerCase() }
}

// statusesAfter are the events that say more than a state: the daemon is asked how the resource stands.
function take(e: Event) {
  const v = e.resource === undefined ? undefined : model.vertices.get(e.resource)
  if (v && e.run && e.state) {
    v.state = v.now = e.state
    if (e.error) v.error = e.error
    else delete v.error
    if (e.outcome === "changed") v.changes++
    delete v.doing
  }
  model.events.push(e)
  if (e.outcome === "graph") again.all = true
  again.want = true
}

// again is what has to be asked anew: how the resources stand that are not ok, or all of it for another graph.
const again = { want: false, all: false, busy: false, at: 0 }

async function refresh() {
  if (again.busy || !again.want || model.link !== "live" || document.hidden) return
  again.busy = true
  again.want = false
  const all = again.all
  again.all = false
  try {
    const s = await api.get<Status>("/v1/status", all ? { all: "true" } : {})
    if (all || s.session !== model.status?.session || s.same_since !== model.status?.same_since && !again.all) adopt(s, all)
    else merge(s)
    if (!s.converged) again.want = true // what runs and waits makes no events
    changed()
  } catch {
    again.want = true
    again.all ||= all
  } finally {
    again.busy = false
    again.at = Date.now()
  }
}

// adopt takes a whole status. One that is not whole asks for that.
function adopt(s: Status, whole: boolean) {
  model.status = s
  if (!whole) {
    again.want = again.all = true
    return
  }
  model.vertices = new Map(s.resources.map(r => [r.resource, vertexOf(r)]))
  model.version++
}

// merge takes the resources that are not ok: all others are.
function merge(s: Status) {
  model.status = s
  const odd = new Map(s.resources.map(r => [r.resource, r]))
  for (const [id, v] of model.vertices) {
    const r = odd.get(id)
    if (r) Object.assign(v, { error: undefined, blocked_by: undefined, waits_for: undefined, pause: undefined, held: undefined, doing: undefined, ...r, now: r.doing ?? r.state })
    else if (v.now !== "ok" || v.pause || v.held) {
      v.state = v.now = "ok"
      delete v.doing
      delete v.error
      delete v.pause
      delete v.held
    }
  }
}

// older reads a page of events before those that are there.
export async function older(): Promise<void> {
  const first = model.events.find(e => e.id)?.id
  if (!first || !model.older) return
  const log = await api.get<api.Log>("/v1/log", { before: first, limit: 1000 })
  model.events.unshift(...log.events)
  model.older = log.more
  changed()
}

const rest = (ms: number) => new Promise(done => setTimeout(done, ms))

// live keeps the page up to date until the login ends. After a break it goes on after the last event, so that none is missed.
export async function live(): Promise<void> {
  setInterval(() => void refresh(), 1000)
  document.addEventListener("visibilitychange", () => void refresh())
  for (let tries = 0; ;) {
    const cut = new AbortController()
    try {
      model.session ??= await api.login()
      if (!model.events.length) {
        const log = await api.get<api.Log>("/v1/log", { limit: 500 })
        model.events = log.events
        model.older = log.more
      }
      const s = await api.get<Status>("/v1/status", { all: "true" })
      adopt(s, true)
      model.trouble = ""
      changed()
      let alive = Date.now()
      const deaf = setInterval(() => { if (Date.now() - alive > 40000) cut.abort() }, 5000) // a sign of life comes every 15 s
      try {
        await api.stream(model.events.findLast(e => e.id)?.id ?? 0, cut.signal, e => {
          take(e)
          if (model.events.length > maxEvents) {
            model.events.splice(0, maxEvents / 4)
            model.older = true
          }
          heard()
        }, () => {
          alive = Date.now()
          tries = 0
          if (model.link !== "live") {
            model.link = "live"
            again.want = true
            changed()
          }
        })
      } finally {
        clearInterval(deaf)
      }
      throw new api.Failed(0, "the daemon has ended the connection")
    } catch (e) {
      const failed = e instanceof api.Failed ? e : new api.Failed(0, "the daemon has gone")
      model.trouble = failed.message
      if (failed.status === 401) {
        model.link = "logged out"
        delete model.session
        changed()
        return
      }
      if (failed.status === 400) model.events = [] // another history: the daemon has begun a new one
      model.link = model.link === "opening" && tries < 1 ? "opening" : "broken"
      changed()
      await rest(Math.min(250 * 2 ** tries++, 5000))
    }
  }
}
