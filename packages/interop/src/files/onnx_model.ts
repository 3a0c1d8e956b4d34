import type { StoredTensor } from '../stored_tensor.js'
import type { OnnxAttribute, OnnxFunctionMessage, OnnxNodeMessage } from './onnx_messages.js'

/** A graph: of its nodes those that are recurrent, that call functions or hold graphs, and that shape constants. */
export interface OnnxGraph {
  readonly nodes: readonly OnnxNodeMessage[]
  /** Initializers and the values of `Constant` nodes. */
  readonly constants: ReadonlyMap<string, StoredTensor>
  readonly outputs: readonly string[]
  /** Graphs in attributes of nodes: branches and bodies. */
  readonly inner: ReadonlyMap<OnnxAttribute, OnnxGraph>
}

export interface OnnxFunction extends OnnxGraph, Pick<OnnxFunctionMessage, 'inputs' | 'defaults'> {}

/** A model as far as its recurrent nodes need it. */
export interface OnnxModel {
  readonly graph: OnnxGraph
  /** By {@link functionKey}. */
  readonly functions: ReadonlyMap<string, OnnxFunction>
  tensorOf(attribute: OnnxAttribute): StoredTensor | undefined
  /** The lists of numbers that an attribute holds. */
  listsOf(attribute: OnnxAttribute): Promise<{ readonly floats: Float32Array; readonly ints: readonly number[] }>
  /** Size of the file and of those beside it that are open. */
  heldBytes(): number
}

/** The fields that a call and a function share. */
export function functionKey(domain: string, name: string): string {
  return `${domain}\0${name}`
}
