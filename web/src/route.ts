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

// focus is what gets the focus when the next view is drawn: its title, but for who searches.
let focus = "main h1"

export function go(to: string, into = "main h1") {
  focus = into
  location.hash = to
}

addEventListener("hashchange", () => {
  changed()
  scrollTo(0, 0)
  const into = focus
  focus = "main h1"
  requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>(into)?.focus()))
})
