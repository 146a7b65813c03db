// A function, and no class: older packages call it on objects of their own.
const all = new WeakMap(); // an emitter's listeners by the names of events, each with the function that was given

function of(emitter, name) {
  const lists = all.get(emitter);
  return (lists && lists.get(name)) || [];
}

function put(emitter, name, list) {
  if (!all.has(emitter)) all.set(emitter, new Map());
  all.get(emitter).set(name, list);
  return emitter;
}

function checked(f) {
  if (typeof f !== "function") throw new TypeError("a listener is a function");
  return f;
}

function EventEmitter() {}
EventEmitter.EventEmitter = EventEmitter;
EventEmitter.defaultMaxListeners = 10;
EventEmitter.once = (emitter, name) =>
  new Promise((resolve, reject) => {
    emitter.once(name, (...args) => resolve(args));
    if (name !== "error") emitter.once("error", reject);
  });

Object.assign(EventEmitter.prototype, {
  on(name, f) {
    return put(this, name, [...of(this, name), { given: checked(f), f }]);
  },
  prependListener(name, f) {
    return put(this, name, [{ given: checked(f), f }, ...of(this, name)]);
  },
  once(name, given) {
    const emitter = this;
    checked(given);
    return put(this, name, [...of(this, name), { given, f(...args) {
      emitter.removeListener(name, given);
      given.apply(emitter, args);
    } }]);
  },
  removeListener(name, f) {
    const list = of(this, name);
    const at = list.map((l) => l.given).lastIndexOf(f);
    return at < 0 ? this : put(this, name, list.filter((_, i) => i !== at));
  },
  removeAllListeners(name) {
    if (name === undefined) all.delete(this);
    else put(this, name, []);
    return this;
  },
  emit(name, ...args) {
    const list = of(this, name);
    if (list.length === 0 && name === "error") throw args[0] instanceof Error ? args[0] : new Error("nothing listens to this error: " + args[0]);
    for (const l of list) l.f.apply(this, args);
    return list.length > 0;
  },
  listeners(name) {
    return of(this, name).map((l) => l.given);
  },
  listenerCount(name) {
    return of(this, name).length;
  },
  eventNames() {
    return [...(all.get(this) || new Map())].filter(([, list]) => list.length > 0).map(([name]) => name);
  },
  setMaxListeners() {
    return this;
  },
  getMaxListeners() {
    return Infinity;
  },
});
EventEmitter.prototype.addListener = EventEmitter.prototype.on;
EventEmitter.prototype.off = EventEmitter.prototype.removeListener;
module.exports = EventEmitter;
