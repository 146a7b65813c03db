#!/usr/bin/env node
// Serves checkouts of repositories to mgmt. It works with the program git.
//
// The argument names a folder whose checkouts list finds. A notified checkout asks its repository for news, so a branch goes on then.
//
// The idempotency key of a checkout is in its own configuration of git, beside the wanted revision. A clone becomes the folder by one rename,
// so no half of one is ever taken for a checkout.

import { execFile } from "node:child_process";
import { constants, watch } from "node:fs";
import { access, mkdir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Failure, Resource, serve } from "../../../sdk/node/mgmt-provider.mjs";

const run = promisify(execFile);

/** Runs git in a folder, and returns its output. Git never asks a person. */
async function git(folder, ...args) {
  try {
    const done = await run("git", ["-C", folder, ...args], { env: { ...process.env, GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" }, maxBuffer: 1 << 26 });
    return done.stdout.trim();
  } catch (e) {
    throw new Failure("unavailable", `git ${args[0]}: ${(e.stderr || e.message).trim()}`);
  }
}

/** Returns the output of git, and "" where it fails. */
const ask = (folder, ...args) => git(folder, ...args).catch(() => "");

const isThere = (path) => access(path, constants.F_OK).then(() => true, () => false);

class Checkout extends Resource {
  constructor(root) {
    super();
    this.root = root;
  }

  check(_call, inputs) {
    const failures = [];
    for (const key of ["repository", "revision"]) {
      if (inputs[key]?.startsWith("-")) {
        failures.push({ path: key, message: "it begins with -, so git would take it for an option" });
      }
    }
    if (inputs.path !== undefined && resolve(inputs.path) !== inputs.path) {
      failures.push({ path: "path", message: `it should be absolute and short, such as ${resolve("/", inputs.path)}` });
    }
    return failures;
  }

  async get(call, inputs) {
    const path = call.id || inputs.path;
    if (!path || !(await isThere(join(path, ".git")))) {
      return null;
    }
    if (!call.id && call.key && (await ask(path, "config", "mgmt.key")) !== call.key) {
      return null;
    }
    call.id = path;
    return shown(path);
  }

  async create(call, inputs) {
    const { path } = inputs;
    if (await isThere(path)) {
      if ((await ask(path, "config", "mgmt.key")) !== call.key) {
        throw new Failure("conflict", `${path} is there already, and mgmt has not made it`);
      }
    } else {
      await mkdir(dirname(path), { recursive: true });
      const part = `${path}.part-${call.key}`;
      await rm(part, { recursive: true, force: true }); // of an earlier try
      await git(dirname(path), "clone", "--quiet", "--no-checkout", "--", inputs.repository, part);
      await git(part, "config", "mgmt.key", call.key);
      await checkout(part, inputs.revision);
      await rename(part, path);
    }
    call.id = path;
    return shown(path);
  }

  async update(call, old, now) {
    const path = call.id;
    if (old.repository !== now.repository) {
      await git(path, "remote", "set-url", "origin", now.repository);
    }
    if (call.refresh || old.repository !== now.repository || !(await commitOf(path, now.revision))) {
      await git(path, "fetch", "--quiet", "--tags", "--prune", "--force", "origin");
    }
    await checkout(path, now.revision);
    return shown(path);
  }

  async delete(call, _properties) {
    if (await isThere(join(call.id, ".git"))) {
      await rm(call.id, { recursive: true, force: true });
    }
  }

  /** The kernel tells of files in the folder, of the head, and of the folder's own end. */
  async watch(call, inputs, running, changed) {
    const path = call.id || inputs.path;
    const open = [];
    const follow = (at, names) => {
      try {
        open.push(watch(at, (_type, name) => (!names || names.includes(name)) && changed()).on("error", changed));
      } catch {
        // It is not there yet. The folder above tells when it is.
      }
    };
    const above = dirname(path);
    follow((await isThere(above)) ? above : "/", undefined);
    follow(path, undefined);
    follow(join(path, ".git"), ["HEAD", "index", "config"]);
    running();
    await new Promise((ended) => call.signal.addEventListener("abort", ended, { once: true }));
    open.forEach((w) => w.close());
  }

  async list() {
    const names = this.root === "" ? [] : await readdir(this.root).catch(() => []);
    const items = [];
    for (const name of names.sort()) {
      const path = join(this.root, name);
      if (!name.includes(".part-") && (await ask(path, "config", "--local", "mgmt.key")) !== "") {
        items.push({ name, id: path, properties: await shown(path) });
      }
    }
    return items;
  }
}

/** Returns the commit that a revision means here; "" for none. A branch means what the repository had when it was asked last. */
async function commitOf(path, revision) {
  for (const name of [`refs/remotes/origin/${revision}`, revision]) {
    const commit = await ask(path, "rev-parse", "--quiet", "--verify", "--end-of-options", `${name}^{commit}`);
    if (commit !== "") {
      return commit.split("\n").pop();
    }
  }
  return "";
}

async function checkout(path, revision) {
  const commit = await commitOf(path, revision);
  if (commit === "") {
    throw new Failure("invalid", `the repository has no ${revision}`, { failures: [{ path: "revision", message: "there is no such revision" }] });
  }
  await git(path, "checkout", "--quiet", "--force", "--detach", commit);
  await git(path, "config", "mgmt.revision", revision);
}

/** Returns a checkout as properties. The revision is the wanted one where its commit is there, and no file of it has changed. */
async function shown(path) {
  const [commit, repository, revision, changes] = await Promise.all([
    git(path, "rev-parse", "HEAD"), ask(path, "remote", "get-url", "origin"), ask(path, "config", "mgmt.revision"),
    ask(path, "status", "--porcelain", "--untracked-files=no"),
  ]);
  const is = changes !== "" ? `${commit} with changes` : (await commitOf(path, revision)) === commit ? revision : commit;
  return { path, repository, revision: is, commit };
}

serve({
  name: "git", version: "1.0.0", schema: fileURLToPath(new URL("schema.json", import.meta.url)),
  resources: { "git:index:Checkout": new Checkout(process.argv[2] ?? "") },
});
