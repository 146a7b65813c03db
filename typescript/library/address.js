// URL and URLSearchParams.
const ports = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };
const encode = (text, keep) =>
  Array.from(native.plain(text), (c) => (keep.test(c) ? c : Array.from(new TextEncoder().encode(c), (b) => "%" + b.toString(16).toUpperCase().padStart(2, "0")).join(""))).join("");
const inPath = /[A-Za-z0-9\-._~!$&'()*+,;=:@%/|[\]\\^]/;
const inQuery = /[A-Za-z0-9\-._~!$&()*+,;=:@%/?|[\]\\^`{}]/;
const inHash = /[A-Za-z0-9\-._~!$&'()*+,;=:@%/?|[\]\\^#{}]/;
const inUser = /[A-Za-z0-9\-._~!$&'()*+,%]/;

function unquoted(text) {
  const plain = text.replace(/\+/g, " ");
  if (!/%[0-9A-Fa-f]{2}/.test(plain)) return plain;
  const bytes = [];
  for (let i = 0; i < plain.length; i++) {
    const hex = plain[i] === "%" ? plain.slice(i + 1, i + 3) : "";
    if (/^[0-9A-Fa-f]{2}$/.test(hex)) {
      bytes.push(parseInt(hex, 16));
      i += 2;
    } else {
      const char = String.fromCodePoint(plain.codePointAt(i));
      bytes.push(...new TextEncoder().encode(char));
      i += char.length - 1;
    }
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

class URLSearchParams {
  #list = [];
  #changed = () => {};

  constructor(init = "", changed) {
    if (typeof changed === "function") this.#changed = changed;
    if (typeof init === "object" && init !== null) {
      const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
      for (const pair of pairs) {
        const [name, value, ...more] = pair;
        if (more.length > 0 || Array.from(pair).length !== 2) throw new TypeError("each pair of a query is a name and a value");
        this.#list.push([String(name), String(value)]);
      }
      return;
    }
    for (const part of String(init).replace(/^\?/, "").split("&")) {
      if (part === "") continue;
      const at = part.indexOf("=");
      this.#list.push(at < 0 ? [unquoted(part), ""] : [unquoted(part.slice(0, at)), unquoted(part.slice(at + 1))]);
    }
  }

  get size() {
    return this.#list.length;
  }

  append(name, value) {
    this.#list.push([String(name), String(value)]);
    this.#changed();
  }

  delete(name, value) {
    this.#list = this.#list.filter(([n, v]) => n !== String(name) || (value !== undefined && v !== String(value)));
    this.#changed();
  }

  get(name) {
    const found = this.#list.find(([n]) => n === String(name));
    return found === undefined ? null : found[1];
  }

  getAll(name) {
    return this.#list.filter(([n]) => n === String(name)).map(([, v]) => v);
  }

  has(name, value) {
    return this.#list.some(([n, v]) => n === String(name) && (value === undefined || v === String(value)));
  }

  set(name, value) {
    const at = this.#list.findIndex(([n]) => n === String(name));
    if (at < 0) this.#list.push([String(name), String(value)]);
    else this.#list = this.#list.filter(([n], i) => i <= at || n !== String(name)).map((p, i) => (i === at ? [p[0], String(value)] : p));
    this.#changed();
  }

  sort() {
    this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed();
  }

  forEach(f, self) {
    for (const [name, value] of this.#list) f.call(self, value, name, this);
  }

  *entries() {
    for (const [name, value] of this.#list) yield [name, value];
  }

  *keys() {
    for (const [name] of this.#list) yield name;
  }

  *values() {
    for (const [, value] of this.#list) yield value;
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  toString() {
    const quote = (text) => encode(text, /[A-Za-z0-9*\-._ ]/).replace(/ /g, "+");
    return this.#list.map(([name, value]) => quote(name) + "=" + quote(value)).join("&");
  }
}

class URL {
  #p; // protocol, username, password, hostname, port, pathname, search, hash; opaque: a path that is no list
  #query;

  constructor(address, base) {
    const from = base === undefined ? undefined : new URL(String(base)).#p;
    const text = native.plain(address).trim().replace(/[\t\n\r]/g, "");
    this.#p = parse(text, from);
    if (this.#p === undefined) {
      const e = new TypeError("Invalid URL");
      e.code = "ERR_INVALID_URL";
      e.input = text;
      throw e;
    }
  }

  static canParse(address, base) {
    return URL.parse(address, base) !== null;
  }

  static parse(address, base) {
    native.plain(address);
    try {
      return new URL(address, base);
    } catch {
      return null;
    }
  }

  get href() {
    const p = this.#p;
    const user = p.username === "" && p.password === "" ? "" : p.username + (p.password === "" ? "" : ":" + p.password) + "@";
    return p.protocol + (p.hostname === null ? "" : "//" + user + this.host) + p.pathname + p.search + p.hash;
  }

  set href(text) {
    this.#p = new URL(text).#p;
    this.#query = undefined;
  }

  get origin() {
    const p = this.#p;
    return p.protocol in ports && p.protocol !== "file:" ? p.protocol + "//" + this.host : "null";
  }

  get host() {
    return (this.#p.hostname || "") + (this.#p.port === "" ? "" : ":" + this.#p.port);
  }

  set host(text) {
    const [, name, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?/.exec(native.plain(text));
    this.hostname = name;
    if (port !== undefined) this.port = port;
  }

  get hostname() {
    return this.#p.hostname || "";
  }

  set hostname(text) {
    const name = hostOf(native.plain(text), this.#p.protocol);
    if (name !== undefined && this.#p.hostname !== null) this.#p.hostname = name;
  }

  get port() {
    return this.#p.port;
  }

  set port(text) {
    const port = portOf(native.plain(text), this.#p.protocol);
    if (port !== undefined) this.#p.port = port;
  }

  get protocol() {
    return this.#p.protocol;
  }

  set protocol(text) {
    const [, scheme] = /^([A-Za-z][A-Za-z0-9+\-.]*)/.exec(native.plain(text)) || [];
    if (scheme !== undefined && scheme.toLowerCase() + ":" in ports === this.#p.protocol in ports) this.#p.protocol = scheme.toLowerCase() + ":";
    if (this.#p.port === ports[this.#p.protocol]) this.#p.port = "";
  }

  get username() {
    return this.#p.username;
  }

  set username(text) {
    this.#p.username = encode(text, inUser);
  }

  get password() {
    return this.#p.password;
  }

  set password(text) {
    this.#p.password = encode(text, inUser);
  }

  get pathname() {
    return this.#p.pathname;
  }

  set pathname(text) {
    if (!this.#p.opaque) this.#p.pathname = pathOf(String(text), this.#p.protocol);
  }

  get search() {
    return this.#p.search;
  }

  set search(text) {
    this.#p.search = part("?", String(text).replace(/^\?/, ""), inQuery);
    this.#query = undefined;
  }

  get searchParams() {
    this.#query ||= new URLSearchParams(this.#p.search, () => {
      const text = this.#query.toString();
      this.#p.search = text === "" ? "" : "?" + text;
    });
    return this.#query;
  }

  get hash() {
    return this.#p.hash;
  }

  set hash(text) {
    this.#p.hash = part("#", String(text).replace(/^#/, ""), inHash);
  }

  toString() {
    return this.href;
  }

  toJSON() {
    return this.href;
  }
}

const part = (sign, text, keep) => (text === "" ? "" : sign + encode(text, keep));

function portOf(text, protocol) {
  if (!/^\d*$/.test(text) || Number(text) > 65535) return undefined;
  const port = text === "" ? "" : String(Number(text));
  return port === ports[protocol] ? "" : port;
}

function hostOf(text, protocol) {
  if (/^\[[0-9A-Fa-f:.]+\]$/.test(text)) return text.toLowerCase();
  if (!(protocol in ports)) return /[\s#/<>?@[\\\]^|]/.test(text) ? undefined : encode(text, /[\x21-\x7E]/);
  const name = unquoted(text.replace(/\+/g, "%2B")).toLowerCase();
  if (protocol === "file:" && name === "localhost") return "";
  if (/[^\x00-\x7F]/.test(name)) throw new TypeError(`a graph has no table of letters for the name ${name}: write it in its form with xn--`);
  if (name === "" && protocol !== "file:" || /[\x00-\x20"#%/:<>?@[\\\]^`{|}\x7F]/.test(name)) return undefined;
  if (/(^|\.)\d+\.?$/.test(name)) {
    const list = name.replace(/\.$/, "").split(".");
    return list.length === 4 && list.every((n) => /^(0|[1-9]\d{0,2})$/.test(n) && Number(n) < 256) ? list.join(".") : undefined;
  }
  return name;
}

function pathOf(text, protocol) {
  const special = protocol in ports;
  const out = [];
  const list = (special ? text.replace(/\\/g, "/") : text).replace(/^\//, "").split("/");
  list.forEach((name, i) => {
    const last = i === list.length - 1;
    const dots = name.replace(/%2e/gi, ".");
    if (dots === "..") out.pop();
    else if (dots !== ".") out.push(encode(name, inPath));
    if (last && (dots === ".." || dots === ".")) out.push("");
  });
  return "/" + out.join("/");
}

function parse(text, from) {
  const [, before, query = "", hash = ""] = /^([^?#]*)(\?[^#]*)?(#[^]*)?$/.exec(text);
  const p = { protocol: "", username: "", password: "", hostname: null, port: "", pathname: "", search: part("?", query.slice(1), inQuery), hash: part("#", hash.slice(1), inHash), opaque: false };
  const scheme = /^([A-Za-z][A-Za-z0-9+\-.]*):/.exec(before);
  let rest = before;
  if (scheme) {
    p.protocol = scheme[1].toLowerCase() + ":";
    rest = before.slice(scheme[0].length);
  } else {
    if (from === undefined || from.opaque && (before !== "" || query !== "")) return undefined;
    p.protocol = from.protocol;
  }
  const special = p.protocol in ports;
  if (special) rest = rest.replace(/\\/g, "/");
  if (scheme && special && p.protocol !== "file:" && !rest.startsWith("//") && !(from && from.protocol === p.protocol)) rest = "//" + rest.replace(/^\/+/, "");
  if (special && p.protocol !== "file:" && scheme) rest = rest.replace(/^\/{2,}/, "//");
  if (rest.startsWith("//")) {
    const [, authority, path] = /^\/\/([^/]*)([^]*)$/.exec(rest);
    const at = authority.lastIndexOf("@");
    const [, user, , word] = /^([^:]*)(:([^]*))?$/.exec(at < 0 ? "" : authority.slice(0, at));
    p.username = encode(user, inUser);
    p.password = encode(word || "", inUser);
    const where = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(authority.slice(at + 1));
    if (!where) return undefined;
    p.hostname = hostOf(where[1], p.protocol);
    p.port = portOf(where[2] || "", p.protocol);
    if (p.hostname === undefined || p.port === undefined) return undefined;
    p.pathname = special || path !== "" ? pathOf(path, p.protocol) : "";
    return p;
  }
  if (scheme && !(special && from && from.protocol === p.protocol)) {
    if (p.protocol === "file:") p.hostname = "";
    p.opaque = !special && !rest.startsWith("/");
    p.pathname = p.opaque ? encode(rest, /[\x20-\x7E]/) : pathOf(rest, p.protocol);
    return p;
  }
  for (const key of ["username", "password", "hostname", "port", "opaque"]) p[key] = from[key];
  if (rest === "") {
    p.pathname = from.pathname;
    if (query === "") p.search = from.search;
  } else {
    p.pathname = pathOf(rest.startsWith("/") ? rest : from.pathname.replace(/[^/]*$/, "") + rest, p.protocol);
  }
  return p;
}

exports.URL = URL;
exports.URLSearchParams = URLSearchParams;
