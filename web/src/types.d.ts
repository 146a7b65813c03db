// What the page uses of its libraries, which come without the types of their projects.

declare module "preact" {
  export type Child = unknown
  export type Props = Record<string, unknown>
  export type Tag = string | ((props: any) => unknown)
  export function h(tag: Tag, props: Props | null, ...children: Child[]): unknown
  export function render(child: Child, into: Element): void
  export const Fragment: (props: object) => unknown
}

declare namespace JSX {
  type Element = any
  interface IntrinsicElements { [tag: string]: any }
  interface IntrinsicAttributes { key?: string | number | undefined }
  interface ElementChildrenAttribute { children: {} }
}

declare module "cytoscape" {
  const cytoscape: (options: object) => any
  export default cytoscape
}

declare module "@dagrejs/dagre" {
  export const Graph: new (options?: object) => any
  export function layout(graph: any): void
}
