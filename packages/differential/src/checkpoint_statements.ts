import { join } from 'node:path'
import { RNNParamsSaveable, Saver } from '@cudnn-rnn/saveable'
import type { StatementOf } from './program.js'
import { type MadeOpaque, pick } from './program_state.js'
import type { Begin } from './statement_effect.js'

export const beginSave: Begin<StatementOf<'save'>> = (programState, { params }) => {
  const opaque = pick(programState.opaques, params)
  if (opaque === undefined) return undefined
  const globalStep = programState.checkpoints.length
  return (async () => {
    const prefix = await saverOf(opaque).save(join(programState.folder, 'model'), { globalStep })
    return { commit: () => void programState.checkpoints.push({ prefix, isGone: false }) }
  })()
}

export const beginRestore: Begin<StatementOf<'restore'>> = (programState, { params, checkpoint }) => {
  const opaque = pick(programState.opaques, params)
  const saved = pick(programState.checkpoints, checkpoint)
  if (opaque === undefined || saved === undefined) return undefined
  return saverOf(opaque)
    .restore(saved.prefix)
    .then(() => ({}))
}

function saverOf({ owner, variable }: MadeOpaque): Saver {
  const { paramsToCanonical, canonicalToParams } = owner.model
  return new Saver([new RNNParamsSaveable(paramsToCanonical, canonicalToParams, [variable])], { maxToKeep: 0 })
}
