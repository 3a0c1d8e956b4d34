import { entryOf } from '@cudnn-rnn/canonical/rules'
import { bfloat16ToNumber, numberToBfloat16 } from '@cudnn-rnn/checkpoint/files'
import type { CommunicatorUnderTest } from './communicator_conformance.js'

type Bytes = Uint8Array
type Elements = Float32Array | Float64Array | Int32Array

/** A communicator between ranks of this thread, with the members that training uses. */
export interface LocalCommunicator extends CommunicatorUnderTest {
  readonly engine: 'none'
  readonly reason: string
  /** Collective calls made so far. */
  readonly calls: number
  abort(reason: string, code?: number): never
  [Symbol.asyncDispose](): Promise<void>
}

/** One call, which all ranks must reach. */
interface CollectiveCall {
  readonly kind: string
  readonly arrived: Map<
    number,
    { readonly data: unknown; readonly resolve: () => void; readonly reject: (error: Error) => void }
  >
}

/**
 * The communicators of `size` ranks that run side by side in this thread: quick, and without a launcher. A call that ranks
 * disagree about rejects in all of them. Sums are taken in the order of ranks.
 */
export function localCommunicators(size: number): LocalCommunicator[] {
  const collectiveCalls: CollectiveCall[] = []
  const made = new Array<number>(size).fill(0)
  const reachCall = (rank: number, kind: string, data: unknown, combine: (all: readonly unknown[]) => void) => {
    const index = made[rank]++
    collectiveCalls[index] ??= { kind, arrived: new Map() }
    const { kind: expected, arrived } = collectiveCalls[index]
    return new Promise<void>((resolve, reject) => {
      arrived.set(rank, { data, resolve, reject })
      if (expected !== kind) {
        const error = new Error(`call ${index + 1} is ${kind} on rank ${rank}, ${expected} on another`)
        for (const other of arrived.values()) other.reject(error)
        return
      }
      if (arrived.size < size) return
      combine(Array.from({ length: size }, (_, from) => entryOf(arrived, from).data))
      for (const other of arrived.values()) other.resolve()
    })
  }
  const reducers = { sum: (a: number, b: number) => a + b, min: Math.min, max: Math.max }
  return Array.from({ length: size }, (_, rank) => {
    const communicator: LocalCommunicator = {
      ...{ engine: 'none', reason: 'ranks of one thread', rank, size, localRank: rank, localSize: size },
      get calls() {
        return made[rank]
      },
      allReduce: (array, { op = 'sum', wire } = {}) =>
        reachCall(rank, `allReduce ${op} of ${array.length}${wire ? ` as ${wire}` : ''}`, array, (all) => {
          const arrays = all as Elements[]
          const onWire = (values: Elements) => {
            if (wire === undefined || size === 1) return
            for (const [k, value] of values.entries()) values[k] = bfloat16ToNumber(numberToBfloat16(value))
          }
          for (const each of arrays) onWire(each)
          const result = arrays[0].slice()
          for (const each of arrays.slice(1)) {
            for (let k = 0; k < result.length; k++) result[k] = reducers[op](result[k], each[k])
          }
          onWire(result)
          for (const each of arrays) each.set(result as never)
        }),
      broadcast: (bytes, root = 0) =>
        reachCall(rank, `broadcast of ${bytes.length} from ${root}`, bytes, (all) => {
          const from = (all as Bytes[])[root].slice()
          for (const each of all as Bytes[]) each.set(from)
        }),
      async allGather(bytes) {
        const own = { bytes: bytes.slice(), all: [] as Bytes[] }
        await reachCall(rank, 'allGather', own, (all) => {
          const given = all as (typeof own)[]
          for (const each of given) each.all = given.map((other) => other.bytes.slice())
        })
        return own.all
      },
      barrier: () => reachCall(rank, 'barrier', undefined, () => {}),
      abort(reason) {
        const error = new Error(`rank ${rank} aborts: ${reason}`)
        for (const { arrived } of collectiveCalls) for (const other of arrived.values()) other.reject(error)
        throw error
      },
      async dispose() {},
      async [Symbol.asyncDispose]() {},
    }
    return communicator
  })
}
