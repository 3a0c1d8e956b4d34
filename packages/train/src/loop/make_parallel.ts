import { checkArguments, checkOptions, FUNCTION, fields, listOf, optional } from '@cudnn-rnn/arguments'
import { type Backend, type BackendTensor, DTYPES, isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import { codedRangeError, describeValue } from '@cudnn-rnn/canonical'
import { checkOwnTensors } from '@cudnn-rnn/executor-kit'
import { isEmptyShare, shareOf, type World } from '../data/shard_stage.js'
import { checkGradientCount } from '../optimizers/gradient_count.js'
import { BACKEND, TRAINABLES } from '../optimizers/optimizer.js'
import type { Trainable } from '../optimizers/trainable.js'
import { type BatchResult, checkedResult, weightOf } from './gradient_accumulator.js'

/** The copy of a model on one device. */
export interface Replica<Batch> {
  /** On every device the same names, shapes and layouts, in the same order. */
  readonly variables: readonly Trainable[]
  /** Loss and gradients of a share of a batch, on this device; `weight` as in {@link BatchResult}. */
  readonly batchGradients: (share: Batch) => Promise<BatchResult>
  /** Called by the `dispose` of {@link Parallel}, and where a later replica cannot be made. */
  [Symbol.dispose]?(): void
}

export interface ParallelOptions<Batch> {
  /**
   * The share of one device of a batch that is not an array, `[]` where it is empty. Default: of an array of L elements
   * those from ⌊L·rank/size⌋ up to ⌊L·(rank+1)/size⌋, as `Dataset.shard` takes them.
   */
  readonly split?: ((batch: Batch, place: World) => Batch) | undefined
}

/** The batches of a replica. */
type BatchOf<Own extends Replica<never>> = Parameters<Own['batchGradients']>[0]

/** A function over several devices, with the arguments of `fit` that it makes. */
export interface Parallel<Own extends Replica<never>> extends Disposable {
  /** The first device, which makes the update. */
  readonly backend: Backend
  /** Those of the first replica, for the optimizer. */
  readonly variables: readonly Trainable[]
  /** Mean loss and gradients over the shares of all devices, on the first. */
  readonly batchGradients: (batch: BatchOf<Own>) => Promise<BatchResult>
  /** In the order of the devices. */
  readonly replicas: readonly Own[]
  /** Disposes the replicas; the devices are the caller's. */
  dispose(): void
}

/** A share of a batch, its result and its weight in the mean. */
interface ShareResult extends BatchResult {
  readonly weight: number
}

/**
 * Replicates a function over devices, as the `make_parallel` of TensorFlow's users does: every batch is split between the
 * devices, each computes the gradients of its share, and the first device sums them by their weights and makes one update.
 * The variables are those of the first device; every call copies them to the others. The numbers are those of one device
 * with the whole batches, to rounding.
 *
 * @param fn makes the replica of one device; where it has dropout, its seed should depend on `place.rank`
 * @param devices executors of one kind, each once; the first one makes the updates
 * @throws RangeError `ERR_REPLICAS_DIFFER`, `ERR_INVALID_OPTION`; TypeError `ERR_FOREIGN_TENSOR`, `ERR_INVALID_ARGUMENT`,
 *   `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; errors of `fn`
 * @example
 * ```ts
 * import { openReferenceBackend } from '@cudnn-rnn/reference'
 * import { Dataset, fit, makeParallel, Sgd } from '@cudnn-rnn/train'
 *
 * const devices = [openReferenceBackend(), openReferenceBackend()]
 * const { backend, variables, batchGradients } = await makeParallel((device) => {
 *   const slope = { name: 'slope', value: device.zeros([1]) }
 *   return {
 *     variables: [slope],
 *     async batchGradients(xs: readonly number[]) {
 *       const a = (await slope.value.read()).data[0] ?? 0
 *       const gradient = xs.reduce((sum, x) => sum + (a * x - 3 * x) * x, 0) / xs.length
 *       return { loss: (a - 3) ** 2, gradients: [device.tensor({ data: Float32Array.of(gradient), shape: [1] })] }
 *     },
 *   }
 * }, devices)
 * const data = Dataset.fromArray([1, 2, 3]).repeat().batch(3)
 * await fit({ backend, data, batchGradients, optimizer: new Sgd(backend, variables), learningRate: 0.1, maxSteps: 40 })
 * console.log((await variables[0]?.value.read())?.data[0]?.toFixed(2)) // 3.00
 * ```
 */
export async function makeParallel<Own extends Replica<never>, Device extends Backend = Backend>(
  fn: (device: Device, place: World) => Own | Promise<Own>,
  devices: readonly Device[],
  options: ParallelOptions<BatchOf<Own>> = {},
): Promise<Parallel<Own>> {
  checkArguments(ACTION, { fn, devices }, { fn: FUNCTION, devices: listOf(BACKEND, 1) })
  checkOptions(ACTION, options, { split: optional(FUNCTION) })
  const repeated = devices.findIndex((device, rank) => devices.indexOf(device) !== rank)
  if (repeated >= 0) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot ${ACTION} as each device must be another executor: device ${repeated} is device ${devices.indexOf(devices[repeated])}`,
      { device: repeated },
    )
  }
  const replicas: Own[] = []
  try {
    for (const [rank, device] of devices.entries()) {
      const replica = await fn(device, { rank, size: devices.length })
      checkArguments(ACTION, { replica }, { replica: REPLICA })
      replicas.push(replica)
      const tensors = replica.variables.map(({ name, value }): [string, BackendTensor] => [name, value])
      checkOwnTensors(device, ACTION, Object.fromEntries(tensors))
      checkEqual(devices, replicas, rank)
    }
  } catch (error) {
    disposeAll(replicas)
    throw error
  }
  const { split = splitArray } = options
  const typed = replicas as readonly Replica<never>[] as readonly Replica<BatchOf<Own>>[]
  const dispose = () => disposeAll(replicas)
  return {
    backend: devices[0],
    variables: replicas[0].variables,
    batchGradients: (batch) => parallelGradients(devices, typed, batch, split),
    replicas,
    dispose,
    [Symbol.dispose]: dispose,
  }
}

const ACTION = 'make parallel'
const REPLICA = fields({ variables: TRAINABLES, batchGradients: FUNCTION }, 'a replica: { variables, batchGradients }')

function splitArray<Batch>(batch: Batch, place: World): Batch {
  if (Array.isArray(batch)) return shareOf(batch, place) as Batch
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot split a batch as it must be an array, or the option split be given: current value is ${describeValue(batch)}`,
    { batch },
  )
}

/** Refuses a replica that cannot take the variables of the first, or whose gradients have another layout. */
function checkEqual(devices: readonly Backend[], replicas: readonly Replica<never>[], rank: number): void {
  const of = (k: number) => {
    const { name, dtype, implementation } = devices[k]
    const variables = replicas[k].variables.map(({ name, value }) => [name, [value.shape, value.dtype, value.layout]])
    return new Map<string, string>([
      ['executor', JSON.stringify([name, dtype, implementation])],
      ['names of variables', JSON.stringify(variables.map(([variable]) => variable))],
      ...variables.map(([variable, form]): [string, string] => [`variable ${String(variable)}`, JSON.stringify(form)]),
    ])
  }
  const [first, own] = [of(0), of(rank)]
  for (const [difference, expected] of first) {
    const actual = own.get(difference)
    if (actual === expected) continue
    throw codedRangeError(
      'ERR_REPLICAS_DIFFER',
      `Cannot ${ACTION} as all devices must have the same ${difference}: device 0 has ${expected}, device ${rank} has ${actual}`,
      { difference, device: rank },
    )
  }
}

/** One call of {@link Parallel.batchGradients}. An error of any device leaves no tensor behind. */
async function parallelGradients<Batch>(
  devices: readonly Backend[],
  replicas: readonly Replica<Batch>[],
  batch: Batch,
  split: (batch: Batch, place: World) => Batch,
): Promise<BatchResult> {
  const size = devices.length
  const shares = devices.map((_, rank) => (size === 1 ? batch : split(batch, { rank, size })))
  const ranks = shares.flatMap((share, rank) => (isEmptyShare(share) ? [] : [rank]))
  if (ranks.length === 0) return await replicas[0].batchGradients(batch)
  await copyVariables(devices, replicas, ranks)
  const settled = await Promise.allSettled(
    ranks.map(async (rank): Promise<ShareResult> => {
      const { steps } = devices[rank]
      const pass = () => replicas[rank].batchGradients(shares[rank])
      // A step of the first device is run by its caller.
      const result = checkedResult(await (rank === 0 || steps === undefined ? pass() : steps.run(pass)))
      try {
        checkGradientCount('add gradients', result.gradients, replicas[rank].variables)
        return { ...result, weight: weightOf(shares[rank], result) }
      } catch (error) {
        disposeResults([result])
        throw error
      }
    }),
  )
  const results = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  try {
    for (const each of settled) if (each.status === 'rejected') throw each.reason
    return await meanResult(devices[0], replicas[0].variables, results)
  } finally {
    disposeResults(results)
  }
}

/** Copies the variables of the first device to the others of `ranks`. */
async function copyVariables(
  devices: readonly Backend[],
  replicas: readonly Replica<never>[],
  ranks: readonly number[],
): Promise<void> {
  if (ranks.every((rank) => rank === 0)) return
  const values = await Promise.all(replicas[0].variables.map(({ value }) => value.read()))
  for (const rank of ranks) {
    if (rank === 0) continue
    for (const [index, { value }] of replicas[rank].variables.entries()) {
      devices[rank].ops.assign(value, values[index])
    }
  }
}

/** The means over shares by their weights, new tensors of `backend`. */
async function meanResult(
  backend: Backend,
  variables: readonly Trainable[],
  results: readonly ShareResult[],
): Promise<BatchResult> {
  const weight = results.reduce((sum, result) => sum + result.weight, 0)
  // A share that does not count may be NaN.
  const counted = results.filter((result) => result.weight > 0)
  const made: BackendTensor[] = []
  const mean = async (
    shape: readonly number[],
    layout: string | undefined,
    of: (result: ShareResult) => TensorLike,
  ) => {
    const sum = backend.zeros(shape, { layout })
    made.push(sum)
    for (const result of counted) {
      const share = of(result)
      const isHere = !isBackendTensor(share) || backend.owns(share)
      backend.ops.accumulate(sum, isHere ? share : await share.read(), result.weight / weight)
    }
    return sum
  }
  try {
    const gradients: BackendTensor[] = []
    for (const [index, { value }] of variables.entries()) {
      gradients.push(await mean(value.shape, value.layout, ({ gradients }) => gradients[index]))
    }
    if (counted.every(({ loss }) => typeof loss === 'number')) {
      const loss = counted.reduce((sum, result) => sum + (result.weight / weight) * (result.loss as number), 0)
      return { loss, gradients, weight }
    }
    const { array } = DTYPES[backend.dtype]
    const scalar = ({ loss }: ShareResult) => (isBackendTensor(loss) ? loss : { data: array.of(loss), shape: [] })
    return { loss: await mean([], undefined, scalar), gradients, weight }
  } catch (error) {
    for (const tensor of made) tensor.dispose()
    throw error
  }
}

function disposeResults(results: readonly BatchResult[]): void {
  for (const { loss, gradients } of results) {
    for (const tensor of [loss, ...gradients]) if (isBackendTensor(tensor)) tensor.dispose()
  }
}

function disposeAll(replicas: readonly Replica<never>[]): void {
  for (const replica of replicas) replica[Symbol.dispose]?.()
}
