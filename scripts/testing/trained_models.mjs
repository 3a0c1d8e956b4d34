import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe } from 'vitest'

/** Trained models of other projects, in a folder beside the repository if present; they are not part of it. */
const FOLDER = fileURLToPath(new URL('../../../shared/models/', import.meta.url))

export const modelPath = (path) => `${FOLDER}${path}`
export const modelBytes = (path) => new Uint8Array(readFileSync(modelPath(path)))

/** A suite that needs those models; if they are absent it is skipped, which its title and the count say. */
export function describeWithModels(title, suite) {
  const isThere = existsSync(FOLDER)
  describe.skipIf(!isThere)(isThere ? title : `${title} (skipped: no trained models in ../shared/models)`, () => {
    if (isThere) suite()
  })
}
