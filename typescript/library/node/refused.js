// A module of node that a graph can't have. A package may import it, and fails where it uses it: also where it takes a value, such as EOL of os, for a text.
const refused = (what) => {
  const fail = function () {
    throw new TypeError(what);
  };
  for (const name of ["toString", "valueOf", "toJSON", Symbol.toPrimitive]) Object.defineProperty(fail, name, { value: fail });
  return fail;
};
const all = new Proxy({}, {
  get: (_, name) => (typeof name === "symbol" || name === "__esModule" ? undefined : refused(WHAT)),
});
module.exports = Object.create(all);
