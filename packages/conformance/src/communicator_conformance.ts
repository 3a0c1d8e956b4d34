/** A communicator as this suite uses it; `Communicator` of `@cudnn-rnn/train` has this form. */
export interface CommunicatorUnderTest {
  readonly rank: number
  readonly size: number
  readonly localRank: number
  readonly localSize: number
  allReduce(
    array: Float32Array | Float64Array | Int32Array,
    options?: {
      readonly op?: 'sum' | 'min' | 'max' | undefined
      readonly wire?: 'bfloat16' | undefined
    },
  ): Promise<void>
  broadcast(bytes: Uint8Array, root?: number): Promise<void>
  allGather(bytes: Uint8Array): Promise<Uint8Array[]>
  barrier(): Promise<void>
  dispose(): Promise<void>
}

/** One property of every communicator. Each rank runs it; it throws if the property does not hold. */
export interface CommunicatorCase {
  readonly name: string
  run(world: CommunicatorUnderTest): Promise<void>
}

function expectEqual(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [JSON.stringify(plain(actual)), JSON.stringify(plain(expected))]
  if (a !== b) throw new Error(`${what}: expected ${b.slice(0, 200)}, got ${a.slice(0, 200)}`)
}

function plain(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return [...(value as Uint8Array)]
  return Array.isArray(value) ? value.map(plain) : value
}

async function expectRefused(call: () => Promise<unknown>, code: string): Promise<void> {
  const error = await call().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expectEqual((error as { code?: string } | undefined)?.code, code, 'code of the refusal')
}

const ARRAYS = [Float32Array, Float64Array, Int32Array]

/** The conformance suite of communicators. The last case disposes the communicator. */
export const COMMUNICATOR_CASES: readonly CommunicatorCase[] = [
  {
    name: 'ranks are numbered',
    async run(world) {
      const everyone = await world.allGather(Uint8Array.of(world.rank, world.localRank, world.localSize))
      expectEqual(everyone.length, world.size, 'number of ranks')
      for (const [rank, [own, localRank, localSize]] of everyone.entries()) {
        expectEqual(own, rank, 'rank')
        expectEqual(localRank < localSize && localSize <= world.size, true, 'local rank')
      }
    },
  },
  {
    name: 'allReduce sums, and takes the smallest and the largest, of every kind of array',
    async run(world) {
      const { rank, size } = world
      for (const Elements of ARRAYS) {
        const values = () => Elements.of(rank + 1, -rank, 7)
        const results = { sum: values(), min: values(), max: values() }
        await world.allReduce(results.sum)
        await world.allReduce(results.min, { op: 'min' })
        await world.allReduce(results.max, { op: 'max' })
        const last = size - 1
        const sums = [(size * (size + 1)) / 2, -(size * last) / 2, 7 * size]
        expectEqual(results.sum, Elements.from(sums), `sum of ${Elements.name}`)
        expectEqual(results.min, Elements.of(1, -last, 7), `min of ${Elements.name}`)
        expectEqual(results.max, Elements.of(size, 0, 7), `max of ${Elements.name}`)
      }
    },
  },
  {
    name: 'allReduce changes the elements of a view and no others',
    async run(world) {
      const whole = new Float32Array(5).fill(1)
      await world.allReduce(whole.subarray(1, 4))
      expectEqual(whole, [1, world.size, world.size, world.size, 1], 'elements')
    },
  },
  {
    name: 'allReduce gives every rank the same bits, for any length',
    async run(world) {
      for (const length of [0, 1, 3, 1000, 65_537]) {
        const array = Float32Array.from({ length }, (_, k) => Math.sin(k * (world.rank + 2)) / 3)
        await world.allReduce(array)
        const bytes = new Uint8Array(array.buffer)
        const others = await world.allGather(bytes)
        for (const other of others) expectEqual(isSame(other, bytes), true, `bits of ${length} elements`)
      }
    },
  },
  {
    name: 'allReduce with bfloat16 on the wire has the stated error, and gives every rank the same bits',
    async run(world) {
      const { rank, size } = world
      const term = (from: number, k: number) => Math.fround(Math.sin(k * (from + 2)) * 10 ** ((k % 7) - 3))
      for (const Elements of [Float32Array, Float64Array]) {
        for (const length of [0, 1, 3, 1000, 65_537]) {
          const array = new Elements(length)
          for (let k = 0; k < length; k++) array[k] = term(rank, k)
          await world.allReduce(array, { wire: 'bfloat16' })
          for (const [k, sum] of array.entries()) {
            let [exact, magnitude] = [0, 0]
            for (let from = 0; from < size; from++) {
              exact += term(from, k)
              magnitude += Math.abs(term(from, k))
            }
            const bound = size === 1 ? 0 : Math.max(2, size) * 2 ** -8 * magnitude * 1.01
            expectEqual(Math.abs(sum - exact) <= bound, true, `error of element ${k} of ${length}, ${sum} for ${exact}`)
          }
          const bytes = new Uint8Array(array.buffer)
          for (const other of await world.allGather(bytes)) expectEqual(isSame(other, bytes), true, 'bits')
        }
      }
      const special = Float32Array.of(rank === size - 1 ? Number.NaN : 1, Number.POSITIVE_INFINITY)
      await world.allReduce(special, { wire: 'bfloat16' })
      expectEqual([Number.isNaN(special[0]), special[1] === Number.POSITIVE_INFINITY], [true, true], 'elements')
    },
  },
  {
    name: 'allReduce spreads NaN and infinity to all ranks',
    async run(world) {
      const array = Float32Array.of(world.rank === world.size - 1 ? Number.NaN : 1, Number.POSITIVE_INFINITY)
      await world.allReduce(array)
      expectEqual([Number.isNaN(array[0]), array[1] === Number.POSITIVE_INFINITY], [true, true], 'elements')
    },
  },
  {
    name: 'broadcast copies the bytes of any root',
    async run(world) {
      for (let root = 0; root < world.size; root++) {
        const bytes = new Uint8Array(1000).fill(world.rank + 1)
        await world.broadcast(bytes, root)
        expectEqual(bytes, new Uint8Array(1000).fill(root + 1), `bytes of root ${root}`)
      }
      await world.broadcast(new Uint8Array(0))
    },
  },
  {
    name: 'allGather returns the bytes of every rank, of unequal lengths',
    async run(world) {
      const parts = await world.allGather(new Uint8Array(3 * world.rank).fill(world.rank))
      const expected = Array.from({ length: world.size }, (_, rank) => new Uint8Array(3 * rank).fill(rank))
      expectEqual(parts, expected, 'parts')
    },
  },
  {
    name: 'calls that are not awaited are made in their order',
    async run(world) {
      const first = Float64Array.of(1)
      const second = Float64Array.of(world.rank)
      const bytes = Uint8Array.of(world.rank + 5)
      const calls = [
        world.allReduce(first),
        world.broadcast(bytes),
        world.allReduce(second, { op: 'max' }),
        world.barrier(),
      ]
      await Promise.all(calls)
      expectEqual([first[0], bytes[0], second[0]], [world.size, 5, world.size - 1], 'results')
    },
  },
  {
    name: 'an array cannot be transferred while it is worked in',
    async run(world) {
      const array = new Float32Array(4)
      const reduced = world.allReduce(array)
      try {
        structuredClone(array.buffer, { transfer: [array.buffer] })
      } catch {
        // Refused.
      }
      await reduced
      // Node.js 20 copies the buffer, later versions refuse.
      expectEqual(array.length, 4, 'elements of the array in use')
    },
  },
  {
    name: 'wrong arguments are refused on the rank that gives them',
    async run(world) {
      const wrong = (value: unknown) => value as never
      await expectRefused(() => world.allReduce(wrong([1, 2])), 'ERR_INVALID_ARGUMENT')
      await expectRefused(() => world.allReduce(wrong(new Uint8Array(2))), 'ERR_INVALID_ARGUMENT')
      await expectRefused(() => world.allReduce(new Float32Array(2), { op: wrong('mean') }), 'ERR_INVALID_OPTION')
      await expectRefused(() => world.allReduce(new Float32Array(2), wrong({ operation: 'sum' })), 'ERR_UNKNOWN_OPTION')
      await expectRefused(
        () => world.allReduce(new Float32Array(2), { op: 'max', wire: 'bfloat16' }),
        'ERR_INVALID_OPTION',
      )
      await expectRefused(() => world.allReduce(new Int32Array(2), { wire: 'bfloat16' }), 'ERR_INVALID_ARGUMENT')
      await expectRefused(() => world.broadcast(new Uint8Array(2), world.size), 'ERR_INVALID_OPTION')
      await expectRefused(() => world.broadcast(wrong('text')), 'ERR_INVALID_ARGUMENT')
      await expectRefused(() => world.allGather(wrong(undefined)), 'ERR_INVALID_ARGUMENT')
    },
  },
  {
    name: 'dispose can be called twice, and later calls are refused',
    async run(world) {
      await Promise.all([world.dispose(), world.dispose()])
      await world.dispose()
      await expectRefused(() => world.allReduce(new Float32Array(1)), 'ERR_COMMUNICATOR_CLOSED')
      await expectRefused(() => world.barrier(), 'ERR_COMMUNICATOR_CLOSED')
    },
  },
]

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, k) => byte === b[k])
}
