import { join } from 'node:path'
import { RNNParamsSaveable, Saver } from '@cudnn-rnn/saveable'
import type { StatementOf } from './program.js'
import type { Begin } from './statement_effect.js'
import { type MadeOpaque, pick } from './world.js'

export const beginSave: Begin<StatementOf<'save'>> = (world, { params }) => {
  const opaque = pick(world.opaques, params)
  if (opaque === undefined) return undefined
  const globalStep = world.checkpoints.length
  return (async () => {
    const prefix = await saverOf(opaque).save(join(world.folder, 'model'), { globalStep })
    return { commit: () => void world.checkpoints.push({ prefix, isGone: false }) }
  })()
}

export const beginRestore: Begin<StatementOf<'restore'>> = (world, { params, checkpoint }) => {
  const opaque = pick(world.opaques, params)
  const saved = pick(world.checkpoints, checkpoint)
  if (opaque === undefined || saved === undefined) return undefined
  return saverOf(opaque)
    .restore(saved.prefix)
    .then(() => ({}))
}

function saverOf({ owner, variable }: MadeOpaque): Saver {
  const { paramsToCanonical, canonicalToParams } = owner.model
  return new Saver([new RNNParamsSaveable(paramsToCanonical, canonicalToParams, [variable])], { maxToKeep: 0 })
}
