// Programs that serve kinds of resources to mgmt: providers.
//
// A provider extends Resource for each of its types, and calls serve:
//
//	class Note extends Resource {
//	  async get(call, inputs) { ... }
//	}
//	serve({name: "notes", version: "1.0.0", schema: "schema.json", resources: {"notes:index:Note": new Note()}});
//
// This file needs Node 18 and nothing else. An author copies it into the program.
//
// Laws:
//
// - Methods may be called while others wait. mgmt has at most one call for each resource, besides watch.
// - Properties are plain JSON values. A property that is absent has no key. They were checked against the schema.
// - create with the same call.key again returns the thing that the first call has made.
// - get returns null where there is no such thing. That is no error.
// - An exception that is no Failure is an error of its call with the code internal. Its stack goes to the log.
// - The program ends when the standard input ends, so no provider outlives mgmt.
// - Standard output and standard error are logs.

import { createHash, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { Socket, createServer } from "node:net";

const versions = { min: 1, max: 1 }; // of the protocol, both inclusive
const maxMessage = 16 << 20; // bytes of one line

/**
 * An answer that is no result. The codes are those of provider/protocol: invalid, unavailable, conflict, denied, internal. The further
 * keys are failures, and id, properties and private of a thing that was made or changed in spite of the error.
 */
export class Failure extends Error {
  constructor(code, message, more = {}) {
    super(message);
    this.code = code;
    this.more = more;
  }
}

/** What a call is about. create sets id, get may set it, and each method may set private. */
export class Call {
  constructor(params) {
    this.token = params.token ?? "";
    this.name = params.name ?? ""; // of the resource in the graph
    this.id = params.id ?? ""; // the provider's own name of the thing; empty where none is known
    this.key = params.key ?? ""; // the idempotency key of its creation; the same for each try
    this.private = params.private ?? ""; // text that mgmt keeps for the provider, and does not show
    this.refresh = params.refresh ?? false; // in update: another resource has notified this one
    this.pending = params.pending ?? []; // in check: keys whose values are not known yet
    this.changed = params.changed ?? []; // in diff: the keys that differ
    this.controller = new AbortController();
  }

  /** Ends when mgmt needs no answer any more. */
  get signal() {
    return this.controller.signal;
  }
}

/** The work on one type. An author overrides create, get, update and delete at least. Each method may be async. */
export class Resource {
  /** Returns the faults of inputs that fit the schema, as {path, message}. It may fill in defaults. */
  check(_call, _inputs) {
    return [];
  }

  /** Returns {replaces: [...], ignore: [...]}: keys of call.changed with another meaning than that of the schema. */
  diff(_call, _old, _now) {
    return {};
  }

  /** Makes the thing, sets call.id, and returns inputs and outputs. */
  create(_call, _inputs) {
    throw new Failure("unimplemented", "it cannot be created");
  }

  /**
   * Returns the thing as it is, or null. Without call.id it looks for the thing that was made with call.key, else for the thing
   * that the inputs name. It sets call.id.
   */
  get(_call, _inputs) {
    throw new Failure("unimplemented", "it cannot be read");
  }

  /** Changes the thing, and returns inputs and outputs. */
  update(_call, _old, _now) {
    throw new Failure("unimplemented", "it cannot be changed");
  }

  /** Removes the thing. It is no error where there is none. */
  delete(_call, _properties) {
    throw new Failure("unimplemented", "it cannot be removed");
  }

  /**
   * Calls running once, when no later change goes unseen, and changed whenever the thing may have changed. It returns when
   * call.signal ends.
   */
  watch(_call, _inputs, _running, _changed) {
    throw new Failure("unimplemented", "it cannot be watched");
  }

  /** Returns {name, id, properties} of each thing of the type. */
  list() {
    throw new Failure("unimplemented", "it cannot be listed");
  }
}

/**
 * Answers mgmt until the standard input ends, and ends the program then. It is called once. version is that of the program, and
 * that of the schema where it is left out. schema is the path of the schema file;
 * resources has a Resource for each token. configure is called once with the settings of the descriptor, before any call
 * about a resource.
 */
export function serve({ name, version, schema, resources, configure = () => {} }) {
  const provider = new Provider(name, version, readFileSync(schema), resources, configure);
  const listen = process.env.MGMT_PLUGIN_LISTEN ?? "";
  if (listen !== "") {
    listenOn(provider, listen);
    return;
  }
  let stream;
  try {
    stream = new Socket({ fd: 3 });
  } catch {
    quit("this program is a provider, which mgmt starts: put a descriptor of it into the folder of --plugins, or try it with: mgmt plugin test PROGRAM");
  }
  process.stdin.on("end", () => process.exit(0)).on("error", () => process.exit(0)).resume();
  new Line(provider, stream, () => process.exit(0));
}

function quit(message) {
  console.error(message);
  process.exit(1);
}

/** Serves each connection to a socket of its own user, for a debugger. */
function listenOn(provider, at) {
  if (!at.startsWith("unix:")) {
    quit(`MGMT_PLUGIN_LISTEN is ${JSON.stringify(at)}, and should be unix:PATH`);
  }
  const old = process.umask(0o177);
  createServer((stream) => new Line(provider, stream, () => {})).listen(at.slice("unix:".length), () => process.umask(old));
}

/** A provider that fits its schema. */
class Provider {
  constructor(name, version, text, resources, configure) {
    const doc = JSON.parse(text.toString());
    Object.assign(this, { name, version: version || doc.version, resources, configure, text: text.toString() });
    this.hash = createHash("sha256").update(text).digest("hex");
    this.token = process.env.MGMT_PLUGIN_TOKEN ?? "";
    this.types = new Map(doc.types.map((t) => [t.token, t.schema.type]));
    const served = Object.keys(resources).sort().join(", ");
    const wanted = [...this.types.keys()].sort().join(", ");
    if (served !== wanted) {
      quit(`the schema has the types ${wanted}, and the program serves ${served}`);
    }
  }

  /** Returns the answer to one question, or throws. */
  async answer(method, params, call, event) {
    if (!Object.hasOwn(methods, method)) {
      throw new Failure("unimplemented", `there is no method ${JSON.stringify(method)}`);
    }
    return methods[method](this, params, call, event);
  }

  /** Returns the result or the error of a call, as a message has it. */
  async outcome(method, params, call, event) {
    try {
      return { result: await this.answer(method, params, call, event) };
    } catch (e) {
      if (e instanceof Failure) {
        return { error: { code: e.code, message: e.message, ...e.more } };
      }
      console.error(e);
      return { error: { code: call.signal.aborted ? "canceled" : "internal", message: String(e) } };
    }
  }

  resource(call) {
    if (!Object.hasOwn(this.resources, call.token)) {
      throw new Failure("invalid", `there is no type ${JSON.stringify(call.token)} here: there are ${[...this.types.keys()].join(", ")}`);
    }
    return this.resources[call.token];
  }
}

/** The methods by their names on the wire. */
const methods = {
  handshake(p, params) {
    const given = createHash("sha256").update(params.token ?? "").digest();
    if (!timingSafeEqual(given, createHash("sha256").update(p.token).digest())) {
      throw new Failure("denied", "the token is not the one of MGMT_PLUGIN_TOKEN");
    }
    const { min = 0, max = 0 } = params.protocols ?? {};
    const version = Math.min(max, versions.max);
    if (version < Math.max(min, versions.min)) {
      throw new Failure("invalid", `mgmt speaks the protocol versions ${min} to ${max}, and the provider ${p.name} speaks ${versions.min} to ${versions.max}`);
    }
    return { protocol: version, name: p.name, version: p.version, schema_hash: p.hash, features: ["batch", "list", "watch"] };
  },
  schema: (p) => ({ schema: p.text }),
  async configure(p, params) {
    await p.configure(params.config ?? {});
    return {};
  },
  async check(p, params, call) {
    const inputs = plain(params.properties);
    const resource = p.resource(call);
    let failures = faults(p.types.get(call.token), inputs).filter((f) => !call.pending.includes(f.path));
    if (failures.length === 0) {
      failures = (await resource.check(call, inputs)) ?? [];
    }
    return failures.length > 0 ? { failures } : { properties: inputs };
  },
  diff: async (p, params, call) => (await p.resource(call).diff(call, plain(params.old), plain(params.new))) ?? {},
  async get(p, params, call) {
    const properties = await p.resource(call).get(call, plain(params.properties));
    return properties == null ? { found: false } : { found: true, id: call.id, properties, private: call.private };
  },
  async create(p, params, call) {
    const properties = await p.resource(call).create(call, plain(params.properties));
    return { id: call.id, properties, private: call.private };
  },
  async update(p, params, call) {
    const properties = await p.resource(call).update(call, plain(params.old), plain(params.new));
    return { properties, private: call.private };
  },
  async delete(p, params, call) {
    await p.resource(call).delete(call, plain(params.properties));
    return {};
  },
  list: async (p, _params, call) => ({ items: await p.resource(call).list() }),
  async watch(p, params, call, event) {
    await p.resource(call).watch(call, plain(params.properties), () => event("running"), () => event("changed"));
    return {};
  },
  async batch(p, params, call, event) {
    p.resource(call);
    const outcomes = [];
    for (const one of params.calls ?? []) {
      outcomes.push(await p.outcome(one.method, one.params, new Call(one.params), event));
    }
    return { outcomes };
  },
  shutdown: () => ({}),
};

/** One connection. It reads questions, and answers each as soon as it can. */
class Line {
  constructor(provider, stream, ended) {
    Object.assign(this, { provider, stream, calls: new Map(), rest: [], size: 0 });
    stream.on("data", (chunk) => this.take(chunk));
    stream.on("error", () => {}); // close follows
    stream.on("close", () => {
      for (const call of this.calls.values()) {
        call.controller.abort();
      }
      ended();
    });
  }

  /** Takes bytes, of which a line may need several pieces. A line that is too long, or no message, ends the connection. */
  take(chunk) {
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10)) {
      this.rest.push(chunk.subarray(0, end));
      const text = Buffer.concat(this.rest).toString();
      [this.rest, this.size, chunk] = [[], 0, chunk.subarray(end + 1)];
      try {
        this.read(JSON.parse(text));
      } catch (e) {
        console.error(`a line of ${text.length} characters is no message`);
        this.stream.destroy();
        return;
      }
    }
    this.rest.push(chunk);
    this.size += chunk.length;
    if (this.size > maxMessage) {
      this.stream.destroy();
    }
  }

  read(message) {
    if (message.cancel) {
      this.calls.get(message.cancel)?.controller.abort();
    } else if (message.method) {
      this.answer(message.id, message.method, message.params ?? {});
    }
  }

  async answer(id, method, params) {
    const call = new Call(params);
    this.calls.set(id, call);
    const out = await this.provider.outcome(method, params, call, (type) => this.write({ id, event: { type } }));
    this.calls.delete(id);
    this.write({ id, ...out });
  }

  write(message) {
    let text = JSON.stringify(message);
    if (Buffer.byteLength(text) >= maxMessage) {
      text = JSON.stringify({ id: message.id, error: { code: "internal", message: `the answer has more than ${maxMessage >> 20} MiB` } });
    }
    if (!this.stream.destroyed) {
      this.stream.write(text + "\n");
    }
  }
}

/** Leaves out the properties that are null: absent and null are the same. */
function plain(value = {}) {
  if (Array.isArray(value)) {
    return value.map((v) => plain(v));
  }
  if (value === null || typeof value !== "object") {
    return value;
  }
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== null).map(([k, v]) => [k, plain(v)]));
}

const isMap = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const isText = (v) => typeof v === "string";
const isTextOrNumber = (v) => isText(v) || Number.isInteger(v);

/** What a value of each kind of type looks like. */
const shapes = {
  any: () => true, bool: (v) => typeof v === "boolean", int: Number.isInteger, float: Number.isFinite, string: isText, ref: isText,
  duration: isTextOrNumber, size: isTextOrNumber, mode: isTextOrNumber, list: Array.isArray, map: isMap, struct: isMap,
};

/** Returns the faults of a value by its type, as {path, message}. mgmt has judged formats already. */
export function faults(type, value, path = "", structs = {}) {
  if (!shapes[type.kind](value)) {
    return [{ path, message: `it should be a value of the kind ${type.kind}` }];
  }
  switch (type.kind) {
    case "struct":
      return structFaults(type.link ? structs[type.link] : type, value, path, structs);
    case "list":
      return [...bounds(type, value.length, path), ...value.flatMap((v, i) => faults(type.of, v, `${path}[${i}]`, structs))];
    case "map":
      return [...bounds(type, Object.keys(value).length, path), ...Object.entries(value).flatMap(([k, v]) => faults(type.of, v, `${path}[${k}]`, structs))];
    case "string":
      if (type.enum && !type.enum.includes(value)) {
        return [{ path, message: `it should be one of ${type.enum.join(", ")}` }];
      }
      if (type.pattern && !new RegExp(type.pattern).test(value)) {
        return [{ path, message: `it does not match ${type.pattern}` }];
      }
      return bounds(type, [...value].length, path);
    case "int":
    case "float":
      return bounds(type, value, path);
  }
  return [];
}

function structFaults(type, value, path, structs) {
  const within = type.name ? { ...structs, [type.name]: type } : structs;
  const fields = new Map((type.fields ?? []).map((f) => [f.key, f]));
  const prefix = path === "" ? "" : `${path}.`;
  const out = [];
  for (const [key, v] of Object.entries(value)) {
    const field = fields.get(key);
    if (!field) {
      out.push({ path: prefix + key, message: "there is no such property" });
    } else if (field.role === "readonly" && path === "") {
      out.push({ path: prefix + key, message: "it is an output, and can't be given" });
    } else {
      out.push(...faults(field.type, v, prefix + key, within));
    }
  }
  for (const [key, f] of fields) {
    if (f.required && !Object.hasOwn(value, key)) {
      out.push({ path: prefix + key, message: "it is missing" });
    }
  }
  return out;
}

function bounds(type, value, path) {
  if (type.min !== undefined && value < type.min) {
    return [{ path, message: `${value} is less than ${type.min}` }];
  }
  if (type.max !== undefined && value > type.max) {
    return [{ path, message: `${value} is more than ${type.max}` }];
  }
  return [];
}
