// Where the page is: the fragment of the address.

import { changed } from "./model"

export const href = {
  view: (name: string) => "#/" + name,
  resource: (id: string) => "#/resource/" + encodeURIComponent(id),
  time: (event: number) => "#/time/" + event,
}

// at returns the view and what it is of.
export function at(): { view: string; of: string } {
  const [view, of] = location.hash.replace(/^#\/?/, "").split("/", 2)
  return { view: view || "graph", of: decodeURIComponent(of ?? "") }
}

export function go(to: string) {
  location.hash = to
}

addEventListener("hashchange", () => {
  changed()
  scrollTo(0, 0)
  requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>("main h1")?.focus()))
})
