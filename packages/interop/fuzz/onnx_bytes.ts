import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

const { LengthDelimited, Varint } = WireType

/** A message of one length-delimited field. */
export function field(number: number, content: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(number, LengthDelimited).bytes(content).finish()
}

export function textField(number: number, text: string): Uint8Array {
  return new BinaryWriter().tag(number, LengthDelimited).string(text).finish()
}

export function numberField(number: number, value: number): Uint8Array {
  return new BinaryWriter().tag(number, Varint).int64(value).finish()
}

/** Messages whose fields follow each other. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const writer = new BinaryWriter()
  for (const part of parts) writer.raw(part)
  return writer.finish()
}

/** TensorProto of float32 zeros in `raw_data`. */
export function tensorMessage(name: string, dims: readonly number[], bytes: number): Uint8Array {
  const sizes = dims.map((size) => numberField(1, size))
  return joined([...sizes, numberField(2, 1), textField(8, name), field(9, new Uint8Array(bytes))])
}

/** NodeProto. */
export function nodeMessage(opType: string, inputs: readonly string[], output: string): Uint8Array {
  return joined([...inputs.map((input) => textField(1, input)), textField(2, output), textField(4, opType)])
}

/** ModelProto whose graph has these nodes and initializers. */
export function modelBytes(nodes: readonly Uint8Array[], initializers: readonly Uint8Array[]): Uint8Array {
  const graph = [...nodes.map((node) => field(1, node)), ...initializers.map((tensor) => field(5, tensor))]
  return joined([numberField(1, 8), field(7, joined(graph))])
}
