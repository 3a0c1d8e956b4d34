import { concatenate } from '@cudnn-rnn/checkpoint/files'
import type { SliceExtent } from './bundle_messages.js'

/**
 * The key under which one slice of a partitioned tensor lies: OrderedCode's 0, the name, the rank, and start and length
 * of every dimension (0 and -1 for a whole one). Source: tensorflow/core/util/saved_tensor_slice_util.cc and
 * core/lib/strings/ordered_code.cc.
 */
export function sliceKey(name: string, slice: readonly SliceExtent[]): Uint8Array {
  const parts = [numIncreasing(0), stringIncreasing(name), numIncreasing(slice.length)]
  for (const extent of slice) {
    parts.push(signedIncreasing(extent?.start ?? 0), signedIncreasing(extent?.length ?? -1))
  }
  return concatenate(parts)
}

/** Number of bytes, then the value big-endian without leading zeros. */
function numIncreasing(value: number): Uint8Array {
  const bytes: number[] = []
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Uint8Array.from([bytes.length, ...bytes])
}

/** The bytes with 00 and ff escaped, then the terminator 00 01. */
function stringIncreasing(text: string): Uint8Array {
  const bytes: number[] = []
  for (const byte of new TextEncoder().encode(text)) {
    if (byte === 0) bytes.push(0, 0xff)
    else if (byte === 0xff) bytes.push(0xff, 0)
    else bytes.push(byte)
  }
  return Uint8Array.from([...bytes, 0, 1])
}

/**
 * A signed integer whose encodings sort as the integers do: the number of leading ones states how many bytes follow, the
 * rest is two's complement (inverted leading bits for negative values).
 */
function signedIncreasing(value: number): Uint8Array {
  const magnitude = BigInt(value < 0 ? -value - 1 : value)
  // n bytes hold 7n - 1 bits of magnitude beside the length and the sign.
  let length = 1
  while (magnitude >> BigInt(7 * length - 1) > 0n) length++
  const bits = BigInt.asUintN(8 * length, BigInt(value))
  // The header: `length` leading ones (zeros for negative values), which the first bits of the value give way to.
  const ones = ((1n << BigInt(length)) - 1n) << BigInt(8 * length - length)
  const encoded = bits ^ ones
  return Uint8Array.from({ length }, (_, index) => Number((encoded >> BigInt(8 * (length - 1 - index))) & 0xffn))
}
