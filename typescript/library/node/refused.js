// A module of node that a graph can't have. A package may import it, and fails where it uses it.
const refused = (what) => function () {
  throw new TypeError(what);
};
const all = new Proxy({}, {
  get: (_, name) => (typeof name === "symbol" || name === "__esModule" ? undefined : refused(WHAT)),
});
module.exports = Object.create(all);
