// The frame of the page.

import { render } from "preact"
import { h, Fragment, signs, states } from "./dom"
import * as api from "./api"
import { changed, live, model, onChange, slowly } from "./model"
import { Dialog } from "./act"
import { List, search } from "./list"
import { ResourceView } from "./resource"
import { GraphView } from "./graph"
import { TimeView } from "./time"
import { LogView } from "./log"
import { HostsView } from "./hosts"
import { at, go } from "./route"

const views: Record<string, string> = { graph: "Graph", list: "List", time: "Time line", log: "Log", hosts: "Hosts" }

function View() {
  const { view, of } = at()
  switch (view) {
    case "resource": return <ResourceView id={of} />
    case "list": return <><h1 tabIndex={-1}>List</h1><List /></>
    case "time": return <TimeView id={of} />
    case "log": return <><h1 tabIndex={-1}>Log</h1><LogView /></>
    case "hosts": return <HostsView />
  }
  return <GraphView id={of} />
}

function Counts() {
  const n = slowly("counts", String(model.version), () => {
    const n = new Map<string, number>()
    for (const v of model.vertices.values()) n.set(v.now, (n.get(v.now) ?? 0) + 1)
    return n
  })
  return <ul class="counts" aria-label="Resources by state">{states.filter(s => n.get(s)).map(s =>
    <li><a href="#/list" class={"s-" + s} onClick={() => { search.state = s }}><span aria-hidden="true">{signs[s]}</span> {n.get(s)!.toLocaleString()} {s}</a></li>)}</ul>
}

function App() {
  const s = model.status
  const { view } = at()
  return <>
    <a class="skip" href="#main" onClick={(e: MouseEvent) => { e.preventDefault(); document.querySelector<HTMLElement>("main h1")?.focus() }}>To the content</a>
    <header>
      <b class="brand">mgmt</b>
      <nav aria-label="Views"><ul>{Object.entries(views).map(([key, name]) => <li><a href={"#/" + key} aria-current={view === key ? "page" : undefined}>{name}</a></li>)}</ul></nav>
      {s && <Counts />}
      <span class={"link " + model.link.replace(" ", "-")} role="status">{model.link === "live" ? (s?.converged ? "at rest" : "working") : model.link}</span>
      {model.session && <span class="who">{model.session.who}{model.session.steer ? "" : ", reading"} <button type="button" onClick={() => void api.logout().finally(() => location.reload())}>Log out</button></span>}
    </header>
    {model.link === "broken" && <p class="banner" role="alert">No connection ({model.trouble}). What you see is how it stood; the page goes on by itself.</p>}
    {s?.refused && <p class="banner" role="alert">A newer graph is refused: {s.refused}</p>}
    {s?.held && <p class="banner">A newer graph waits: {s.held}</p>}
    {s?.store_lost && <p class="banner">The store does not answer: {s.store_lost.error}</p>}
    {s?.state_lost?.error && <p class="banner">The state folder is lost: {s.state_lost.error}</p>}
    <main id="main">{model.link === "logged out" ? <section class="login"><h1 tabIndex={-1}>Log in</h1><p>{model.trouble[0]!.toUpperCase() + model.trouble.slice(1)}.</p><p>Run this on the machine, as root or in the group of the daemon's socket, and open the link that it prints:</p><pre>mgmt web --open</pre></section>
      : s ? <View /> : <><h1 tabIndex={-1}>mgmt</h1><p>{model.trouble || "…"}</p></>}</main>
    <p class="out" role="status">{model.said}</p>
    <Dialog />
  </>
}

onChange(() => render(<App />, document.getElementById("app")!))
addEventListener("keydown", e => {
  if (e.key === "/" && !(e.target as HTMLElement).closest("input, select, textarea, dialog")) {
    e.preventDefault()
    const search = "main input[type=search]", into = document.querySelector<HTMLElement>(search)
    if (into) into.focus()
    else go("#/list", search)
  }
})
changed()
void live()
