import { basename, dirname, join } from 'node:path'
import { publicPackages, readJson } from '../../scripts/workspace.mjs'

/** The public packages below packages/, which the reference and the pages of READMEs describe. */
export function publicLibraries(root) {
  return publicPackages(root, readJson(join(root, 'scripts/layers.json'))).filter(
    ({ folder }) => basename(dirname(folder)) === 'packages',
  )
}
