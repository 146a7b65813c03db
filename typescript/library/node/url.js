module.exports = {
  get URL() {
    return URL;
  },
  get URLSearchParams() {
    return URLSearchParams;
  },
  fileURLToPath(address) {
    const u = new URL(address);
    if (u.protocol !== "file:") throw new TypeError("the address of a file begins with file:");
    return decodeURIComponent(u.pathname);
  },
  pathToFileURL: (path) => new URL("file://" + encodeURI(path.startsWith("/") ? path : "/" + path).replace(/[?#]/g, encodeURIComponent)),
  format: (u) => (typeof u === "string" ? u : u.href),
};
