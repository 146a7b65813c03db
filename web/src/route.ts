// Where the page is: the fragment of the address.

import { changed } from "./model"

export const href = {
  view: (name: string) => "#/" + name,
  resource: (id: string) => "#/resource/" + encodeURIComponent(id),
  graph: (id: string) => "#/graph/" + encodeURIComponent(id),
  time: (event: number) => "#/time/" + event,
}

// at returns the view and what it is of.
export function at(): { view: string; of: string } {
  const [view, of] = location.hash.replace(/^#\/?/, "").split("/", 2)
  return { view: view || "graph", of: decodeURIComponent(of ?? "") }
}

// wanted is what gets the focus when a view is drawn, where that is not its title.
let wanted = { hash: "", into: "" }

export function go(to: string, into = "") {
  wanted = { hash: to, into }
  location.hash = to
}

addEventListener("hashchange", e => {
  changed()
  if (new URL(e.newURL).hash !== location.hash) return // the next one follows already
  scrollTo(0, 0)
  const into = wanted.hash === location.hash && wanted.into || "main h1"
  wanted = { hash: "", into: "" }
  requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>(into)?.focus()))
})
