// What has happened, the newest first.

import { h, Fragment, fit, moment, plural } from "./dom"
import type { Event } from "./api"
import { changed, model, older, slowly } from "./model"
import { Rows } from "./rows"
import { go, href } from "./route"

const filter = { text: "", kind: "" }

// kinds are the outcomes in the words of a person.
export const kinds: Record<string, string[]> = {
  changes: ["changed", "would-change", "recovered"], failures: ["failed", "refused"], holds: ["held", "paused", "resumed", "approved", "rejected", "retried"], graphs: ["graph", "refused", "started", "stopped"],
}

// summary says an event in one line.
export function summary(e: Event): string {
  switch (e.outcome) {
    case "graph": return e.graph ? `${e.graph.name}: ${e.graph.added} added, ${e.graph.changed} changed, ${e.graph.removed} removed` : ""
    case "changed": return (e.changes ?? []).map(c => c.field ?? c.verb ?? "").join(", ") + (e.by ? (e.changes?.length ? ", " : "") + "after " + e.by : "")
    case "held": case "rejected": return (e.held?.reason ?? "") + (e.by ? " by " + e.by : "")
    case "paused": return (e.by ? "by " + e.by : "") + (e.pause?.reason ? ": " + e.pause.reason : "")
    case "dropped": return plural(e.dropped ?? 0, "event") + " came too fast to be kept"
  }
  return e.error ?? ((e.by ? "by " + e.by : "") + (e.reason ? ": " + e.reason : ""))
}

export function LogView() {
  const wanted = kinds[filter.kind]
  const words = filter.text.toLowerCase()
  const list = !wanted && !words ? model.events
    : slowly("log", filter.kind + words, () => model.events.filter(e => (!wanted || wanted.includes(e.outcome)) && (!words || (e.outcome + " " + (e.resource ?? "") + " " + summary(e)).toLowerCase().includes(words))))
  return <>
    <div class="tools">
      <label class="search"><span class="out">Search the log</span><input type="search" placeholder="Search the log" value={filter.text} onInput={(e: InputEvent) => {
        filter.text = (e.currentTarget as HTMLInputElement).value
        changed()
      }} /></label>
      <label><span class="out">Kind</span><select value={filter.kind} onChange={(e: globalThis.Event) => {
        filter.kind = (e.currentTarget as HTMLSelectElement).value
        changed()
      }}><option value="">all events</option>{Object.keys(kinds).map(k => <option value={k}>{k}</option>)}</select></label>
    </div>
    <div class="line"><p role="status">{plural(list.length, "event")}</p>{model.older && <button type="button" onClick={() => void older()}>Load older ones</button>}</div>
    <Rows name="log" label="Events" items={list} newest end={() => void older()}
      open={e => go(e.resource && e.resource !== "" ? href.resource(e.resource) : href.time(e.id ?? 0))}
      row={e => <><time class="at" dateTime={e.at}>{moment(e.at)}</time><span class={"state o-" + e.outcome}>{e.outcome}</span><span class="name">{fit(e.resource ?? "")}</span><span class="why">{summary(e)}</span></>} />
  </>
}
