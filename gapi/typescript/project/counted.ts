import { Exec, File } from "mgmt";

/** A component is a plain class, or a plain function, that makes resources. */
export class Counted {
  readonly file: File;
  readonly count: Exec;

  constructor(name: string, dir: File, content: string) {
    this.file = new File(`${dir.name}${name}.txt`, { content, mode: "0644", depend: dir });
    this.count = new Exec(`count ${name}`, {
      cmd: `wc -c < ${name}.txt > ${name}.size`,
      shell: "/bin/sh",
      cwd: dir.name,
      refreshonly: true, // it runs for nothing else
      listen: this.file,
    });
  }
}
