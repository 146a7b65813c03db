import { check, common, keysOf, simply } from "./check.ts";
import type { Known, Problem, Type } from "./check.ts";
import { host } from "./host.ts";

export type { Field, Problem, Type } from "./check.ts";

declare const brand: unique symbol;

/**
 * A value that a resource sends when it has run. Give it to an argument of another resource as it is, or in a text, as in
 * `"pw=" + p.password`: the argument receives the value then. A program can't look at it, because the graph is made before anything runs.
 */
export interface Output<T> {
  readonly [brand]: T;
}

/** An argument: a value, or the output of another resource. A text takes a number, too. */
export type Input<T> = T | Output<T> | (string extends T ? Output<number> | Output<boolean> : never);

/** A text or a file that a provider works with: a file on the machine of the provider, an address, or the text itself. */
export type Asset =
  | { readonly path: string; readonly uri?: never; readonly text?: never }
  | { readonly uri: string; readonly path?: never; readonly text?: never }
  | { readonly text: string; readonly path?: never; readonly uri?: never };

/** A set of files that a provider works with: an archive or a folder on the machine of the provider, or an address. */
export type Archive = { readonly path: string; readonly uri?: never } | { readonly uri: string; readonly path?: never };

/** A resource, or its id, such as "file[/etc/motd]". */
export type Ref = Resource | string;

/** Metaparameters, which every resource has. `mgmt doc meta` describes them. */
export interface Meta {
  readonly [key: string]: unknown;
}

/** What every resource takes beside its own arguments. */
export interface Common {
  /** How the resource is run. */
  readonly meta?: Meta | undefined;
  /** Resources that run after this one. */
  readonly before?: Ref | readonly Ref[] | undefined;
  /** Resources that run before this one. */
  readonly depend?: Ref | readonly Ref[] | undefined;
  /** Resources that run after this one, and are refreshed when it has changed. */
  readonly notify?: Ref | readonly Ref[] | undefined;
  /** Resources that run before this one, and whose changes refresh it. */
  readonly listen?: Ref | readonly Ref[] | undefined;
}

const self: unique symbol = Symbol("resource");

/** What is known of a resource: its kind, its name, and its number in the graph. */
interface Self {
  readonly kind: string;
  readonly name: string;
  readonly number: number;
}

/** The base of all resources. Making one adds it to the graph. */
export abstract class Resource {
  /** The token of the type; the kind is the same in lower case. */
  static readonly token: string = "";

  declare [self]: Self;

  constructor(type: Type, args: object, name?: string) {
    const plan = planOf(new.target as unknown as Class, type);
    const given = args as Record<string, unknown>;
    const own = this as unknown as Record<string, unknown>;
    const value: Record<string, unknown> = {};
    let parts: Parts | undefined; // of values that say more than they are
    let shared = false;
    const keys = keysOf(given);
    for (let i = 0; i < keys.length; i++) { // an iterator costs more than the rest
      const key = keys[i]!;
      const v = given[key];
      if (v === undefined || v === null) continue;
      if (typeof v === plan.simple[key]) {
        own[key] = value[key] = v;
      } else if (common.includes(key)) {
        shared = true;
      } else {
        parts ??= { received: [], needed: [] };
        value[key] = typeof v === "object" ? argument(v, key, type, parts) : v;
        if (!plan.outputs.has(key)) own[key] = v;
      }
    }
    const known = name ?? plan.next();
    const number = host.add(plan.kind, known, plan.depth, value);
    this[self] = { kind: plan.kind, name: known, number };
    if (name !== undefined) own["name"] = name;
    if (parts !== undefined || plan.required) {
      for (const p of check(type, given, knowing)) host.problem(number, p.code, p.path, p.message);
    }
    if (parts !== undefined) {
      for (const [path, from] of parts.received) host.receive(number, path, from.id);
      for (const other of parts.needed) host.link(number, "depend", idOf(other));
    }
    if (shared) together(this, given as Common);
  }

  /** Sets metaparameters. */
  meta(meta: Meta): this {
    host.meta(this[self].number, meta);
    return this;
  }

  /** Has other resources run after this one. */
  before(...others: Ref[]): this {
    return link(this, "before", others);
  }

  /** Has this resource run after others. */
  depend(...others: Ref[]): this {
    return link(this, "depend", others);
  }

  /** Has other resources run after this one, and refreshes them when it has changed. */
  notify(...others: Ref[]): this {
    return link(this, "notify", others);
  }

  /** Has this resource run after others, whose changes refresh it. */
  listen(...others: Ref[]): this {
    return link(this, "listen", others);
  }
}

/** The base of resources with a name of their own. */
export abstract class NamedResource extends Resource {
  declare readonly name: string;

  constructor(type: Type, name: string, args: object) {
    super(type, args, name);
  }
}

function link<R extends Resource>(r: R, how: string, others: readonly Ref[]): R {
  for (const other of others) host.link(r[self].number, how, idOf(other));
  return r;
}

function together(r: Resource, c: Common): void {
  if (c.meta !== undefined && c.meta !== null) r.meta(c.meta);
  for (const how of ["before", "depend", "notify", "listen"] as const) {
    const others = c[how];
    if (others !== undefined && others !== null) link(r, how, Array.isArray(others) ? others : [others as Ref]);
  }
}

/** The sign before the place of an output in a text. */
const begin = "\uE0F0";

/** A value at run time that comes later. In a text it has a mark in its place; it refuses to be looked at. */
class Reference {
  readonly id: string;
  readonly text: boolean;

  constructor(id: string, text: boolean) {
    this.id = id;
    this.text = text;
  }

  [Symbol.toPrimitive](hint: string): string {
    if (hint === "number") return this.toJSON();
    return host.mark("Sent", this.id);
  }

  toString(): string {
    return this[Symbol.toPrimitive]("string");
  }

  toJSON(): never {
    throw new TypeError("the value of " + this.id + " is not known while the graph is made: give the output itself to an argument, or put it into a text");
  }
}

const includes = String.prototype.includes; // the host has it refuse texts with outputs in them

/** Reports whether a text has an output in it. */
function late(v: unknown): boolean {
  return typeof v === "string" && includes.call(v, begin);
}

const knowing: Known = {
  output: (v) => v instanceof Reference,
  late,
  kind: (v) => (v instanceof Resource ? v[self].kind : undefined),
};

/** A class of resources, with what is known of it. */
interface Class {
  readonly token: string;
  readonly sends?: readonly string[];
  readonly texts?: readonly string[];
  readonly prototype: object;
}

interface Plan {
  readonly kind: string;
  readonly depth: number; // constructors between the program and this module
  readonly outputs: ReadonlySet<string>;
  readonly required: boolean; // some of its arguments
  readonly simple: { readonly [key: string]: string }; // what typeof says of values that need no other check
  next(): string; // the name of a resource without one
}

const plans = new Map<Class, Plan>();

function planOf(c: Class, type: Type): Plan {
  let plan = plans.get(c);
  if (plan !== undefined) return plan;
  let depth = 0;
  for (let at: unknown = c; at !== Resource; at = Object.getPrototypeOf(at)) {
    if (/\bconstructor\s*\(/.test(String(at))) depth++; // a class without a constructor makes no call of its own
  }
  const outputs = new Set(c.sends ?? []);
  const texts = new Set(c.texts ?? []);
  for (const f of type.fields ?? []) {
    if (f.role !== "readonly") continue;
    outputs.add(f.key);
    if (f.type.kind === "string") texts.add(f.key);
  }
  for (const key of outputs) {
    Object.defineProperty(c.prototype, key, {
      configurable: true,
      get(this: Resource) {
        return new Reference(idOf(this) + "." + key, texts.has(key));
      },
    });
  }
  const simple: { [key: string]: string } = Object.create(null);
  for (const f of type.fields ?? []) {
    const word = outputs.has(f.key) ? undefined : simply(f.type);
    if (word !== undefined) simple[f.key] = word;
  }
  let count = 0;
  const required = (type.fields ?? []).some((f) => f.required === true);
  plan = { kind: c.token.toLowerCase(), depth, outputs, required, simple, next: () => String(++count) };
  plans.set(c, plan);
  return plan;
}

/** The outputs in arguments with their paths, and the resources in them. */
interface Parts {
  readonly received: [string, Reference][];
  readonly needed: Resource[];
}

/** Returns the value of an argument. One with outputs in texts is made as a whole when they come; its other outputs are marks, too. */
function argument(v: object, key: string, type: Type, parts: Parts): unknown {
  if (v instanceof Reference && !v.text && type.fields?.find((f) => f.key === key)?.type.kind === "string") return String(v);
  const before = parts.received.length;
  const marks = { late: false, all: false };
  const out = plain(v, key, parts, marks, 0);
  if (!marks.late || parts.received.length === before) return out;
  parts.received.length = before;
  return plain(v, key, { received: [], needed: [] }, { late: true, all: true }, 0);
}

/** Returns a value without outputs and resources, which are collected. With marks.all the outputs stay, as marks. */
function plain(v: object, path: string, parts: Parts, marks: { late: boolean; readonly all: boolean }, level: number): unknown {
  if (v instanceof Reference) {
    if (marks.all) return host.mark("Whole", v.id);
    parts.received.push([path, v]);
    return undefined;
  }
  if (v instanceof Resource) {
    parts.needed.push(v);
    return idOf(v);
  }
  if (level > 100) throw new TypeError(path.slice(0, 40) + "... contains itself, or has more than 100 levels");
  const part = (item: unknown, at: string): unknown => {
    if (typeof item === "object" && item !== null) return plain(item, at, parts, marks, level + 1);
    marks.late ||= late(item);
    return item;
  };
  if (Array.isArray(v)) return v.map((item, i) => part(item, path + "[" + i + "]"));
  const proto = Object.getPrototypeOf(v);
  if (proto !== Object.prototype && proto !== null) return v; // the host says what it is
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(v)) out[key] = part((v as Record<string, unknown>)[key], path + "." + key);
  return out;
}

function idOf(r: Ref): string {
  return r instanceof Resource ? r[self].kind + "[" + r[self].name + "]" : String(r);
}

/** Returns all that is wrong with the arguments of a resource, which is not made. */
export function validate(c: { readonly type: Type }, args: object): readonly Problem[] {
  return check(c.type, args, knowing);
}

/** The values that were given to the program: `--var NAME=VALUE`. */
export const inputs: { readonly [name: string]: unknown } = host.inputs;

/** What is said of the graph as a whole. */
export interface Graph {
  /** Its name; the name of the file else. */
  readonly name?: string;
  readonly comment?: string;
  /** Every resource only looks and reports. */
  readonly noop?: boolean;
}

/** Names the graph. */
export function graph(g: Graph): void {
  host.graph(g);
}
