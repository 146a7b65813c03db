// Paths of POSIX. A graph has no working folder, so a relative path counts from /.
function normal(parts, absolute) {
  const out = [];
  for (const name of parts) {
    if (name === "" || name === ".") continue;
    if (name !== "..") out.push(name);
    else if (out.length > 0 && out[out.length - 1] !== "..") out.pop();
    else if (!absolute) out.push("..");
  }
  return out.join("/");
}

const checked = (p) => {
  if (typeof p !== "string") throw new TypeError(`a path is text, not ${typeof p}`);
  return p;
};

const path = {
  sep: "/",
  delimiter: ":",
  isAbsolute: (p) => checked(p).startsWith("/"),
  normalize(p) {
    const absolute = checked(p).startsWith("/");
    const out = normal(p.split("/"), absolute);
    return (absolute ? "/" : "") + out + (out !== "" && p.endsWith("/") ? "/" : "") || ".";
  },
  join(...parts) {
    const whole = parts.filter((p) => checked(p) !== "").join("/");
    return whole === "" ? "." : path.normalize(whole);
  },
  resolve(...parts) {
    let whole = "";
    for (const p of parts) if (checked(p) !== "") whole = p.startsWith("/") ? p : whole + "/" + p;
    return "/" + normal(whole.split("/"), true);
  },
  dirname(p) {
    const bare = checked(p).replace(/(?!^)\/+$/, "");
    const at = bare.lastIndexOf("/");
    return at < 0 ? "." : bare.slice(0, at).replace(/(?!^)\/+$/, "") || "/";
  },
  basename(p, ending = "") {
    const bare = checked(p).replace(/\/+$/, "");
    const name = bare.slice(bare.lastIndexOf("/") + 1);
    return ending !== "" && name !== ending && name.endsWith(ending) ? name.slice(0, -ending.length) : name;
  },
  extname(p) {
    const name = path.basename(p);
    const at = name.lastIndexOf(".");
    return at <= 0 || name === ".." ? "" : name.slice(at);
  },
  relative(from, to) {
    const a = path.resolve(from).split("/").filter(Boolean);
    const b = path.resolve(to).split("/").filter(Boolean);
    let same = 0;
    while (same < a.length && same < b.length && a[same] === b[same]) same++;
    return [...a.slice(same).map(() => ".."), ...b.slice(same)].join("/");
  },
  parse(p) {
    const base = path.basename(p);
    const ext = path.extname(base);
    const root = p.startsWith("/") ? "/" : "";
    const dir = path.dirname(p);
    return { root, dir: dir === "." && !p.startsWith(".") ? "" : dir, base, ext, name: ext === "" ? base : base.slice(0, -ext.length) };
  },
  format({ root = "", dir = "", base = "", name = "", ext = "" }) {
    const last = base || name + (ext === "" || ext.startsWith(".") ? ext : "." + ext);
    return dir === "" ? root + last : dir === root ? dir + last : dir + "/" + last;
  },
  toNamespacedPath: (p) => p,
};
path.posix = path;
module.exports = path;
