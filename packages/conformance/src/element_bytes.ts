import { bfloat16ToNumber, float16ToNumber, numberToBfloat16, numberToFloat16 } from '@cudnn-rnn/checkpoint/files'

/** Element types of cuDNN, as the raw checks store them on the device. */
export type ElementType = 'float32' | 'float64' | 'float16' | 'bfloat16'

/** The bytes of `values` in `type`, rounded to the nearest. */
export function encoded(values: ArrayLike<number>, type: ElementType): Uint8Array {
  if (type === 'float32') return bytesOf(Float32Array.from(values))
  if (type === 'float64') return bytesOf(Float64Array.from(values))
  const bits = type === 'float16' ? numberToFloat16 : numberToBfloat16
  return bytesOf(Uint16Array.from(values, bits))
}

export function decoded(bytes: Uint8Array, type: ElementType): Float64Array {
  const { buffer } = bytes
  if (type === 'float32') return Float64Array.from(new Float32Array(buffer))
  if (type === 'float64') return new Float64Array(buffer.slice(0))
  const value = type === 'float16' ? float16ToNumber : bfloat16ToNumber
  return Float64Array.from(new Uint16Array(buffer), value)
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)
}
