import type { Random } from '@cudnn-rnn/fuzzing'

/** Names with which programs trip: of prototypes, of control sequences, of other places, too long. */
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '',
  '.',
  '..',
  '/',
  '../../etc/passwd',
  'a\0b',
  '\x1b]0;owned\x07\x1b[2J',
  'row\nfake row',
  '\u009b31m',
  '\u202egnp',
  'x'.repeat(300),
  'x'.repeat(5000),
  'arr_0',
  'weight_ih_l99999999999999999999',
  '__metadata__',
  '__msgpack_chunked_array__',
]

/** Names of the tensors of recurrent networks, by convention. */
const TENSORS = [
  'weight_ih_l0',
  'weight_hh_l0',
  'bias_ih_l0',
  'bias_hh_l0',
  'weight_hr_l0',
  'weight_ih_l0_reverse',
  'weight_hh_l1',
  'lstm_cell/kernel',
  'lstm_cell/bias',
  'multi_rnn_cell/cell_0/basic_lstm_cell/kernel',
  'ii/kernel',
  'hf/kernel',
  'hz/kernel',
  'h/kernel',
  'kernel',
  'recurrent_kernel',
  'bias',
  'layers/lstm/cell/vars/0',
  'layers/lstm/cell/vars/1',
  'layer_0/forward/weight_0',
  'opaque_kernel',
  'CudnnRNNParamsToCanonical:0',
]

/** A name of a tensor, often one of a network that others of the file belong to. */
export function someName(random: Random): string {
  if (random.chance(0.15)) return random.pick(NAMES)
  const separator = random.pick(['.', '/'])
  const prefix = random.chance(0.6) ? `n${random.below(3)}${separator}` : ''
  return `${prefix}${random.pick(TENSORS)}`
}

/** A dimension: small, mostly such that gates fit, or absurd. */
export function someSize(random: Random): number {
  if (random.chance(0.8)) return random.pick([1, 2, 3, 4, 6, 8, 12, 16])
  return random.pick([0, 1, 5, 1000, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1])
}

export function someShape(random: Random): number[] {
  return Array.from({ length: random.pick([0, 1, 1, 2, 2, 2, 3, 3, 9]) }, () => someSize(random))
}

/** Elements of `shape`, if that is a number of bytes worth writing; else a few. */
export function bytesFor(shape: readonly number[], elementBytes: number, random: Random): Uint8Array {
  const size = shape.reduce((product, length) => product * length, elementBytes)
  return new Uint8Array(size <= 2 ** 16 && random.chance(0.9) ? size : random.below(64))
}
