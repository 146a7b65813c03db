// The worker that places the nodes of a drawing: those with edges by dagre, in ranks; the others below them, in rows.

import { Graph, layout } from "@dagrejs/dagre"

export interface Job { job: number; nodes: { id: string; width: number; height: number }[]; edges: [string, string][] }
export interface Done { job: number; at: Record<string, [number, number]> }

onmessage = (e: MessageEvent<Job>) => {
  const { job, nodes, edges } = e.data
  const tied = new Set(edges.flat())
  const g = new Graph()
  g.setGraph({ rankdir: "TB", nodesep: 24, ranksep: 48, edgesep: 12 })
  g.setDefaultEdgeLabel(() => ({}))
  for (const n of nodes) if (tied.has(n.id)) g.setNode(n.id, { width: n.width, height: n.height })
  for (const [from, to] of edges) g.setEdge(from, to)
  layout(g)
  const at: Done["at"] = {}
  const placed = (g.nodes() as string[]).map(id => ({ id, ...g.node(id) as { x: number; y: number; width: number; height: number } }))
  const left = Math.min(...placed.map(n => n.x - n.width / 2), Infinity), right = Math.max(...placed.map(n => n.x + n.width / 2), -Infinity)
  const width = Math.max(700, Math.sqrt(nodes.reduce((sum, n) => sum + (n.width + 24) * (n.height + 40), 0) * 2.2))
  let bottom = 0
  const ranks = [...new Set(placed.map(n => n.y))].sort((a, b) => a - b)
  if (ranks.length > 8 && placed.length < 2 * ranks.length) { // a long chain, or groups that all depend on each other
    bottom = rows(placed.sort((a, b) => a.y - b.y || a.x - b.x), width, 0, at, 64)
  } else if (right - left <= 1.6 * width) {
    for (const n of placed) {
      at[n.id] = [n.x - (left + right) / 2, n.y]
      bottom = Math.max(bottom, n.y + n.height / 2)
    }
  } else { // a flat graph: each rank is broken into rows, in its order
    for (const y of ranks) {
      bottom = rows(placed.filter(n => n.y === y).sort((a, b) => a.x - b.x), width, bottom && bottom + 56, at)
    }
  }
  rows(nodes.filter(n => !tied.has(n.id)), width, bottom && bottom + 72, at)
  postMessage({ job, at } satisfies Done)
}

// rows places nodes side by side below a height, each row in the middle, and returns where they end.
function rows(list: Job["nodes"], width: number, y: number, at: Done["at"], gap = 24): number {
  for (let i = 0; i < list.length; y += gap) {
    let j = i, wide = -24, high = 0
    for (; j < list.length && (j === i || wide + 24 + list[j]!.width <= width); j++) {
      wide += 24 + list[j]!.width
      high = Math.max(high, list[j]!.height)
    }
    for (let x = -wide / 2; i < j; i++) {
      at[list[i]!.id] = [x + list[i]!.width / 2, y + high / 2]
      x += list[i]!.width + 24
    }
    y += high
  }
  return y - (list.length ? gap : 0)
}
