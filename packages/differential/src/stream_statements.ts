import { Arguments } from './arguments.js'
import type { StatementOf } from './program.js'
import { pick, pickOpaque } from './program_state.js'
import type { Begin } from './statement_effect.js'

export const beginStream: Begin<StatementOf<'stream'>> = async (programState, { model, params, batch }) => {
  const owner = pick(programState.models, model)
  if (owner === undefined) return {}
  const opaque = pickOpaque(programState, params, owner)
  if (opaque === undefined) return {}
  const stream = owner.model.stream(opaque.variable, { batch })
  const { inputSize } = owner.model
  return { commit: () => void programState.streams.push({ stream, inputSize, owner, opaque, isGone: false }) }
}

export const beginStep: Begin<StatementOf<'step'>> = (programState, { stream: index, time, input }) => {
  const made = pick(programState.streams, index)
  if (made === undefined) return undefined
  const given = new Arguments(programState)
  const { stream, inputSize } = made
  const tensor = given.make([...(time === 0 ? [] : [time]), stream.batch, inputSize], input)
  return given.around(async () => {
    const { data, shape } = await stream.step(tensor)
    return { values: { output: data.slice(), shape } }
  })
}

export const beginReset: Begin<StatementOf<'reset'>> = async (programState, { stream, rows }) => {
  pick(programState.streams, stream)?.stream.reset(rows)
  return {}
}

export const beginStreamState: Begin<StatementOf<'streamState'>> = async (programState, { stream: index }) => {
  const made = pick(programState.streams, index)
  if (made === undefined) return {}
  const state = await made.stream.state()
  return {
    values: { h: state.h.data, c: state.c?.data ?? [] },
    commit: () => void programState.streamStates.push({ state, isGone: false }),
  }
}

export const beginRestoreStream: Begin<StatementOf<'restoreStream'>> = async (programState, { stream, state }) => {
  const saved = pick(programState.streamStates, state)
  if (saved !== undefined) pick(programState.streams, stream)?.stream.restore(saved.state)
  return {}
}
