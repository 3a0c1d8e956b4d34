import { required } from '@cudnn-rnn/canonical/rules'
import {
  type BackendTensor,
  OPTIMIZER_RULES,
  type OptimizerOptions,
  type OptimizerRule,
  type OptimizerSlots,
  type TensorLike,
} from '@cudnn-rnn/ops'
import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { CHECKED_ROWS, exampleShape } from '@cudnn-rnn/ops/executor'
import { Arguments } from './arguments.js'
import type { Argument, StatementOf, Update } from './program.js'
import { type ProgramState, pick, pickOpaque } from './program_state.js'
import { type Begin, keepTensors } from './statement_effect.js'

export const beginTensor: Begin<StatementOf<'tensor'>> = (programState, { shape, argument }) => {
  const given = new Arguments(programState)
  const host = given.make(shape, argument)
  return given.around(async () => {
    const tensor = programState.backend.tensor(host as Tensor<FloatArray>)
    return { made: { tensor }, commit: () => keepTensors(programState, [tensor]) }
  })
}

export const beginRead: Begin<StatementOf<'read'>> = async (programState, { kind, index }) => {
  if (kind === 'opaque') {
    // In the executor's own order: the error alone counts here, and the shape has no meaning elsewhere.
    await pick(programState.opaques, index)?.variable.value.read()
    return {}
  }
  const made = pick(programState.tensors, index)
  if (made === undefined) return {}
  const { data, shape } = await made.tensor.read()
  return { values: { data: data.slice(), shape } }
}

export const beginUpdate: Begin<StatementOf<'update'>> = (programState, { kind, rule, target, source, rate }) => {
  const isOpaque = kind === 'opaque'
  const opaque = isOpaque ? pick(programState.opaques, target) : undefined
  const variable = isOpaque ? opaque?.variable.value : pick(programState.tensors, target)?.tensor
  if (variable === undefined) return undefined
  const given = new Arguments(programState)
  let operand: TensorLike | undefined
  // Elements of an opaque buffer mean something else on every executor: from the host it gets zeros alone.
  if (typeof source !== 'number') operand = given.make(variable.shape, source, isOpaque ? 0 : 1)
  else if (opaque !== undefined) operand = pickOpaque(programState, source, opaque.owner)?.variable.value
  else
    operand = pick(
      programState.tensors,
      source,
      ({ tensor }) => String(tensor.shape) === String(variable.shape),
    )?.tensor
  if (operand === undefined) return undefined
  return given.around(async () => {
    update(programState, rule, variable, operand, rate)
    return {}
  })
}

function update(
  { backend }: ProgramState,
  rule: Update,
  variable: BackendTensor,
  source: TensorLike,
  rate: number,
): void {
  const { ops } = backend
  if (rule === 'assign') ops.assign(variable, source)
  else if (rule === 'accumulate') ops.accumulate(variable, source, rate)
  else if (rule === 'clip') ops.clipByValue([variable, source as BackendTensor], rate)
  else {
    const { layout } = variable
    const slots = OPTIMIZER_RULES[rule].slots.map(() => backend.zeros(variable.shape, { layout }))
    try {
      ops.update(rule, variable, slots as unknown as OptimizerSlots, source, optionsOf(rule, rate))
    } finally {
      for (const slot of slots) slot.dispose()
    }
  }
}

/** Values of options without a default, by name. */
const VALUES = { momentum: 0.5, epsilon: 0.1, step: 1 }

function optionsOf(rule: OptimizerRule, rate: number): OptimizerOptions {
  const all: Readonly<Record<string, number>> = { ...VALUES, learningRate: rate, rate }
  const given = Object.keys(OPTIMIZER_RULES[rule].options).map((name) => [name, all[name]])
  return Object.fromEntries(given) as OptimizerOptions
}

type Method = (...given: readonly unknown[]) => BackendTensor | Readonly<Record<string, BackendTensor>>

export const beginOperation: Begin<StatementOf<'operation'>> = (programState, { name, sizes: [n, i, o], argument }) => {
  const { backend } = programState
  const row = required(
    CHECKED_ROWS.find((checked) => checked.name === name),
    'programs call operations of the table',
  )
  const sizes = { T: n, B: i, E: o, I: i, O: o, V: o, U: o }
  const given = new Arguments(programState)
  const made: BackendTensor[] = []
  /** Valid ids or lengths. */
  const integers = (shape: readonly number[], count: number) => {
    const data = Int32Array.from({ length: elementCount(shape) }, (_, k) => (k * 7 + n) % count)
    const tensor = backend.tensor({ data, shape })
    made.push(tensor as unknown as BackendTensor)
    return tensor
  }
  const begin = (): BackendTensor | Readonly<Record<string, BackendTensor>> => {
    const other = { form: argument.form, fill: argument.fill + 2 }
    const floating = row.operands.filter(({ pattern }) => pattern.bound === undefined)
    const drawn = floating[argument.fill % floating.length]
    const call: unknown[] = []
    const leading = [n, i]
    for (const [k, operand] of row.operands.entries()) {
      const { index, pattern } = operand
      // All operands that broadcast but the first repeat, as the fill has it.
      const repeated = [leading, [i], [n, 1], []][k === 0 ? 0 : argument.fill % 4]
      const shape = pattern.free === 'broadcast' ? repeated : exampleShape(pattern, sizes, leading)
      // Ids that an empty table does not have are refused on host executors alone.
      const isDrawn = operand === drawn && !(argument.fault === 'empty' && floating.length < row.operands.length)
      // Weights of a loss must not add up to almost nothing.
      const own = isDrawn ? argument : { ...other, fill: pattern.key === 'weights' ? 1 : other.fill }
      if (pattern.bound !== undefined) call[index] = integers(shape, pattern.bound.isBelow ? o : n + 1)
      else if (pattern.isList) call[index] = [given.make(shape, own), given.make(shape, other)]
      else call[index] = given.make(shape, own)
    }
    const options: Readonly<Record<string, unknown>> = {
      ...{ classes: o, begin: 0, count: 1, begins: [n - 1, 0], sizes: [1, i] },
      shape: name === 'reshape' ? [n * i] : [n, i],
    }
    for (const { index, name: option, rule } of row.positional) call[index] = options[option] ?? choice(rule, argument)
    const named = row.options.filter(({ rule }) => rule.isOptional === undefined)
    call[row.optionsIndex] = Object.fromEntries(named.map(({ name: key, rule }) => [key, choice(rule, argument)]))
    if (row.options.length === 0) call.length = row.optionsIndex
    return (backend.ops as unknown as Readonly<Record<string, Method>>)[name](...call)
  }
  return given.around(async () => {
    try {
      const result = begin()
      const results = 'dispose' in result ? { output: result as BackendTensor } : { ...result }
      return { made: results, commit: () => keepTensors(programState, Object.values(results)) }
    } finally {
      for (const tensor of made) tensor.dispose()
    }
  })
}

/** One of an option's names, or its example. */
function choice({ names, example }: { names?: readonly string[]; example?: unknown }, { fill }: Argument): unknown {
  return names === undefined ? example : names[fill % names.length]
}

export const beginNorm: Begin<StatementOf<'norm'>> = async (programState, { tensors, limit }) => {
  const chosen = new Set(tensors.map((index) => pick(programState.opaques, index)?.variable.value))
  chosen.delete(undefined)
  if (chosen.size === 0) return {}
  const { ops } = programState.backend
  const operands = [...chosen] as BackendTensor[]
  const norm = limit === undefined ? ops.globalNorm(operands) : ops.clipByGlobalNorm(operands, limit)
  return { made: { norm }, commit: () => keepTensors(programState, [norm]) }
}
