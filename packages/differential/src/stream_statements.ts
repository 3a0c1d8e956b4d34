import { Arguments } from './arguments.js'
import type { StatementOf } from './program.js'
import type { Begin } from './statement_effect.js'
import { pick, pickOpaque } from './world.js'

export const beginStream: Begin<StatementOf<'stream'>> = async (world, { model, params, batch }) => {
  const owner = pick(world.models, model)
  const opaque = owner && pickOpaque(world, params, owner)
  if (opaque === undefined) return {}
  const stream = owner!.model.stream(opaque.variable, { batch })
  const { inputSize } = owner!.model
  return { commit: () => void world.streams.push({ stream, inputSize, owner: owner!, opaque, isGone: false }) }
}

export const beginStep: Begin<StatementOf<'step'>> = (world, { stream: index, time, input }) => {
  const made = pick(world.streams, index)
  if (made === undefined) return undefined
  const given = new Arguments(world)
  const { stream, inputSize } = made
  const tensor = given.make([...(time === 0 ? [] : [time]), stream.batch, inputSize], input)
  return given.around(async () => {
    const { data, shape } = await stream.step(tensor)
    return { values: { output: data.slice(), shape } }
  })
}

export const beginReset: Begin<StatementOf<'reset'>> = async (world, { stream, rows }) => {
  pick(world.streams, stream)?.stream.reset(rows)
  return {}
}

export const beginStreamState: Begin<StatementOf<'streamState'>> = async (world, { stream: index }) => {
  const made = pick(world.streams, index)
  if (made === undefined) return {}
  const state = await made.stream.state()
  return {
    values: { h: state.h.data, c: state.c?.data ?? [] },
    commit: () => void world.streamStates.push({ state, isGone: false }),
  }
}

export const beginRestoreStream: Begin<StatementOf<'restoreStream'>> = async (world, { stream, state }) => {
  const saved = pick(world.streamStates, state)
  if (saved !== undefined) pick(world.streams, stream)?.stream.restore(saved.state)
  return {}
}
