const custom = Symbol.for("nodejs.util.inspect.custom");
const kind = (v) => Object.prototype.toString.call(v).slice(8, -1);
const key = (k) => (typeof k === "symbol" ? `[${String(k)}]` : /^[A-Za-z_$][\w$]*$/.test(k) ? k : `'${k}'`);

function inspect(v, options = {}, around = []) {
  const { depth = 2 } = options;
  if (typeof v === "string") return `'${v.replace(/\\/g, "\\\\").replace(/'/g, "\\'").replace(/\n/g, "\\n")}'`;
  if (typeof v === "bigint") return `${v}n`;
  if (Object.is(v, -0)) return "-0";
  if (typeof v === "function") return v.toString().startsWith("class") ? `[class ${v.name || "(anonymous)"}]` : `[Function${v.name ? ": " + v.name : " (anonymous)"}]`;
  if (typeof v !== "object" || v === null) return String(v);
  if (typeof v[custom] === "function") {
    const own = v[custom](depth - around.length, options, inspect);
    return typeof own === "string" ? own : inspect(own, options, around);
  }
  if (around.includes(v)) return "[Circular *1]";
  if (v instanceof Error) return v.stack && v.stack.includes(v.message) ? v.stack.trim() : `[${v}]`;
  if (v instanceof RegExp) return String(v);
  if (v instanceof Date) return isNaN(v.getTime()) ? "Invalid Date" : v.toISOString();
  const name = v.constructor ? v.constructor.name : "[Object: null prototype]";
  if (depth !== null && around.length > depth) return Array.isArray(v) ? "[Array]" : `[${name}]`;
  const inner = (item) => inspect(item, options, [...around, v]);
  const pairs = Object.keys(v).filter((k) => !Array.isArray(v) && !ArrayBuffer.isView(v) || !/^\d+$/.test(k)).map((k) => `${key(k)}: ${inner(v[k])}`);
  let list = pairs;
  let [open, close] = ["{", "}"];
  let title = name === "Object" ? "" : name + " ";
  if (Array.isArray(v) || ArrayBuffer.isView(v) && !(v instanceof DataView)) {
    list = [...Array.from(v, inner), ...pairs];
    [open, close] = ["[", "]"];
    title = Array.isArray(v) ? "" : `${name}(${v.length}) `;
  } else if (v instanceof Map) {
    list = [...Array.from(v, ([k, item]) => `${inner(k)} => ${inner(item)}`), ...pairs];
    title = `Map(${v.size}) `;
  } else if (v instanceof Set) {
    list = [...Array.from(v, inner), ...pairs];
    title = `Set(${v.size}) `;
  }
  if (list.length === 0) return title + open + close;
  const line = list.join(", ");
  return line.length > 72 || line.includes("\n") ? `${title}${open}\n  ${list.join(",\n").replace(/\n/g, "\n  ")}\n${close}` : `${title}${open} ${line} ${close}`;
}
inspect.custom = custom;
inspect.defaultOptions = {};

function format(first, ...more) {
  if (typeof first !== "string") return [first, ...more].map((v) => (typeof v === "string" ? v : inspect(v))).join(" ");
  const text = first.replace(/%([sdifjoOc%])/g, (sign, how) => {
    if (how === "%") return "%";
    if (more.length === 0) return sign;
    const v = more.shift();
    switch (how) {
      case "s":
        return typeof v === "object" && v !== null ? inspect(v, { depth: 0 }) : String(v);
      case "d":
        return typeof v === "bigint" ? `${v}n` : String(Number(v));
      case "i":
        return String(parseInt(v, 10));
      case "f":
        return String(parseFloat(v));
      case "j":
        return JSON.stringify(v);
      case "c":
        return "";
    }
    return inspect(v);
  });
  return [text, ...more.map((v) => (typeof v === "string" ? v : inspect(v)))].join(" ");
}

function equal(a, b, seen = []) {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b) || kind(a) !== kind(b)) return false;
  if (seen.some(([x, y]) => x === a && y === b)) return true;
  const next = [...seen, [a, b]];
  if (a instanceof Date || a instanceof Number || a instanceof String || a instanceof Boolean) return Object.is(a.valueOf(), b.valueOf());
  if (a instanceof RegExp) return String(a) === String(b);
  if (a instanceof Error && (a.message !== b.message || a.name !== b.name)) return false;
  if (a instanceof Map) return a.size === b.size && [...a].every(([k, v]) => b.has(k) ? equal(v, b.get(k), next) : [...b].some(([l, w]) => equal(k, l, next) && equal(v, w, next)));
  if (a instanceof Set) return a.size === b.size && [...a].every((v) => b.has(v) || [...b].some((w) => equal(v, w, next)));
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((k) => Object.hasOwn(b, k) && equal(a[k], b[k], next));
}

const is = (name) => (v) => kind(v) === name;
module.exports = {
  inspect,
  format,
  isDeepStrictEqual: (a, b) => equal(a, b),
  inherits(c, of) {
    Object.defineProperty(c, "super_", { value: of, writable: true, configurable: true });
    Object.setPrototypeOf(c.prototype, of.prototype);
  },
  promisify: (f) => function (...args) {
    return new Promise((resolve, reject) => f.call(this, ...args, (err, value) => (err ? reject(err) : resolve(value))));
  },
  callbackify: (f) => function (...args) {
    const done = args.pop();
    f.apply(this, args).then((v) => setTimeout(() => done(null, v)), (e) => setTimeout(() => done(e)));
  },
  deprecate: (f) => f,
  debuglog: () => Object.assign(() => {}, { enabled: false }),
  debug: () => Object.assign(() => {}, { enabled: false }),
  stripVTControlCharacters: (text) => text.replace(/\u001B\[[0-9;]*[A-Za-z]/g, ""),
  isArray: Array.isArray,
  isRegExp: is("RegExp"),
  isDate: is("Date"),
  types: {
    isDate: is("Date"), isRegExp: is("RegExp"), isMap: is("Map"), isSet: is("Set"), isPromise: is("Promise"), isNativeError: is("Error"), isArrayBuffer: is("ArrayBuffer"),
    isAnyArrayBuffer: is("ArrayBuffer"), isUint8Array: is("Uint8Array"), isWeakMap: is("WeakMap"), isWeakSet: is("WeakSet"), isSymbolObject: (v) => typeof v === "object" && is("Symbol")(v),
    isTypedArray: (v) => ArrayBuffer.isView(v) && !(v instanceof DataView), isGeneratorFunction: is("GeneratorFunction"), isAsyncFunction: is("AsyncFunction"),
    isBoxedPrimitive: (v) => typeof v === "object" && v !== null && ["Number", "String", "Boolean", "Symbol", "BigInt"].includes(kind(v)), isProxy: () => false,
  },
  get TextEncoder() {
    return TextEncoder;
  },
  get TextDecoder() {
    return TextDecoder;
  },
};
