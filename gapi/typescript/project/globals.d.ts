/** What a program says: a line in the log of a daemon, and on standard error where a verb ends by itself. */
interface Console {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}

declare var console: Console;

// Nothing waits: when the program has ended, timers run in the order of their times.
declare function setTimeout<A extends unknown[]>(f: (...args: A) => void, milliseconds?: number, ...args: A): number;
declare function setInterval<A extends unknown[]>(f: (...args: A) => void, milliseconds?: number, ...args: A): number;
declare function setImmediate<A extends unknown[]>(f: (...args: A) => void, ...args: A): number;
declare function clearTimeout(timer: number | undefined): void;
declare function clearInterval(timer: number | undefined): void;
declare function clearImmediate(timer: number | undefined): void;
declare function queueMicrotask(f: () => void): void;

declare function structuredClone<T>(value: T): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;

interface TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array;
}

declare var TextEncoder: { prototype: TextEncoder; new (): TextEncoder };

interface TextDecoder {
  readonly encoding: string;
  decode(bytes?: ArrayBuffer | ArrayBufferView): string;
}

declare var TextDecoder: { prototype: TextDecoder; new (label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder };

interface URLSearchParams {
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(f: (value: string, name: string, all: URLSearchParams) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  toString(): string;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}

declare var URLSearchParams: {
  prototype: URLSearchParams;
  new (init?: string | Record<string, string> | Iterable<readonly [string, string]>): URLSearchParams;
};

interface URL {
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  readonly searchParams: URLSearchParams;
  hash: string;
  toString(): string;
  toJSON(): string;
}

declare var URL: {
  prototype: URL;
  new (address: string | URL, base?: string | URL): URL;
  canParse(address: string | URL, base?: string | URL): boolean;
  parse(address: string | URL, base?: string | URL): URL | null;
};

declare module "path" {
  interface Parts {
    root: string;
    dir: string;
    base: string;
    ext: string;
    name: string;
  }
  interface Path {
    readonly sep: string;
    readonly delimiter: string;
    isAbsolute(path: string): boolean;
    normalize(path: string): string;
    join(...parts: string[]): string;
    resolve(...parts: string[]): string;
    dirname(path: string): string;
    basename(path: string, ending?: string): string;
    extname(path: string): string;
    relative(from: string, to: string): string;
    parse(path: string): Parts;
    format(parts: Partial<Parts>): string;
  }
  const path: Path & { readonly posix: Path };
  export default path;
  export const { sep, delimiter, isAbsolute, normalize, join, resolve, dirname, basename, extname, relative, parse, format, posix }: typeof path;
}

declare module "node:path" {
  export * from "path";
  export { default } from "path";
}

declare module "util" {
  export function inspect(value: unknown, options?: { depth?: number | null }): string;
  export function format(first?: unknown, ...more: unknown[]): string;
  export function isDeepStrictEqual(a: unknown, b: unknown): boolean;
  export function promisify(f: (...args: any[]) => void): (...args: any[]) => Promise<any>;
  export function inherits(c: unknown, of: unknown): void;
  const util: { inspect: typeof inspect; format: typeof format; isDeepStrictEqual: typeof isDeepStrictEqual; promisify: typeof promisify; inherits: typeof inherits };
  export default util;
}

declare module "node:util" {
  export * from "util";
  export { default } from "util";
}
