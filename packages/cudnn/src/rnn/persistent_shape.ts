import { numGates, type RnnDescriptor } from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/ops/executor'
import type { Arithmetic } from '../device/precision.js'

/** How a persistent kernel divides a layer among the blocks of a grid: the macros of native/cudnn/kernels/persistent.cu. */
export interface PersistentShape {
  /** Units of a block; there are `blocks` of them. */
  readonly units: number
  readonly warps: number
  /** Batch rows of a block; there are `groups` of them. */
  readonly rows: number
  readonly blocks: number
  readonly groups: number
  /** Shared memory of a block. */
  readonly forwardBytes: number
  readonly backwardBytes: number
}

/** The numbers of CELL. */
export const PERSISTENT_CELLS = { lstm: 0, gru: 1, rnn_tanh: 2, rnn_relu: 3 } as const
/** The numbers of KIND. */
export const PERSISTENT_KINDS = { float32: 0, bfloat16: 1, tf32: 2, float16: 3 } as const

/** ld.relaxed needs the first, tensor cores for these types the second. */
const LEAST_CAPABILITY = { fma: 75, tensorCores: 80 } as const
/** Shared memory of a block on every GPU from these on. */
const MOST_SHARED_BYTES = 96 * 2 ** 10
const REGISTERS_OF_MULTIPROCESSOR = 2 ** 16
const MOST_REGISTERS_OF_THREAD = 255
/** Registers of a thread beside its weights, the words that it fetched, its sums and its items, as ptxas used them. */
const OTHER_REGISTERS = { fma: 80, tensorCores: 60 } as const
const REGISTERS_OF_ITEM = 12
/** More items unroll into more code than the cache of instructions holds. */
const MOST_ITEMS = 4

/** A pass's product: `out` rows of weights of a block, by `columns`. */
interface Product {
  readonly registers: number
  readonly sharedBytes: number
}

/** The needs of a product in the kernel; undefined if its columns cannot be divided among the lanes. */
function product(
  { bytes, precision }: Arithmetic,
  { warps, rows }: { readonly warps: number; readonly rows: number },
  out: number,
  columns: number,
): Product | undefined {
  const ofWarp = columns / warps
  const sums = 2 * warps * rows * out * 4
  if (precision === 'float32') {
    // Lanes that share a row.
    const share = out > 16 ? 1 : out > 8 ? 2 : out > 4 ? 4 : out > 2 ? 8 : 16
    if (ofWarp % (4 * share) !== 0) return undefined
    const ofLane = Math.ceil((out * share) / 32)
    const fetched = rows * Math.ceil(ofWarp / 128) * 4
    return { registers: ofLane * (ofWarp / share + rows) + fetched, sharedBytes: sums + rows * columns * 4 }
  }
  const chunk = 64 / bytes
  if (ofWarp % chunk !== 0) return undefined
  const tiles = Math.ceil(out / 16)
  const chunks = ofWarp / chunk
  return { registers: 8 * chunks * tiles + 4 * Math.min(chunks, 8) + 4 * tiles, sharedBytes: sums }
}

/** Whether the kernels compute this network at all; the shape of a pass is another question. */
function isPersistable(network: RnnDescriptor, arithmetic: Arithmetic, computeCapability: number): boolean {
  const { precision } = arithmetic
  if (precision === 'float64') return false
  const needed = precision === 'float32' ? LEAST_CAPABILITY.fma : LEAST_CAPABILITY.tensorCores
  return (
    computeCapability >= needed &&
    network.inputMode === 'linear_input' &&
    network.biasMode === 'double' &&
    network.numProj === undefined &&
    network.cellClip === undefined
  )
}

/**
 * The ways to divide these passes, the one with the least estimated work of a block first: all blocks run at the same time,
 * one on a multiprocessor, and hold their weights in registers. Empty if there is none.
 */
export function persistentShapes(
  network: RnnDescriptor,
  arithmetic: Arithmetic,
  { time, batch }: RnnPassSizes,
  { multiProcessors, computeCapability }: { readonly multiProcessors: number; readonly computeCapability: number },
): readonly PersistentShape[] {
  if (time * batch * network.inputSize === 0) return []
  if (!isPersistable(network, arithmetic, computeCapability)) return []
  const others = OTHER_REGISTERS[arithmetic.precision === 'float32' ? 'fma' : 'tensorCores']
  const gates = numGates(network)
  const { numUnits } = network
  const found: { readonly shape: PersistentShape; readonly work: number }[] = []
  for (const warps of [2, 4, 8, 16]) {
    for (const units of [2, 4, 8, 16, 32]) {
      for (const rows of [1, 2, 4, 8, 16, 32]) {
        const groups = Math.ceil(batch / rows)
        const blocks = numUnits / units
        const items = Math.ceil((units * rows) / (32 * warps))
        if (!Number.isInteger(blocks) || blocks * groups > multiProcessors || items > MOST_ITEMS) continue
        if (rows > 1 && rows / 2 >= batch) continue
        const forward = product(arithmetic, { warps, rows }, gates * units, numUnits)
        const backward = product(arithmetic, { warps, rows }, units, gates * numUnits)
        if (forward === undefined || backward === undefined) continue
        const registers = Math.min(MOST_REGISTERS_OF_THREAD, REGISTERS_OF_MULTIPROCESSOR / (32 * warps))
        const needed = Math.max(forward.registers, backward.registers) + items * REGISTERS_OF_ITEM + others
        const sharedBytes = Math.max(forward.sharedBytes, backward.sharedBytes)
        if (needed > registers || sharedBytes > MOST_SHARED_BYTES) continue
        // Multiplications of a lane, then the words that the block fetches and the sums that it adds, each in turn.
        const multiplied = (gates * units * numUnits * rows) / (32 * warps)
        const work = multiplied + (rows * numUnits) / 16 + (warps * gates * units * rows) / 32
        const bytes = { forwardBytes: forward.sharedBytes, backwardBytes: backward.sharedBytes }
        found.push({ shape: { units, warps, rows, blocks, groups, ...bytes }, work })
      }
    }
  }
  return found.sort((a, b) => a.work - b.work).map(({ shape }) => shape)
}
