// What of a graph is drawn: all of a small one; of a large one its groups, by module and kind, which open on demand.

export interface Node { id: string; kind: string; name: string; module: string }
export interface Item { key: string; label: string; members: Node[]; group: boolean }

const most = 300 // vertices that are drawn without groups
const few = 60 // members that a group shows one by one

export function nodeOf(id: string, module = ""): Node {
  const cut = id.indexOf("[")
  return { id, kind: cut < 0 ? id : id.slice(0, cut), name: cut < 0 ? id : id.slice(cut + 1, -1), module }
}

function by(members: Node[], prefix: string, word: (n: Node) => string, label: (w: string) => string): Item[] {
  const parts = new Map<string, Node[]>()
  for (const n of members) {
    const w = word(n), part = parts.get(w)
    if (part) part.push(n)
    else parts.set(w, [n])
  }
  return [...parts].map(([w, list]) => ({ key: prefix + "/" + w, label: label(w), members: list, group: true }))
}

// short keeps the end of a name, which tells more than its begin.
export function short(name: string, length = 26): string {
  return name.length <= length ? name : "…" + name.slice(1 - length)
}

// inside returns what an open group shows.
function inside(it: Item): Item[] {
  const level = it.key.split("/").length
  if (level === 1) {
    const parts = by(it.members, it.key, n => "m " + n.module, w => w === "m " ? "no module" : "module " + w.slice(2))
    if (parts.length > 1) return parts
  }
  if (level <= 2) {
    const parts = by(it.members, it.key, n => "k " + n.kind, w => w.slice(2))
    if (parts.length > 1) return parts
  }
  if (it.members.length <= few) return it.members.map(n => ({ key: n.id, label: n.name, members: [n], group: false }))
  const sorted = it.members.toSorted((a, b) => a.id < b.id ? -1 : 1)
  const size = Math.ceil(sorted.length / Math.min(20, Math.ceil(sorted.length / few)))
  const parts: Item[] = []
  for (let i = 0; i < sorted.length; i += size) {
    const list = sorted.slice(i, i + size)
    parts.push({ key: `${it.key}/${level > 3 ? "" : "p "}${i}`, label: short(list[0]!.name, 18) + " – " + short(list.at(-1)!.name, 18), members: list, group: true })
  }
  return parts
}

// labels are the words of the groups that were drawn, by their keys.
export const labels = new Map<string, string>()

// shown returns what is drawn. The keys of open groups are in opened.
export function shown(nodes: Node[], opened: Set<string>): Item[] {
  if (nodes.length <= most) return nodes.map(n => ({ key: n.id, label: n.name, members: [n], group: false }))
  const out: Item[] = []
  const walk = (it: Item) => {
    for (const part of inside(it)) {
      if (part.group) labels.set(part.key, part.label)
      if (part.group && opened.has(part.key)) walk(part)
      else out.push(part)
    }
  }
  walk({ key: "", label: "", members: nodes, group: true })
  return out
}

// pathTo returns the groups that have to be open for a vertex to be drawn.
export function pathTo(nodes: Node[], id: string): string[] {
  const path: string[] = []
  if (nodes.length <= most) return path
  let it: Item | undefined = { key: "", label: "", members: nodes, group: true }
  while (it?.group) {
    if (it.key) path.push(it.key)
    it = inside(it).find(part => part.members.some(n => n.id === id))
  }
  return path
}
