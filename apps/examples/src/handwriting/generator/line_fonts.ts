import { createRequire } from 'node:module'
import { codedError } from '@cudnn-rnn/canonical/rules'
import { GlobalFonts } from '@napi-rs/canvas'

/** Handwriting from npm packages, all under the SIL Open Font License or the Apache License. */
export const TRAINING_FONTS = [
  'annie-use-your-telescope',
  'architects-daughter',
  'caveat',
  'coming-soon',
  'delius',
  'gloria-hallelujah',
  'handlee',
  'indie-flower',
  'kalam',
  'neucha',
  'rancho',
  'schoolbell',
  'shadows-into-light',
  'short-stack',
  'sue-ellen-francisco',
] as const

/** No line of the training is written in it. */
export const UNSEEN_FONT = 'patrick-hand'

/** Makes the fonts known to the canvas, under their names. Throws Error `ERR_FONT` for a file that holds none. */
export function registerFonts(names: readonly string[]): void {
  const { resolve } = createRequire(import.meta.url)
  for (const name of names) {
    if (GlobalFonts.has(name)) continue
    const path = resolve(`@fontsource/${name}/files/${name}-latin-400-normal.woff2`)
    if (GlobalFonts.registerFromPath(path, name) === null) {
      throw codedError('ERR_FONT', `Cannot register a font as the file must hold one: current file is ${path}`)
    }
  }
}
