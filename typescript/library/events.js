// Events of pages, which packages use to tell of an end.
exports.DOMException = class DOMException extends Error {
  constructor(message = "", name = "Error") {
    super(message);
    Object.defineProperty(this, "name", { value: name, configurable: true });
  }

  get code() {
    return { InvalidCharacterError: 5, DataCloneError: 25, AbortError: 20, TimeoutError: 23 }[this.name] || 0;
  }
};

exports.Event = class Event {
  constructor(type, { cancelable = false } = {}) {
    this.type = String(type);
    this.cancelable = cancelable;
    this.defaultPrevented = false;
    this.target = this.currentTarget = null;
  }

  preventDefault() {
    this.defaultPrevented ||= this.cancelable;
  }
};

exports.EventTarget = class EventTarget {
  #all = [];

  addEventListener(type, listener, options) {
    if (listener && !this.#all.some((l) => l.type === type && l.listener === listener)) {
      this.#all.push({ type, listener, once: Boolean(options && options.once) });
    }
  }

  removeEventListener(type, listener) {
    this.#all = this.#all.filter((l) => l.type !== type || l.listener !== listener);
  }

  dispatchEvent(event) {
    event.target = event.currentTarget = this;
    const on = this["on" + event.type];
    if (typeof on === "function") on.call(this, event);
    for (const l of this.#all.filter((l) => l.type === event.type)) {
      if (l.once) this.removeEventListener(l.type, l.listener);
      if (typeof l.listener === "function") l.listener.call(this, event);
      else l.listener.handleEvent(event);
    }
    return !event.defaultPrevented;
  }
};

exports.AbortSignal = class AbortSignal extends exports.EventTarget {
  aborted = false;
  reason = undefined;
  onabort = null;

  throwIfAborted() {
    if (this.aborted) throw this.reason;
  }

  static abort(reason) {
    const c = new exports.AbortController();
    c.abort(reason);
    return c.signal;
  }

  static timeout(ms) {
    const c = new exports.AbortController();
    setTimeout(() => c.abort(new exports.DOMException("the time is over", "TimeoutError")), ms);
    return c.signal;
  }
};

exports.AbortController = class AbortController {
  signal = new exports.AbortSignal();

  abort(reason = new exports.DOMException("this was aborted", "AbortError")) {
    if (this.signal.aborted) return;
    this.signal.aborted = true;
    this.signal.reason = reason;
    this.signal.dispatchEvent(new exports.Event("abort"));
  }
};
