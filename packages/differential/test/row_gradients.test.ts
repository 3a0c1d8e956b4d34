import { type Backend, DTYPES, isBackendTensor } from '@cudnn-rnn/ops'
import { elementCount } from '@cudnn-rnn/canonical'
import {
  CHECKED_ROWS,
  type CheckedRow,
  EXAMPLE_SIZES,
  exampleShape,
  handleOf,
  Philox,
  Recording,
  type Value,
} from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { testedExecutors } from '../src/executors.js'
import type { Program } from '../src/program.js'

/** Relative to the largest element. Central differences in float64 have errors of h²/6·f''' and of 2⁻⁵³/h. */
const STEP = 1e-5
const DIFFERENCES_TOLERANCE = 1e-8
/** Relative to the largest element: single precision has 2⁻²⁴ in every step of a short sum. */
const EXECUTORS_TOLERANCE = 1e-6

/** Floating operands that are constants of the operation: a tape refuses to differentiate them. */
const CONSTANTS: Readonly<Record<string, readonly string[]>> = {
  softmaxCrossEntropy: ['weights'],
  elementLoss: ['targets', 'weights'],
  select: ['condition'],
}
const LEADING = [2, 3]

interface Drawn {
  readonly key: string
  readonly part: number
  readonly shape: readonly number[]
  readonly values: Float64Array
}

/** Arguments of a row: numbers of its floating operands, the rest as it is. */
interface Call {
  readonly title: string
  readonly checked: CheckedRow
  readonly floats: readonly Drawn[]
  /** The arguments, given the tensors of {@link floats}. */
  readonly given: (tensors: readonly unknown[]) => unknown[]
}

function drawnCall(checked: CheckedRow, chosen: Readonly<Record<string, unknown>>, seed: number): Call {
  const { operands, positional, options, optionsIndex, name } = checked
  const random = new Philox(seed)
  const floats: Drawn[] = []
  const integers = new Map<number, unknown>()
  for (const { index, pattern } of operands) {
    const shape = exampleShape(pattern, EXAMPLE_SIZES, LEADING)
    if (pattern.bound !== undefined) {
      const most = pattern.bound.isBelow ? EXAMPLE_SIZES['K'] : EXAMPLE_SIZES['T']
      const from = pattern.bound.isBelow ? 0 : 1
      const data = Int32Array.from({ length: elementCount(shape) }, (_, k) => from + ((k * 2 + 1) % (most as number)))
      integers.set(index, { data, shape })
      continue
    }
    for (let part = pattern.isList ? 0 : -1; part < (pattern.isList ? 2 : 0); part++) {
      const values = new Float64Array(elementCount(shape))
      random.fillUniform(values, 0.5)
      floats.push({ key: pattern.key, part, shape, values: values.map((x) => x + 1) })
    }
  }
  const title = [name, ...Object.values(chosen)].join(' ')
  const given = (tensors: readonly unknown[]) => {
    const args: unknown[] = []
    for (const [index, tensor] of integers) args[index] = tensor
    for (const { index, pattern } of operands) {
      if (pattern.bound !== undefined) continue
      const own = tensors.filter((_, k) => floats[k]?.key === pattern.key)
      args[index] = pattern.isList ? own : own[0]
    }
    for (const { index, name: option, rule } of positional) args[index] = chosen[option] ?? rule.example
    const required = options.filter(({ name: option, rule }) => rule.isOptional === undefined || option in chosen)
    const values = required.map(({ name: option, rule }) => [option, chosen[option] ?? rule.example])
    if (options.length > 0) args[optionsIndex] = Object.fromEntries(values)
    return args
  }
  return { title, checked, floats, given }
}

/** A call for each name that an option has. */
function callsOf(checked: CheckedRow): Call[] {
  const named = [...checked.positional, ...checked.options].find(({ rule }) => rule.names !== undefined)
  const choices = named?.rule.names?.map((value) => ({ [named.name]: value })) ?? [{}]
  return choices.map((chosen, k) => drawnCall(checked, chosen, 7 + k))
}

const tensorOf = ({ dtype }: Backend, values: Float64Array, shape: readonly number[]) => ({
  data: new DTYPES[dtype].array(values),
  shape,
})
const weightsOf = (count: number) => Float64Array.from({ length: count }, (_, k) => Math.cos(k))

/** Gradients of Σ cos(k)·y[k] with respect to the floating operands, by the tape. */
async function gradientsOf(backend: Backend, call: Call, isConstant: (drawn: Drawn) => boolean) {
  const tensors = call.floats.map(({ values, shape }) => backend.tensor(tensorOf(backend, values, shape)))
  const variables = tensors.map((value, k) => ({ name: `${k}`, value, backend }))
  const listed = variables.filter((_, k) => !isConstant(call.floats[k] as Drawn))
  using recording = new Recording(backend, listed)
  const t = handleOf(recording) as unknown as Readonly<Record<string, (...given: unknown[]) => Value | Promise<Value>>>
  const y = await t[call.checked.name]?.(...call.given(variables))
  if (y === undefined) throw new Error('a tape has every row')
  const weights = weightsOf(elementCount(y.shape))
  await recording.differentiate(
    y,
    y.shape.length === 0 ? undefined : backend.tensor(tensorOf(backend, weights, y.shape)),
  )
  const made = recording.take([], listed)
  const gradients = await Promise.all(
    made.map(async (gradient, k) => {
      expect(gradient.shape).toEqual(listed[k]?.value.shape)
      return Float64Array.from((await gradient.read()).data)
    }),
  )
  return gradients
}

/** The same by central differences. */
async function differencesOf(backend: Backend, call: Call, isConstant: (drawn: Drawn) => boolean) {
  const loss = async (values: readonly Float64Array[]) => {
    const tensors = values.map((each, k) => tensorOf(backend, each, call.floats[k]?.shape ?? []))
    const ops = backend.ops as unknown as Readonly<Record<string, (...given: unknown[]) => unknown>>
    const made = await ops[call.checked.name]?.(...call.given(tensors))
    const output = isBackendTensor(made)
      ? made
      : (made as Record<string, typeof made & object>)[call.checked.results[0]?.key ?? '']
    const { data } = await (output as Value['tensor']).read()
    return weightsOf(data.length).reduce((sum, weight, k) => sum + weight * (data[k] as number), 0)
  }
  const listed = call.floats.flatMap((drawn, place) => (isConstant(drawn) ? [] : [{ drawn, place }]))
  return Promise.all(
    listed.map(async ({ drawn, place }) => {
      const slopes = new Float64Array(drawn.values.length)
      for (let k = 0; k < slopes.length; k++) {
        const at = (step: number) =>
          loss(
            call.floats.map(({ values }, own) =>
              own === place ? values.map((x, n) => (n === k ? x + step : x)) : values,
            ),
          )
        slopes[k] = ((await at(STEP)) - (await at(-STEP))) / (2 * STEP)
      }
      return slopes
    }),
  )
}

function expectClose(actual: readonly Float64Array[], expected: readonly Float64Array[], tolerance: number): void {
  for (const [k, gradient] of expected.entries()) {
    const largest = gradient.reduce((most, x) => Math.max(most, Math.abs(x)), 1)
    const error = gradient.reduce((most, x, n) => Math.max(most, Math.abs(x - (actual[k]?.[n] ?? Number.NaN))), 0)
    expect(error / largest).toBeLessThanOrEqual(tolerance)
  }
}

const CALLS = CHECKED_ROWS.filter(({ row }) => typeof row.gradient === 'object' && !row.isOfDevices).flatMap(callsOf)
const isConstant =
  ({ checked }: Call) =>
  ({ key }: Drawn) =>
    CONSTANTS[checked.name]?.includes(key) === true

it.each(CALLS)('the gradient of $title is its slope', async (call) => {
  using reference = openReferenceBackend({ dtype: 'float64' })
  const actual = await gradientsOf(reference, call, isConstant(call))
  expectClose(actual, await differencesOf(reference, call, isConstant(call)), DIFFERENCES_TOLERANCE)
})

it.each(CALLS.filter(({ checked }) => checked.name in CONSTANTS))(
  '$title refuses gradients of constants',
  async (call) => {
    using reference = openReferenceBackend()
    await expect(gradientsOf(reference, call, () => false)).rejects.toMatchObject({ code: 'ERR_NO_GRADIENT' })
  },
)

describe.each(testedExecutors().found)('gradients of $name are those of the reference', ({ open, inspect }) => {
  it.each(CALLS)('$title', async (call) => {
    using reference = openReferenceBackend({ dtype: 'float64' })
    const expected = await gradientsOf(reference, call, isConstant(call))
    const backend = await open({ dtype: 'float32', threads: 2 } as Program)
    try {
      expectClose(await gradientsOf(backend, call, isConstant(call)), expected, EXECUTORS_TOLERANCE)
    } finally {
      backend.dispose()
      await inspect?.(backend)
    }
  })
})
