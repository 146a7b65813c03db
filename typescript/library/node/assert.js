const { inspect, isDeepStrictEqual } = require("util");

class AssertionError extends Error {
  constructor({ message, actual, expected, operator }) {
    super(message || `${inspect(actual)} ${operator} ${inspect(expected)} does not hold`);
    this.name = "AssertionError";
    Object.assign(this, { actual, expected, operator, code: "ERR_ASSERTION" });
  }
}

const check = (operator, holds) => (actual, expected, message) => {
  if (holds(actual, expected)) return;
  throw message instanceof Error ? message : new AssertionError({ message, actual, expected, operator });
};
const ok = (value, message) => check("==", Boolean)(value, true, message);
const assert = Object.assign((value, message) => ok(value, message), {
  AssertionError,
  ok,
  equal: check("==", (a, b) => a == b || Object.is(a, b)),
  notEqual: check("!=", (a, b) => a != b),
  strictEqual: check("===", Object.is),
  notStrictEqual: check("!==", (a, b) => !Object.is(a, b)),
  deepEqual: check("deepEqual", isDeepStrictEqual),
  deepStrictEqual: check("deepStrictEqual", isDeepStrictEqual),
  fail(message) {
    throw message instanceof Error ? message : new AssertionError({ message: message || "this is not to be reached", operator: "fail" });
  },
  throws(f, message) {
    try {
      f();
    } catch {
      return;
    }
    throw new AssertionError({ message: typeof message === "string" ? message : "an exception is missing", operator: "throws" });
  },
});
assert.strict = assert;
module.exports = assert;
