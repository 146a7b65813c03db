// What a person may do to resources: each with a reason, under the person's name.

import { h, span } from "./dom"
import { post } from "./api"
import { changed, model, say } from "./model"
import type { Vertex } from "./model"

interface Deed { verb: "pause" | "resume" | "retry" | "approve" | "reject"; on: Vertex[]; all?: boolean; trouble?: string; busy?: boolean }

let deed: Deed | undefined
let opener: HTMLElement | null = null

const names = { pause: "Pause", resume: "Resume", retry: "Retry", approve: "Approve", reject: "Reject" }

// deeds are the buttons that make sense for resources.
export function Deeds({ on, all }: { on: Vertex[]; all?: boolean }) {
  if (!model.session?.steer || model.link !== "live") return null
  const some = (f: (v: Vertex) => unknown) => on.some(f)
  const list: Deed["verb"][] = []
  if (some(v => v.held?.limit === "approval")) list.push("approve", "reject")
  if (some(v => v.state === "failed")) list.push("retry")
  if (some(v => v.pause || v.held && v.held.limit !== "approval")) list.push("resume")
  if (some(v => !v.pause)) list.push("pause")
  return <div class="deeds">
    {list.map(verb => <button type="button" class={verb === "approve" ? "main" : ""} onClick={(e: MouseEvent) => {
      opener = e.currentTarget as HTMLElement
      deed = { verb, on, ...(all ? { all } : {}) }
      changed()
    }}>{names[verb]}{all && verb === "pause" ? " everything" : ""}</button>)}
  </div>
}

function close() {
  deed = undefined
  changed()
  requestAnimationFrame(() => opener?.isConnected && opener.focus())
}

async function send(d: Deed, form: HTMLFormElement) {
  const field = (name: string) => (form.elements.namedItem(name) as HTMLInputElement | null)?.value ?? ""
  const reason = field("reason").trim()
  const approvals = d.on.filter(v => v.held?.limit === "approval")
  d.busy = true
  changed()
  try {
    if (d.verb === "approve" || d.verb === "reject") {
      await post("/v1/decide", { approve: d.verb === "approve", reason, changes: approvals.map(v => ({ resource: v.resource, digest: v.held!.digest })) })
    } else if (d.verb === "retry") {
      await post("/v1/retry", { resources: d.on.filter(v => v.state === "failed").map(v => v.resource), reason })
    } else {
      const body = { reason, ...(d.verb === "pause" && +field("for") ? { for_seconds: +field("for") } : {}) }
      if (d.all) await post("/v1/" + d.verb, body)
      else for (const v of d.on) await post("/v1/" + d.verb, { ...body, resource: v.resource })
    }
    close()
    say(`${names[d.verb]}: ${d.all ? "everything" : d.on.map(v => v.resource).join(", ")}`)
  } catch (e) {
    d.busy = false
    d.trouble = (e as Error).message
    changed()
  }
}

// Dialog asks for the reason.
export function Dialog() {
  const d = deed
  if (!d) return null
  const what = d.all ? "everything" : d.on.length === 1 ? d.on[0]!.resource : d.on.length + " resources"
  return <dialog aria-labelledby="deed" ref={(e: HTMLDialogElement | null) => { if (e && !e.open) e.showModal() }} onClose={close}>
    <form method="dialog" onSubmit={(e: SubmitEvent) => {
      e.preventDefault()
      if (!d.busy) void send(d, e.currentTarget as HTMLFormElement)
    }}>
      <h2 id="deed">{names[d.verb]} {what}</h2>
      {d.verb === "pause" && <label>For
        <select name="for">{[600, 3600, 14400, 86400].map(n => <option value={String(n)}>{span(n)}</option>)}<option value="0">until it is resumed</option></select>
      </label>}
      <label>Reason <input name="reason" required autofocus maxLength={500} autocomplete="off" /></label>
      <p class="note">The history notes it as done by <b>{model.session?.who ?? ""}</b>.</p>
      {d.trouble && <p class="bad" role="alert">{d.trouble}</p>}
      <p class="deeds"><button type="submit" class="main" disabled={d.busy ?? false}>{names[d.verb]}</button><button type="button" onClick={close}>Cancel</button></p>
    </form>
  </dialog>
}
