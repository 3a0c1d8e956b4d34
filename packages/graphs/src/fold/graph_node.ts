import { decodeOnnxLists, isStandard, type OnnxNodeMessage } from '@cudnn-rnn/interop/internal'

/** A node without attributes. */
export function newNode(
  opType: string,
  name: string,
  inputs: readonly string[],
  outputs: readonly string[],
): OnnxNodeMessage {
  return { opType, name, domain: '', inputs, outputs, attributes: new Map() }
}

/** A list of inputs or outputs with a name at a place, which may be beyond its end. */
export function withName(names: readonly string[], place: number, name: string): string[] {
  const length = Math.max(names.length, place + 1)
  return Array.from({ length }, (_, at) => (at === place ? name : (names[at] ?? '')))
}

/** LSTM of ONNX Runtime's own domain, which its quantization writes. */
export const QUANTIZED = 'DynamicQuantizeLSTM'

/** The attributes of a node of the standard; an operator of another domain that is not known is ''. */
export class NodeReader {
  readonly opType: string
  readonly #node: OnnxNodeMessage
  readonly #bytes: Uint8Array

  constructor(node: OnnxNodeMessage, bytes: Uint8Array) {
    this.#node = node
    this.#bytes = bytes
    this.opType = isStandard(node) || node.opType === QUANTIZED ? node.opType : ''
  }

  integer(name: string, otherwise: number): number {
    return this.#node.attributes.get(name)?.i ?? otherwise
  }

  text(name: string, otherwise: string): string {
    return this.#node.attributes.get(name)?.s ?? otherwise
  }

  /** A list of integers. */
  list(name: string): readonly number[] | undefined {
    const { intCount = 0, message } = this.#node.attributes.get(name) ?? {}
    return intCount === 0 ? undefined : decodeOnnxLists('', this.#bytes.subarray(message?.start, message?.end)).ints
  }
}

/** The names that a graph within a node takes from outside, and some that it defines. */
export function namesWithin(node: OnnxNodeMessage): string[] {
  return [...node.attributes.values()].flatMap(({ graph }) => [
    ...(graph?.outputs.map(({ name }) => name) ?? []),
    ...(graph?.nodes.flatMap((inner) => [...inner.inputs, ...namesWithin(inner)]) ?? []),
  ])
}
