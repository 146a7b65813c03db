// structuredClone, for the values that a graph can have.
exports.structuredClone = function structuredClone(value) {
  const made = new Map();
  const refused = (v) => new DOMException(`${typeof v === "function" ? "a function" : String(v)} could not be cloned`, "DataCloneError");
  const copy = (v) => {
    if (typeof v === "function" || typeof v === "symbol") throw refused(v);
    if (typeof v !== "object" || v === null) return v;
    if (made.has(v)) return made.get(v);
    const keep = (c) => (made.set(v, c), c);
    if (v instanceof Date) return keep(new Date(v.getTime()));
    if (v instanceof RegExp) return keep(new RegExp(v.source, v.flags));
    if (v instanceof Boolean || v instanceof Number || v instanceof String) return keep(Object(v.valueOf()));
    if (v instanceof ArrayBuffer) return keep(v.slice(0));
    if (ArrayBuffer.isView(v)) {
      const buffer = copy(v.buffer);
      return keep(v instanceof DataView ? new DataView(buffer, v.byteOffset, v.byteLength) : new v.constructor(buffer, v.byteOffset, v.length));
    }
    if (v instanceof Map) {
      const c = keep(new Map());
      for (const [key, item] of v) c.set(copy(key), copy(item));
      return c;
    }
    if (v instanceof Set) {
      const c = keep(new Set());
      for (const item of v) c.add(copy(item));
      return c;
    }
    if (v instanceof Promise || v instanceof WeakMap || v instanceof WeakSet) throw refused(v);
    if (v instanceof Error) {
      const known = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
      const c = keep(new (known[v.name] || Error)(v.message));
      if ("cause" in v) c.cause = copy(v.cause);
      return c;
    }
    const c = keep(Array.isArray(v) ? new Array(v.length) : {});
    for (const key of Object.keys(v)) c[key] = copy(v[key]);
    return c;
  };
  return copy(value);
};
