import type { TensorLike } from '@cudnn-rnn/ops'
import { type CanonicalParams, hiddenColumns, layoutKey, numPseudoLayers, outputSize } from '@cudnn-rnn/canonical'
import { CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh, type RecurrentModel, Variable } from '@cudnn-rnn/models'
import { Arguments, placeExtreme } from './arguments.js'
import { callModel, modelGradients } from './call_model.js'
import type { CallStatement, Extreme, ModelOptionsDrawn, State, StatementOf } from './program.js'
import { elementsOf, type MadeModel, type ProgramState, pick, pickOpaque } from './program_state.js'
import { type Begin, type Effect, keepTensors } from './statement_effect.js'

export const beginModel: Begin<StatementOf<'model'>> = async (programState, statement) => {
  const model = buildModel(programState, statement)
  return { commit: () => void programState.models.push({ model, states: undefined, isGone: false }) }
}

function buildModel({ backend, program }: ProgramState, drawn: ModelOptionsDrawn): RecurrentModel {
  const { op: _, cell, ...options } = { op: undefined, ...drawn, dropout: program.dropout }
  if (cell === 'lstm') return new CudnnLSTM(backend, options)
  if (cell === 'gru') return new CudnnGRU(backend, options)
  if (cell === 'rnn_relu') return new CudnnRNNRelu(backend, options)
  return new CudnnRNNTanh(backend, options)
}

export const beginParams: Begin<StatementOf<'params'>> = (programState, { model, seed, kernel, bias, forgetBias }) => {
  const owner = pick(programState.models, model)
  if (owner === undefined) return undefined
  return opaqueMade(programState, owner, async () =>
    owner.model.createParams({ seed, kernelInitializer: kernel, biasInitializer: bias, forgetBias }),
  )
}

export const beginSlot: Begin<StatementOf<'slot'>> = (programState, { model }) => {
  const owner = pick(programState.models, model)
  return owner && opaqueMade(programState, owner, async () => owner.model.createSlot('slot'))
}

export const beginExport: Begin<StatementOf<'export'>> = async (programState, { model, params }) => {
  const owner = pick(programState.models, model)
  if (owner === undefined) return {}
  const opaque = pickOpaque(programState, params, owner)
  if (opaque === undefined) return {}
  const canonical = await owner.model.paramsToCanonical(opaque.variable)
  return {
    values: { elements: elementsOf(canonical) },
    commit: () => void programState.canonicals.push({ owner, canonical, isGone: false }),
  }
}

export const beginImport: Begin<StatementOf<'import'>> = (programState, statement) => {
  const { model, canonical: index, extreme, fault } = statement
  const owner = pick(programState.models, model)
  const key = owner && layoutKey(owner.model.descriptor)
  const from = pick(programState.canonicals, index, (item) => layoutKey(item.owner.model.descriptor) === key)
  if (owner === undefined || from === undefined) return undefined
  const { weights: exported, biases } = extreme === undefined ? from.canonical : withExtreme(from.canonical, extreme)
  const [first, ...rest] = exported
  const wrong = {
    size: () => ({ data: first.data.slice(1), shape: first.shape }),
    otherFloat: () => ({ ...first, data: Array.from(first.data) }),
    integers: () => ({ ...first, data: new Int32Array(first.data.length) }),
    nothing: () => undefined,
  } as const
  const make = wrong[fault as keyof typeof wrong]
  const weights = (make === undefined ? exported : [make(), ...rest]) as typeof exported
  return opaqueMade(programState, owner, async () => {
    const value = await owner.model.canonicalToParams(weights, biases)
    return new Variable(programState.backend, value, 'imported')
  })
}

/** A copy in which one element is extreme. */
function withExtreme({ weights, biases }: CanonicalParams, { value, at }: Extreme): CanonicalParams {
  const copies = [...weights, ...biases].map((tensor) => ({ ...tensor, data: tensor.data.slice() }))
  const sized = copies.filter(({ data }) => data.length > 0)
  let left = at % sized.reduce((sum, { data }) => sum + data.length, 0)
  for (const { data } of sized) {
    if (left >= 0 && left < data.length) placeExtreme(data, { value, at: left })
    left -= data.length
  }
  return { weights: copies.slice(0, weights.length), biases: copies.slice(weights.length) }
}

/** Notes the opaque buffer that `make` gives. */
async function opaqueMade(
  programState: ProgramState,
  owner: MadeModel,
  make: () => Promise<Variable>,
): Promise<Effect> {
  const opaque = { owner, variable: await make(), isGone: false }
  return { made: { opaque }, commit: () => void programState.opaques.push(opaque) }
}

export const beginCall: Begin<CallStatement> = (programState, statement) => {
  const owner = pick(programState.models, statement.model)
  if (owner === undefined) return undefined
  const opaque =
    statement.fault === 'otherModel'
      ? pick(programState.opaques, statement.params, (other) => other.owner !== owner)
      : pickOpaque(programState, statement.params, owner)
  if (opaque === undefined) return undefined
  const given = new Arguments(programState, { early: statement.times === 1 })
  const { time, batch } = statement
  const { descriptor } = owner.model
  const layers = numPseudoLayers(descriptor)
  const input = given.make([time, batch, descriptor.inputSize], statement.input)
  const state = (drawn: State, part: 'h' | 'c', columns: number): TensorLike | null => {
    if (drawn === 'zeros') return null
    if (drawn !== 'carried') return given.make([layers, batch, columns], drawn)
    return owner.states?.[part] ?? null
  }
  const h = state(statement.h, 'h', hiddenColumns(descriptor))
  const c = descriptor.cellMode === 'lstm' ? state(statement.c, 'c', descriptor.numUnits) : null
  const call = () => callModel(owner.model, input, h, c, opaque.variable, statement)
  return given.around(async () => {
    const results = [await call()]
    try {
      for (let time = 1; time < statement.times; time++) results.push(await call())
    } catch (error) {
      for (const result of results.flatMap(Object.values)) result?.dispose()
      throw error
    }
    const last = results[results.length - 1]
    return {
      made: { output: last.output, outputH: last.outputH, outputC: last.outputC, first: results[0].output },
      commit: () => {
        owner.states = { h: last.outputH, c: last.outputC }
        for (const { output, outputH, outputC, tape } of results) {
          keepTensors(programState, [output, outputH, outputC])
          if (tape !== undefined) programState.tapes.push({ owner, tape, time: statement.time, batch, isGone: false })
        }
      },
    }
  })
}

export const beginGradients: Begin<StatementOf<'gradients'>> = (programState, statement) => {
  const made = pick(programState.tapes, statement.tape)
  const owner = statement.elsewhere ? pick(programState.models, 0) : made?.owner
  if (made === undefined || owner === undefined) return undefined
  const given = new Arguments(programState)
  const { descriptor } = made.owner.model
  const rows = [numPseudoLayers(descriptor), made.batch]
  const gradients = {
    output: given.maybe([made.time, made.batch, outputSize(descriptor)], statement.output),
    outputH: given.maybe([...rows, hiddenColumns(descriptor)], statement.h),
    ...(descriptor.cellMode === 'lstm' && { outputC: given.maybe([...rows, descriptor.numUnits], statement.c) }),
  }
  return given.around(async () => {
    const result = await modelGradients(owner.model, made.tape, gradients)
    const params = { owner, variable: new Variable(programState.backend, result.params, 'gradient'), isGone: false }
    return {
      made: { input: result.input, inputH: result.inputH, inputC: result.inputC, params },
      commit: () => {
        made.isGone = true
        keepTensors(programState, [result.input, result.inputH, result.inputC])
        programState.opaques.push(params)
      },
    }
  })
}

export const beginDropoutState: Begin<StatementOf<'dropoutState'>> = async (programState, { model }) => {
  const owner = pick(programState.models, model)
  if (owner === undefined) return {}
  const state = await owner.model.dropoutState()
  return { commit: () => void programState.dropoutStates.push({ owner, state, isGone: false }) }
}

export const beginRestoreDropout: Begin<StatementOf<'restoreDropout'>> = async (programState, { model, state }) => {
  const owner = pick(programState.models, model)
  const saved =
    state >= 12 ? new Uint8Array(3) : programState.dropoutStates.findLast((saved) => saved.owner === owner)?.state
  if (owner === undefined || saved === undefined) return {}
  owner.model.restoreDropoutState(saved)
  return {}
}
