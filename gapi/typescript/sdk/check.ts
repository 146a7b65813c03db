/** A type, as `mgmt schema --wire` writes it. */
export interface Type {
  readonly kind: string;
  readonly name?: string;
  readonly opaque?: boolean;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly target?: string;
  readonly unsigned?: boolean;
  readonly min?: number | string;
  readonly max?: number | string;
  readonly of?: Type;
  readonly fields?: readonly Field[];
  readonly link?: string;
  readonly [key: string]: unknown;
}

/** One key of a struct. */
export interface Field {
  readonly key: string;
  readonly alias?: string;
  readonly role?: string;
  readonly required?: boolean;
  readonly type: Type;
  readonly [key: string]: unknown;
}

/** What is wrong with an argument. */
export interface Problem {
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

/** Says of a value whether it is an output, whose value comes later, or a resource and of which kind. */
export interface Known {
  output(v: unknown): boolean;
  /** It is a text with an output in it. */
  late(v: unknown): boolean;
  kind(v: unknown): string | undefined;
}

/** Names of keys that every resource has beside its own. */
export const common: readonly string[] = ["meta", "recv", "before", "depend", "notify", "listen"];

/** Returns all that is wrong with arguments: in the order of the type, unknown keys last and by name. */
export function check(type: Type, args: object, known: Known): Problem[] {
  const found: Problem[] = [];
  new Checker(known, found).struct(type, args as Record<string, unknown>, "", [type], common);
  return found;
}

/** Returns what typeof says of the values of a type, if it says enough: every such value is right. */
export function simply(type: Type): string | undefined {
  const bare = type.enum === undefined && type.pattern === undefined && type.min === undefined && type.max === undefined;
  switch (bare && type.opaque !== true ? type.kind : "") {
    case "bool":
      return "boolean";
    case "string":
    case "duration":
    case "size":
    case "mode":
      return "string";
    default:
      return undefined;
  }
}

/** Returns the keys of arguments, with those that an object inherits: what is asked of their values asks for these, too. */
export function keysOf(v: object): string[] {
  const keys = Object.keys(v);
  const from = Object.getPrototypeOf(v);
  if (from !== Object.prototype && from !== null) { // for...in costs more
    for (const key in v) if (!keys.includes(key)) keys.push(key);
  }
  return keys;
}

/** How a value of a kind is called in a message. */
const words: { readonly [kind: string]: string } = {
  bool: "true or false", int: "a whole number", float: "a number", string: "text", duration: "a time such as \"5m\"",
  size: "a size such as \"10MiB\"", mode: "a mode such as \"0644\"", ref: "a resource", list: "a list", map: "a map", struct: "an object",
};

/** What is asked of each value of a struct: the numbers of its fields by their keys, and those of the required ones. */
interface Shape {
  readonly at: ReadonlyMap<string, number>;
  readonly required: readonly number[];
}

const shapes = new Map<Type, Shape>();

function shapeOf(type: Type): Shape {
  let shape = shapes.get(type);
  if (shape === undefined) {
    const at = new Map<string, number>();
    const required: number[] = [];
    (type.fields ?? []).forEach((f, i) => {
      at.set(f.key, i);
      if (f.alias !== undefined) at.set(f.alias, i);
      if (f.required === true) required.push(i);
    });
    shape = { at, required };
    shapes.set(type, shape);
  }
  return shape;
}

class Checker {
  readonly known: Known;
  readonly found: Problem[];

  constructor(known: Known, found: Problem[]) {
    this.known = known;
    this.found = found;
  }

  add(code: string, path: string, message: string): void {
    this.found.push({ code, path, message });
  }

  struct(type: Type, v: Record<string, unknown>, path: string, around: readonly Type[], others: readonly string[]): void {
    const fields = type.fields ?? [];
    const prefix = path === "" ? "" : path + ".";
    const { at, required } = shapeOf(type);
    const asked = required.slice();
    const unknown: string[] = [];
    const keys = keysOf(v);
    for (let k = 0; k < keys.length; k++) {
      const key = keys[k]!;
      const i = at.get(key);
      if (i === undefined) {
        if (!others.includes(key)) unknown.push(key);
      } else if (!asked.includes(i)) {
        asked.push(i);
      }
    }
    asked.sort(ascending);
    for (let k = 0; k < asked.length; k++) {
      const f = fields[asked[k]!]!;
      const given = v[f.key] ?? (f.alias === undefined ? undefined : v[f.alias]);
      if (given === undefined || given === null) {
        if (f.required === true) this.add("V_MISSING", prefix + f.key, "it is required: " + word(f.type));
      } else if (f.role === "readonly") {
        this.add("V_OUT", prefix + f.key, "it is an output, which can only be read; leave it out");
      } else {
        this.value(f.type, given, prefix + f.key, around);
      }
    }
    for (const key of unknown.sort()) this.add("V_UNKNOWN", prefix + key, "there is no such key" + meant(key, fields));
  }

  value(type: Type, v: unknown, path: string, around: readonly Type[]): void {
    if (this.known.output(v) || type.opaque === true) return;
    switch (type.kind) {
      case "any":
        return;
      case "string":
        if (this.known.late(v)) return;
        if (typeof v === "string") return this.text(type, v, path);
        break;
      case "bool":
        if (typeof v === "boolean") return;
        break;
      case "int":
        if (typeof v === "bigint") return;
        if (typeof v === "number" && Number.isInteger(v)) return this.number(type, v, path);
        break;
      case "float":
        if (typeof v === "number" && Number.isFinite(v)) return this.number(type, v, path);
        break;
      case "duration":
      case "size":
      case "mode":
        if (typeof v === "string" || (typeof v === "number" && Number.isInteger(v))) return;
        break;
      case "ref":
        if (this.reference(type, v, path)) return;
        break;
      default:
        if (this.parts(type, v, path, around)) return;
    }
    this.add("V_TYPE", path, "it must be " + word(type) + ", not " + describe(v));
  }

  /** Checks a list, a map or a struct, and reports whether the value is one. */
  parts(type: Type, v: unknown, path: string, around: readonly Type[]): boolean {
    if (typeof v !== "object" || v === null || this.known.kind(v) !== undefined) return false;
    if (type.kind === "list") {
      if (!Array.isArray(v)) return false;
      this.length(type, v.length, path);
      v.forEach((item, i) => this.value(type.of!, item, path + "[" + i + "]", around));
      return true;
    }
    if (Array.isArray(v)) return false;
    const given = v as Record<string, unknown>;
    if (type.kind === "map") {
      const keys = Object.keys(given).sort();
      this.length(type, keys.length, path);
      for (const key of keys) this.value(type.of!, given[key], path + "." + key, around);
      return true;
    }
    const shape = type.link === undefined ? type : around.find((t) => t.name === type.link) ?? type;
    this.struct(shape, given, path, [shape, ...around], []);
    return true;
  }

  reference(type: Type, v: unknown, path: string): boolean {
    if (this.known.late(v)) return false;
    const kind = this.known.kind(v) ?? (typeof v === "string" ? /^([^\[\]]+)\[.+\]$/s.exec(v)?.[1] : undefined);
    if (kind === undefined) return false;
    if (type.target !== undefined && kind !== type.target) {
      this.add("V_REF_TYPE", path, "it must be a resource of the kind " + type.target + ", and this is a " + kind);
    }
    return true;
  }

  text(type: Type, v: string, path: string): void {
    if (type.enum !== undefined && !type.enum.includes(v)) {
      this.add("V_ENUM", path, "it must be one of " + type.enum.join(", "));
    }
    if (type.min !== undefined || type.max !== undefined) this.length(type, [...v].length, path);
    if (type.pattern !== undefined && !new RegExp(type.pattern, "u").test(v)) {
      this.add("V_PATTERN", path, "it must match " + type.pattern);
    }
  }

  number(type: Type, v: number, path: string): void {
    const low = type.min ?? (type.unsigned === true ? 0 : undefined);
    if ((low !== undefined && v < Number(low)) || (type.max !== undefined && v > Number(type.max))) {
      this.add("V_RANGE", path, "it must be " + bounds(low, type.max));
    }
  }

  length(type: Type, n: number, path: string): void {
    if ((type.min !== undefined && n < Number(type.min)) || (type.max !== undefined && n > Number(type.max))) {
      this.add("V_LENGTH", path, "its length must be " + bounds(type.min, type.max));
    }
  }
}

function ascending(a: number, b: number): number {
  return a - b;
}

function bounds(min: unknown, max: unknown): string {
  if (min === undefined) return "at most " + max;
  return max === undefined ? "at least " + min : "from " + min + " to " + max;
}

function word(type: Type): string {
  return type.enum !== undefined ? "one of " + type.enum.join(", ") : words[type.kind] ?? type.kind;
}

function describe(v: unknown): string {
  if (Array.isArray(v)) return "a list";
  switch (typeof v) {
    case "string":
      return "text";
    case "object":
      return "an object";
    default:
      return "a " + typeof v;
  }
}

/** Asks for the key that was probably meant: one with at most two changes. */
function meant(key: string, fields: readonly Field[]): string {
  let best = 3;
  let word = "";
  for (const f of fields) {
    const d = distance(key.toLowerCase(), f.key.toLowerCase());
    if (d < best && d < key.length) {
      best = d;
      word = f.key;
    }
  }
  return word === "" ? "" : "; did you mean " + JSON.stringify(word) + "?";
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
