/** What the program that runs this one offers. It is all that a graph can reach. */
export interface Host {
  /** The values that were given to the program. */
  readonly inputs: { readonly [name: string]: unknown };
  /** Declares a resource at the place in the program that is so many calls away, and returns its number. */
  add(kind: string, name: string, calls: number, value: object): number;
  /** Says that a parameter of a resource receives a value, kind[name].key. */
  receive(resource: number, path: string, from: string): void;
  /** Puts a resource into an order with another one, kind[name]. */
  link(resource: number, how: string, other: string): void;
  /** Sets the metaparameters of a resource. */
  meta(resource: number, value: object): void;
  /** Names the graph as a whole. */
  graph(value: object): void;
  /** Returns the mark of an output, kind[name].key, which stands for its value in a text, or for the value itself. */
  mark(how: "Sent" | "Whole", output: string): string;
  /** Reports what is wrong with a resource. */
  problem(resource: number, code: string, path: string, message: string): void;
}

export const host: Host = (globalThis as unknown as { mgmtHost: Host }).mgmtHost;
