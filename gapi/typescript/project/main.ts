// A first graph: a folder, a file in it, and a command that runs when the file was changed.
// See what it would do, then have it done and kept so:
//
//     mgmt plan --ts main.ts
//     mgmt run --ts main.ts

import { File } from "mgmt";
import { Counted } from "./counted.ts";

const dir = new File("/tmp/mgmt-first/"); // a path that ends in a slash is a folder

new Counted("greeting", dir, "hello, world\n");
