import { Session } from 'node:inspector/promises'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { activation, apply, functional, importKeras, input, type LayersModel, merge, sequential } from '../src/index.js'

/** Methods of arrays that look at elements one by one. */
const SCANS = ['find', 'findIndex', 'includes', 'indexOf', 'lastIndexOf', 'shift', 'unshift'] as const

const SHORT = 30

/** How often the blocks of this package ran, and how many elements arrays were scanned for. */
async function stepsOf(run: () => Promise<unknown>): Promise<number> {
  const session = new Session()
  session.connect()
  const scans = SCANS.map((name) => [name, Array.prototype[name]] as const)
  let steps = 0
  const counted = (scan: (...given: never[]) => unknown) =>
    function (this: unknown[], ...given: never[]) {
      // Short ones belong to an option or a shape.
      if (this.length > SHORT) steps += this.length
      return scan.apply(this, given)
    }
  try {
    for (const [name, scan] of scans) Object.assign(Array.prototype, { [name]: counted(scan) })
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    await run()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const own = result.filter(({ url }) => url.includes('/packages/layers/src/'))
    for (const { functions } of own) for (const { ranges } of functions) for (const { count } of ranges) steps += count
    return steps
  } finally {
    Object.assign(Array.prototype, Object.fromEntries(scans))
    session.disconnect()
  }
}

const chain = (backend: Backend, count: number) =>
  sequential(
    backend,
    Array.from({ length: count }, () => activation('tanh')),
    { inputSize: 1 },
  )

/** One layer that is applied to each input and again to its output, and a tree of merges with names of one beginning. */
function graph(backend: Backend, count: number) {
  const shared = activation('tanh')
  const inputs = Array.from({ length: count }, (_, k) => input(`x_${k}`, { features: 1 }))
  const values = inputs.map((x) => apply(activation('relu'), apply(shared, apply(shared, x))))
  const outputs = values.map((value, k) => [`y_${k}`, merge('add', [value, values[0] ?? value])] as const)
  return functional(backend, inputs, Object.fromEntries([...outputs, ['all', merge('concat', values)]]))
}

describe.each<[string, (backend: Backend, count: number) => LayersModel]>([
  ['a chain', chain],
  ['a graph', graph],
])('the steps grow with the layers of %s alone', (_, make) => {
  const actions: Readonly<Record<string, (backend: Backend, count: number) => Promise<() => Promise<unknown>>>> = {
    'to be built': async (backend, count) => async () => make(backend, count).dispose(),
    'to be summed up': async (backend, count) => {
      const model = make(backend, count)
      return async () => model.summary()
    },
    'to be exported to Keras': async (backend, count) => {
      const model = make(backend, count)
      return () => model.export('keras')
    },
    'to be exported to ONNX': async (backend, count) => {
      const model = make(backend, count)
      return () => model.export('onnx')
    },
    'to be imported from Keras': async (backend, count) => {
      const file = await make(backend, count).export('keras')
      return () => importKeras(backend, file)
    },
  }

  test.each(Object.entries(actions))('%s', async (_name, prepared) => {
    using backend = openReferenceBackend()
    // The first one loads modules, uncounted: code that is counted runs without optimization.
    await (await prepared(backend, 3))()
    const few = await stepsOf(await prepared(backend, 150))
    const many = await stepsOf(await prepared(backend, 600))
    expect(few).toBeGreaterThan(150)
    // Four times as many if each layer takes as many steps, and 16 times if each looks at all.
    expect(many / few).toBeLessThan(6)
  })
})

test('a chain of 10,000 layers is built, summed up, exported and imported', async () => {
  using backend = openReferenceBackend()
  using model = chain(backend, 10_000)
  expect(model.summary().split('\n')).toHaveLength(10_003)
  using again = await importKeras(backend, await model.export('keras'))
  expect(again.layers).toHaveLength(10_000)
})
