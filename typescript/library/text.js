// Text in UTF-8 and in Base64.
exports.TextEncoder = class TextEncoder {
  get encoding() {
    return "utf-8";
  }

  encode(text = "") {
    return new Uint8Array(native.encode(String(text)));
  }

  encodeInto(text, into) {
    let read = 0;
    let written = 0;
    for (const char of native.plain(text)) {
      const bytes = this.encode(char);
      if (written + bytes.length > into.length) break;
      into.set(bytes, written);
      written += bytes.length;
      read += char.length;
    }
    return { read, written };
  }
};

exports.TextDecoder = class TextDecoder {
  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    if (!["utf-8", "utf8", "unicode-1-1-utf-8"].includes(String(label).trim().toLowerCase())) {
      throw new RangeError(`a graph decodes text in utf-8 only, not in ${label}`);
    }
    this.encoding = "utf-8";
    this.fatal = Boolean(fatal);
    this.ignoreBOM = Boolean(ignoreBOM);
  }

  decode(bytes = new Uint8Array(), { stream = false } = {}) {
    if (stream) throw new TypeError("a graph decodes whole texts, and no streams");
    const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
    const text = native.decode(view.slice().buffer, this.fatal);
    return !this.ignoreBOM && text.startsWith("\uFEFF") ? text.slice(1) : text;
  }
};

exports.btoa = function btoa(text) {
  const out = native.btoa(String(text));
  if (out === undefined) throw new DOMException("btoa takes characters up to U+00FF: encode the text with TextEncoder", "InvalidCharacterError");
  return out;
};

exports.atob = function atob(text) {
  const out = native.atob(String(text).replace(/[\t\n\f\r ]/g, ""));
  if (out === undefined) throw new DOMException("the text is no Base64", "InvalidCharacterError");
  return out;
};
