// The hosts that share the store.

import { h, Fragment, moment } from "./dom"
import * as api from "./api"
import type { Hosts } from "./api"
import { changed, model } from "./model"

let got: { hosts?: Hosts; trouble?: string; at: number } = { at: 0 }

function load() {
  if (model.link !== "live" || Date.now() - got.at < 15000) return
  got.at = Date.now()
  api.get<Hosts>("/v1/hosts").then(hosts => { got = { hosts, at: got.at } }, (e: Error) => { got = { trouble: e.message, at: got.at } }).finally(changed)
}

export function HostsView() {
  load()
  const list = got.hosts?.hosts ?? []
  return <>
    <h1 tabIndex={-1}>Hosts</h1>
    {got.trouble && <p class="note">{got.trouble}</p>}
    {got.hosts?.incomplete && <p class="bad" role="alert">{got.hosts.incomplete}</p>}
    {got.hosts && !list.length && <p class="none">No host uses the store of this daemon yet. <a href="#/graph">Its own graph</a> is all there is.</p>}
    {list.length > 0 && <div class="wide" tabIndex={0} role="region" aria-label="Hosts"><table>
      <thead><tr><th scope="col">Host</th><th scope="col">State</th><th scope="col">Since</th><th scope="col">Version</th></tr></thead>
      <tbody>{list.map(x => <tr><th scope="row">{x.name}</th><td>{x.state ?? ""}</td><td>{x.since && !x.since.startsWith("0001") ? moment(x.since) : ""}</td><td>{x.version ?? ""}</td></tr>)}</tbody>
    </table></div>}
  </>
}
