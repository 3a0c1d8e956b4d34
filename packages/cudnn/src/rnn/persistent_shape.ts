import { numDirections, numGates, type RnnDescriptor } from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/ops/executor'
import type { Arithmetic } from '../device/precision.js'

/** How a persistent kernel divides a layer among blocks: the macros of native/cudnn/kernels/persistent.cu. */
export interface PersistentShape {
  readonly kind: PersistentKind
  /**
   * The contents of the shared memory of a cluster: nothing, as there are none; the values of all units; or the sums of
   * the backward, of which each block has a part of the columns.
   */
  readonly shared: SharedByClusters
  /** Units of a block; there are `blocks` of them. */
  readonly units: number
  readonly warps: number
  /** Batch rows of a pass, of which a block has `passes` in a step; there are `groups` of such blocks. */
  readonly rows: number
  readonly passes: number
  readonly blocks: number
  readonly groups: number
  /** Shared memory of a block. */
  readonly forwardBytes: number
  readonly backwardBytes: number
}

/** The numbers of CELL. */
const CELLS = { lstm: 0, gru: 1, rnn_tanh: 2, rnn_relu: 3 } as const
/** The numbers of KIND. */
const KINDS = { float32: 0, bfloat16: 1, tf32: 2, float16: 3, tf32x3: 4 } as const
type PersistentKind = keyof typeof KINDS
/** By the numbers of CLUSTER. */
const SHARED = ['nothing', 'values', 'sums'] as const
type SharedByClusters = (typeof SHARED)[number]

/** The macros of the kernels of this network and shape: NAME=number. */
export function persistentMacros(network: RnnDescriptor, shape: PersistentShape): string[] {
  const macros = {
    CELL: CELLS[network.cellMode],
    DIRECTIONS: numDirections(network),
    KIND: KINDS[shape.kind],
    HIDDEN: network.numUnits,
    UNITS: shape.units,
    WARPS: shape.warps,
    ROWS: shape.rows,
    PASSES: shape.passes,
    CLUSTER: SHARED.indexOf(shape.shared),
  }
  return Object.entries(macros).map(([name, value]) => `${name}=${value}`)
}

/** ld.relaxed needs the first, tensor cores for these types the second. */
const LEAST_CAPABILITY = { fma: 75, tensorCores: 80 } as const
/** Clusters need the first; every GPU that has it runs clusters of so many blocks. */
const CLUSTERS = { leastCapability: 90, mostBlocks: 8 } as const
const REGISTERS_OF_MULTIPROCESSOR = 2 ** 16
const MOST_REGISTERS_OF_THREAD = 255
/** Registers of a thread beside its weights, the words that it fetched, its sums and its items, as ptxas used them. */
const OTHER_REGISTERS = { fma: 80, tensorCores: 60 } as const
const REGISTERS_OF_ITEM = 12
/** More items unroll into more code than the cache of instructions holds. */
const MOST_ITEMS = 4

/** KiB of shared memory of a block, by the compute capability from which on GPUs have it. */
const SHARED_KIBIBYTES = [
  [120, 99],
  [90, 227],
  [89, 99],
  [87, 163],
  [86, 99],
  [80, 163],
  [0, 64],
] as const

/** Blocks of a cluster in a pass; 0 without clusters. */
export function clusterBlocks({ shared, blocks, warps }: PersistentShape, isBackward: boolean): number {
  if (shared === 'values') return blocks
  return shared === 'sums' && isBackward ? warps : 0
}

/** A pass's product: `out` rows of weights of a block, by `columns`. */
interface Product {
  readonly registers: number
  readonly sharedBytes: number
  /** Bytes of weights that are read from shared memory for each eight rows. */
  readonly weightBytes: number
}

type Division = Pick<PersistentShape, 'kind' | 'shared' | 'units' | 'warps' | 'rows' | 'passes'>

const bytesOf = (kind: PersistentKind) => (kind === 'bfloat16' || kind === 'float16' ? 2 : 4)

/** Pairs of a unit and a row that a thread owns in a pass. */
const itemsOf = ({ units, warps, rows }: Division) => Math.ceil((units * rows) / (32 * warps))

/** Rows and columns of the matrix of a block. */
function sizesOf(network: RnnDescriptor, { units }: Division, isBackward: boolean): readonly [number, number] {
  const gates = numGates(network)
  return isBackward ? [units, gates * network.numUnits] : [gates * units, network.numUnits]
}

/** The needs of a product in the kernel; undefined if its columns cannot be divided among the lanes. */
function product(network: RnnDescriptor, division: Division, isBackward: boolean): Product | undefined {
  const { kind, shared, warps, rows, passes } = division
  const [out, columns] = sizesOf(network, division, isBackward)
  const ofWarp = columns / warps
  const items = itemsOf(division)
  // The kernel's Exchange, and the block's part of the columns.
  const exchanged = shared === 'values' ? 2 * passes * rows * (columns * bytesOf(kind) + 64) : 0
  const part = shared === 'sums' && isBackward ? rows * (ofWarp * bytesOf(kind) + 64) : 0
  const others = 2 * warps * rows * out * 4 + 2 * passes * items * 32 * warps * 4 + exchanged + part
  if (kind === 'float32') {
    // Lanes that share a row.
    const share = out > 16 ? 1 : out > 8 ? 2 : out > 4 ? 4 : out > 2 ? 8 : 16
    if (ofWarp % (4 * share) !== 0) return undefined
    const ofLane = Math.ceil((out * share) / 32)
    const fetched = rows * Math.ceil(ofWarp / 128) * 4
    const registers = ofLane * (ofWarp / share + rows) + fetched
    return { registers, sharedBytes: others + rows * columns * 4, weightBytes: 0 }
  }
  const chunk = 64 / bytesOf(kind)
  if (ofWarp % chunk !== 0) return undefined
  const tiles = Math.ceil(out / 16)
  const chunks = ofWarp / chunk
  // The kernel's kMost.
  const most = Math.floor(((warps > 8 ? 4 : 16) * (kind === 'tf32x3' ? 4 : kind === 'tf32' ? 7 : 8)) / (8 * tiles))
  const held = Math.min(chunks, most)
  const weightBytes = (chunks - held) * tiles * 32 * 32 * warps
  const registers = 8 * held * tiles + 4 * Math.min(chunks, held < chunks ? 4 : 8) + 4 * tiles
  return { registers, sharedBytes: others + weightBytes, weightBytes }
}

/** The kinds of kernels that compute this network at all; the shape of a pass is another question. */
function kindsOf(
  network: RnnDescriptor,
  { precision }: Arithmetic,
  computeCapability: number,
): readonly PersistentKind[] {
  const isTaken =
    network.inputMode === 'linear_input' &&
    network.biasMode === 'double' &&
    network.numProj === undefined &&
    network.cellClip === undefined
  if (!isTaken || precision === 'float64') return []
  // TF32 is a permission: FMA takes less time for few rows, as its weights need half of the registers.
  const mayBeFma = precision === 'tf32' || precision === 'tf32x3'
  const kinds: readonly PersistentKind[] = mayBeFma ? ['float32', precision] : [precision]
  return kinds.filter((kind) => computeCapability >= LEAST_CAPABILITY[kind === 'float32' ? 'fma' : 'tensorCores'])
}

/**
 * The constants of a model of a step, for an H200: microseconds from the store of a word to its arrival at other blocks of a grid
 * and of a cluster, of the fixed part of a step, of one more pass, and of a pass whose sums a cluster shares; TB/s of the L2
 * cache and of the stores in all clusters; the parts of their peaks that FMA and tensor cores reach. No GPU has confirmed it.
 */
const EXPECTED_STEP = {
  ...{ trip: 0.75, clusterTrip: 0.45, fixed: 0.25, pass: 0.1, clusterSums: 0.4 },
  ...{ cache: 4, clusterStores: 2.4, fma: 0.65, tensorCores: 0.4 },
}
/** The multiprocessors of an H200. */
const MULTIPROCESSORS = 132
/** Cycles of a microsecond; bytes of shared memory, multiplications by FMA and by tensor cores in bfloat16 of a cycle. */
const CYCLES = 1750
const SHARED_BYTES_OF_CYCLE = 128
const FMA_OF_CYCLE = 128
const TENSOR_CORES_OF_CYCLE = 2048
/** How many times longer a multiplication of tensor cores takes than in 16 bits. */
const SLOWNESS = { float32: 0, bfloat16: 1, float16: 1, tf32: 2, tf32x3: 6 } as const

export function stepMicroseconds(
  network: RnnDescriptor,
  shape: Omit<PersistentShape, 'forwardBytes' | 'backwardBytes'>,
  isBackward: boolean,
  constants = EXPECTED_STEP,
): number {
  const { kind, shared, warps, rows, passes, blocks, groups } = shape
  const [out, columns] = sizesOf(network, shape, isBackward)
  const isCluster = shared === 'values'
  const hasSums = shared === 'sums' && isBackward
  const eights = passes * Math.ceil(rows / 8)
  // A scheduler hides the time of one warp's instruction behind another warp.
  const busy = Math.min(1, warps / 8)
  const multiplied =
    kind === 'float32'
      ? (out * columns * rows * passes) / (FMA_OF_CYCLE * busy * constants.fma)
      : (Math.ceil(out / 16) * 16 * columns * 8 * eights * SLOWNESS[kind]) /
        (TENSOR_CORES_OF_CYCLE * busy * constants.tensorCores)
  const weightBytes = (product(network, shape, isBackward)?.weightBytes ?? 0) * eights
  const sumBytes = 2 * warps * out * rows * passes * 4
  // Words move to every block: from the L2 cache, or by stores of 4 bytes, which each multiprocessor does on its own.
  const bytes = rows * passes * columns * bytesOf(kind)
  const stored = (isCluster ? bytes : 0) + (hasSums ? sumBytes / 2 : 0)
  const loaded = isCluster ? 0 : hasSums ? bytes / warps : bytes
  const moved =
    (MULTIPROCESSORS * stored) / (constants.clusterStores * 1e6) + (blocks * groups * loaded) / (constants.cache * 1e6)
  const waits =
    (isCluster ? constants.clusterTrip : constants.trip) +
    (hasSums ? constants.clusterSums * passes : constants.pass * (passes - 1))
  const cycles = multiplied + (weightBytes + sumBytes) / SHARED_BYTES_OF_CYCLE
  return constants.fixed + waits + moved + cycles / CYCLES
}

/**
 * The ways to divide these passes, the one with the least time by the model first, then the best of the other way to
 * exchange: all blocks run at the same time, one on a multiprocessor, and hold their weights in registers and shared memory.
 * Empty if there is none.
 */
export function persistentShapes(
  network: RnnDescriptor,
  arithmetic: Arithmetic,
  { time, batch }: RnnPassSizes,
  { multiProcessors, computeCapability }: { readonly multiProcessors: number; readonly computeCapability: number },
): readonly PersistentShape[] {
  if (time * batch * network.inputSize === 0) return []
  const [, kibibytes] = SHARED_KIBIBYTES.find(([least]) => computeCapability >= least) ?? [0, 0]
  const found: { readonly shape: PersistentShape; readonly microseconds: number }[] = []
  for (const division of divisions(kindsOf(network, arithmetic, computeCapability))) {
    const { kind, shared, units, warps, rows, passes } = division
    const groups = Math.ceil(batch / (rows * passes))
    const blocks = network.numUnits / units
    const items = itemsOf(division)
    if (!Number.isInteger(blocks) || blocks * groups > multiProcessors || items > MOST_ITEMS) continue
    if (shared !== 'nothing' && computeCapability < CLUSTERS.leastCapability) continue
    if (shared === 'values' && (blocks < 2 || blocks > CLUSTERS.mostBlocks)) continue
    const mayShareSums = kind !== 'float32' && warps === CLUSTERS.mostBlocks && blocks % warps === 0
    // A cluster has a whole number of neighbors, so that some multiprocessors are in none.
    if (shared === 'sums' && (!mayShareSums || blocks * groups > multiProcessors - (multiProcessors % warps))) continue
    if (rows * passes > 1 && (rows * passes) / 2 >= batch) continue
    const forward = product(network, division, false)
    const backward = product(network, division, true)
    if (forward === undefined || backward === undefined) continue
    const registers = Math.min(MOST_REGISTERS_OF_THREAD, REGISTERS_OF_MULTIPROCESSOR / (32 * warps))
    const others = OTHER_REGISTERS[kind === 'float32' ? 'fma' : 'tensorCores'] + items * REGISTERS_OF_ITEM
    if (Math.max(forward.registers, backward.registers) + others > registers) continue
    const [forwardBytes, backwardBytes] = [forward.sharedBytes, backward.sharedBytes]
    if (Math.max(forwardBytes, backwardBytes) > kibibytes * 2 ** 10) continue
    const shape = { ...division, blocks, groups, forwardBytes, backwardBytes }
    const microseconds = stepMicroseconds(network, shape, false) + stepMicroseconds(network, shape, true)
    found.push({ shape, microseconds })
  }
  const [best, ...rest] = found.sort((a, b) => a.microseconds - b.microseconds).map(({ shape }) => shape)
  if (best === undefined) return []
  const other = rest.find(({ shared }) => shared !== best.shared) ?? rest[0]
  return [best, ...rest.filter((shape) => shape === other), ...rest.filter((shape) => shape !== other)]
}

function* divisions(kinds: readonly PersistentKind[]): Generator<Division> {
  for (const kind of kinds) {
    for (const warps of [2, 4, 8, 16]) {
      for (const units of [2, 4, 8, 16, 32]) {
        for (const rows of [1, 2, 4, 8, 16, 32]) {
          for (const passes of [1, 2, 4, 8]) {
            for (const shared of SHARED) yield { kind, shared, units, warps, rows, passes }
          }
        }
      }
    }
  }
}
