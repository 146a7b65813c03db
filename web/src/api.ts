// The requests of the page. A login is a cookie, which the browser sends, and a token, which only this origin can read.

export interface Pause { all?: boolean; until?: string; reason?: string }
export interface Change { field?: string; verb?: string; from?: unknown; to?: unknown; from_bytes?: number; to_bytes?: number; unknown?: boolean }
export interface Hold { limit: string; reason: string; for_seconds?: number; digest?: string; changes?: Change[]; omitted?: boolean; rejected?: boolean }
export interface Resource {
  resource: string; state: string; doing?: string; error?: string; retry_in_seconds?: number; blocked_by?: string; waits_for?: string
  until?: string; changes: number; pause?: Pause; held?: Hold
}
export interface Status {
  version: string; session: string; generation: number; same_since: number; graph: string; converged: boolean; since: string
  refused?: string; held?: string; store_lost?: { error: string }; state_lost?: { error?: string }
  counts: Record<string, number>; resources: Resource[]
}
export interface Culprit { pid: number; program?: string; user?: string; login?: string; unit?: string; gone?: boolean }
export interface Trigger {
  cause: string; from?: string; run?: number; field?: string; fields?: string[]; source?: string; path?: string
  culprit?: Culprit; merged?: number; by?: Event
}
export interface Event {
  id?: number; at: string; outcome: string; resource?: string; session: string; run?: number; generation?: number; state?: string
  class?: string; triggers?: Trigger[]; changes?: Change[]; error?: string; until?: string; refreshed?: boolean; noop?: boolean; seconds?: number
  attempt?: number; retry_in_seconds?: number; pause?: Pause; held?: Hold; by?: string; reason?: string; dropped?: number
  graph?: { name: string; added: number; changed: number; removed: number; kept: number; path?: string; leaving?: { resource: string }[]; more?: number }
}
export interface Log { events: Event[]; more: boolean }
export interface Neighbor { resource: string; state?: string; notify?: boolean }
export interface Param { name: string; declared?: unknown; declared_bytes?: number; from?: string[]; differs?: boolean; actual?: unknown; actual_bytes?: number }
export interface Detail {
  resource: string; member?: string; status?: Resource; runs: Event[]; source?: string; params: Param[]; needs: Neighbor[]; dependents: Neighbor[]; more?: number
}
export interface Host { name: string; state?: string; since?: string; version?: string; [key: string]: unknown }
export interface Hosts { hosts: Host[]; incomplete?: string }
export interface Session { who: string; steer: boolean; until: string; token?: string }

// Failed is an answer that is none: what is wrong, and how to proceed.
export class Failed extends Error {
  constructor(readonly status: number, detail: string, readonly hint = "") {
    super(hint ? detail + ": " + hint : detail)
  }
}

const key = "mgmt-token"
const token = () => localStorage.getItem(key) ?? ""

async function ask(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const init: RequestInit = { method, headers: { "Mgmt-Token": token() }, cache: "no-cache" }
  if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { ...init.headers, "Content-Type": "application/json" }
  }
  if (signal) init.signal = signal
  let answer: Response
  try {
    answer = await fetch(path, init)
  } catch (e) {
    if (signal?.aborted) throw e
    throw new Failed(0, "the daemon does not answer")
  }
  if (answer.ok) return answer
  const problem = await answer.json().catch(() => ({})) as { detail?: string; hint?: string }
  throw new Failed(answer.status, problem.detail ?? answer.statusText, problem.hint)
}

// get asks the API for a document.
export async function get<T>(path: string, query: Record<string, string | number | undefined> = {}): Promise<T> {
  const q = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") q.set(name, String(value))
  return (await ask("GET", path + (q.size ? "?" + q : ""))).json() as Promise<T>
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return (await ask("POST", path, body)).json() as Promise<T>
}

// login uses the link in the address, or the token of an earlier visit, or asks for a login without a link, as a certificate gives.
export async function login(): Promise<Session> {
  const link = /^#login=([\w-]+)$/.exec(location.hash)?.[1]
  if (link) {
    history.replaceState(null, "", location.pathname) // so that it stays in no history
  } else if (token()) {
    try {
      return await get<Session>("/session")
    } catch (e) {
      if (!(e instanceof Failed) || e.status !== 401) throw e
    }
  }
  const s = await post<Session>("/login", link ? { link } : {})
  localStorage.setItem(key, s.token ?? "")
  return s
}

export async function logout(): Promise<void> {
  await ask("POST", "/logout", {})
  localStorage.removeItem(key)
}

// stream reads events after an id until it breaks. It returns for each line that came whole; alive is called for each piece.
export async function stream(since: number, signal: AbortSignal, event: (e: Event) => void, alive: () => void): Promise<void> {
  const answer = await ask("GET", "/v1/events?since=" + since, undefined, signal)
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  alive()
  for (let rest = ""; ;) {
    const { done, value } = await reader.read()
    if (done) return
    alive()
    const lines = (rest + value).split("\n")
    rest = lines.pop()!
    for (const line of lines) if (line.startsWith("data: ")) event(JSON.parse(line.slice(6)) as Event)
  }
}
